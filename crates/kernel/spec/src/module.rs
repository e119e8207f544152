//! A spec file: its imports, definitions and levels, and what a name in it means.

use crate::builtin::{Builtin, builtin, names};
use crate::catalogue::Catalogue;
use crate::elaborate::elaborate_level;
use crate::error::{Problem, Span, SpecError, did_you_mean};
use crate::formula::{Sort, WitnessKind};
use crate::infer::check_item;
use crate::parser::parse_items;
use crate::spec::Spec;
use crate::syntax::{Declared, Item, ItemKind, Name};
use crate::types::Signature;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds the text of an imported file, by the name in the import; the error says why it cannot.
pub type Loader<'l> = &'l mut dyn FnMut(&str) -> Result<String, String>;

/// Imports nest no deeper than this.
const MAX_IMPORT_DEPTH: usize = 32;

/// A spec file that was read and found well-formed.
#[derive(Debug)]
pub struct Module {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) imports: Vec<(String, Arc<Module>)>,
    pub(crate) items: Vec<Item>,
    /// By item; none if the item is wrong.
    pub(crate) signatures: Vec<Option<Signature>>,
    /// By binder.
    pub(crate) sorts: Vec<Sort>,
    pub(crate) specs: Vec<Spec>,
}

/// Reads a spec text.
///
/// `import name` finds a module of the catalogue; `import "file"` asks `loader`. The module's name, which is the first
/// part of its levels' full names, is the file's name without folders and extension.
pub fn parse(text: &str, file: &str, loader: Loader<'_>) -> Result<Module, Vec<SpecError>> {
    let builtin = |name: &str| Catalogue::builtin().module(name);
    Reader { loader, builtin: &builtin, read: BTreeMap::new(), open: Vec::new() }.read(text, file)
}

/// Reads a module of the catalogue, given those that it may import.
pub(crate) fn parse_builtin(text: &str, name: &str, earlier: &[Arc<Module>]) -> Result<Module, Vec<SpecError>> {
    let builtin = |wanted: &str| earlier.iter().find(|it| it.name == wanted).cloned();
    let mut loader = |_: &str| Err("the catalogue imports no files".to_owned());
    let file = format!("{name}.spec");
    Reader { loader: &mut loader, builtin: &builtin, read: BTreeMap::new(), open: Vec::new() }.read(text, &file)
}

/// What a name that is no variable means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resolved<'m> {
    Witness(WitnessKind),
    Builtin(Builtin),
    Item(&'m Module, usize),
}

impl Module {
    /// The name: the first part of its levels' full names.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The levels that the text defines, in its order.
    pub fn levels(&self) -> &[Spec] {
        &self.specs
    }

    /// The level of that name, bare or with the module's name before it.
    pub fn find(&self, name: &str) -> Option<&Spec> {
        self.specs.iter().find(|it| it.name() == name || it.short_name() == name)
    }

    /// What a name means in the item at `item_idx`; the error is a message and a hint.
    pub(crate) fn resolve(&self, name: &Name, item_idx: usize) -> Result<Resolved<'_>, (String, String)> {
        if let Some(module) = &name.module {
            return self.resolve_in(module, &name.name);
        }
        if let Some(kind) = self.witness_kind(&name.name, item_idx) {
            return Ok(Resolved::Witness(kind));
        }
        if let Some(found) = self.own_item(&name.name, item_idx) {
            return Ok(Resolved::Item(self, found));
        }
        if let Some(builtin) = builtin(&name.name) {
            return Ok(Resolved::Builtin(builtin));
        }
        let found: Vec<(&Arc<Self>, usize)> =
            self.imports.iter().filter_map(|it| Some((&it.1, it.1.own_item(&name.name, it.1.items.len())?))).collect();
        match found[..] {
            [(module, item_idx)] => Ok(Resolved::Item(module, item_idx)),
            [] => Err(self.unknown(&name.name, item_idx)),
            _ => {
                let full: Vec<String> = found.iter().map(|it| format!("`{}.{}`", it.0.name, name.name)).collect();
                Err((format!("`{}` means several things", name.name), format!("write {}", full.join(" or "))))
            }
        }
    }

    fn resolve_in(&self, module: &str, name: &str) -> Result<Resolved<'_>, (String, String)> {
        let Some((_, found)) = self.imports.iter().find(|it| it.0 == module) else {
            let known = self.imports.iter().map(|it| it.0.as_str());
            let hint = did_you_mean(module, known, &format!("write `import {module}` at the top"));
            return Err((format!("there is no imported module `{module}`"), hint));
        };
        let item_idx = found.own_item(name, found.items.len());
        item_idx.map(|it| Resolved::Item(found, it)).ok_or_else(|| {
            let known = found.items.iter().map(|it| it.name.as_str());
            (format!("module `{module}` has no `{name}`"), did_you_mean(name, known, "look at its text"))
        })
    }

    fn unknown(&self, name: &str, item_idx: usize) -> (String, String) {
        let message = format!("`{name}` is not defined");
        if let Some(later) = self.own_item(name, self.items.len()) {
            let hint = if later == item_idx {
                "a definition cannot use itself"
            } else {
                "it is defined further down; move it up"
            };
            return (message, hint.to_owned());
        }
        let own = self.items[..item_idx].iter().map(|it| it.name.as_str());
        let imported = self.imports.iter().flat_map(|it| it.1.items.iter().map(|it| it.name.as_str()));
        let frameworks = self.frameworks(item_idx);
        let declared = frameworks.iter().flat_map(|it| witnesses(it)).map(|it| it.name.as_str());
        let known = own.chain(imported).chain(declared).chain(names());
        (message, did_you_mean(name, known, "define it with `def`, import its module, or bind it with a quantifier"))
    }

    /// A definition or level of this module before `item_idx`.
    fn own_item(&self, name: &str, item_idx: usize) -> Option<usize> {
        let is_it = |it: &Item| it.name == name && matches!(it.kind, ItemKind::Def { .. } | ItemKind::Level { .. });
        self.items[..item_idx].iter().position(is_it)
    }

    /// The kind of the witness of that name in the frameworks that can be seen; a framework sees only its own.
    fn witness_kind(&self, name: &str, item_idx: usize) -> Option<WitnessKind> {
        let of = |item: &Item| witnesses(item).iter().find(|it| it.name == name).map(|it| it.kind);
        match self.items.get(item_idx) {
            Some(item) if matches!(item.kind, ItemKind::Framework { .. }) => of(item),
            _ => self.frameworks(item_idx).into_iter().find_map(of),
        }
    }

    fn frameworks(&self, item_idx: usize) -> Vec<&Item> {
        let is_framework = |it: &&Item| matches!(it.kind, ItemKind::Framework { .. });
        let own = self.items[..item_idx].iter().filter(is_framework);
        own.chain(self.imports.iter().flat_map(|it| it.1.items.iter()).filter(is_framework)).collect()
    }

    pub(crate) fn framework_names(&self) -> Vec<String> {
        self.frameworks(self.items.len()).into_iter().map(|it| it.name.clone()).collect()
    }

    /// The framework of that name, with the module that declares it.
    pub(crate) fn framework(&self, name: &Name) -> Option<(&Self, usize)> {
        let of = |module: &Self| {
            module.items.iter().position(|it| it.name == name.name && matches!(it.kind, ItemKind::Framework { .. }))
        };
        if name.module.is_none()
            && let Some(found) = of(self)
        {
            return Some((self, found));
        }
        let is_named = |it: &&(String, Arc<Self>)| name.module.as_ref().is_none_or(|wanted| *wanted == it.0);
        self.imports.iter().filter(is_named).find_map(|it| Some((&*it.1, of(&it.1)?)))
    }
}

pub(crate) fn witnesses(item: &Item) -> &[Declared] {
    match &item.kind {
        ItemKind::Framework { witnesses, .. } => witnesses,
        _ => &[],
    }
}

/// Reads a file and what it imports, each file once.
struct Reader<'l> {
    loader: Loader<'l>,
    builtin: &'l dyn Fn(&str) -> Option<Arc<Module>>,
    read: BTreeMap<String, Arc<Module>>,
    open: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, text: &str, file: &str) -> Result<Module, Vec<SpecError>> {
        let parsed = parse_items(text);
        let mut module = Module {
            name: module_name(file),
            file: file.to_owned(),
            text: text.to_owned(),
            imports: Vec::new(),
            items: parsed.items,
            signatures: Vec::new(),
            sorts: vec![Sort::Txn; parsed.n_binders as usize],
            specs: Vec::new(),
        };
        let locate = |it: Problem| it.locate(file, text);
        let mut errors: Vec<SpecError> = parsed.problems.into_iter().map(locate).collect();
        self.open.push(file.to_owned());
        errors.extend(self.import_all(&mut module));
        self.open.pop();
        errors.extend(check_names(&module).into_iter().map(locate));
        // A wrong import or an unreadable item makes everything that uses it look wrong, too.
        if errors.is_empty() {
            errors.extend(check_items(&mut module).into_iter().map(locate));
        }
        if errors.is_empty() {
            match make_specs(&module) {
                Ok(specs) => module.specs = specs,
                Err(problems) => errors.extend(problems.into_iter().map(locate)),
            }
        }
        errors.sort_by_key(|it| (it.file != file, it.line, it.column));
        if errors.is_empty() { Ok(module) } else { Err(errors) }
    }

    fn import_all(&mut self, module: &mut Module) -> Vec<SpecError> {
        let mut errors = Vec::new();
        for item_idx in 0..module.items.len() {
            let item = &module.items[item_idx];
            let ItemKind::Import { is_file } = item.kind else { continue };
            let (name, at) = (item.name.clone(), item.name_span);
            let found = if is_file { self.import_file(&name, at) } else { self.import_builtin(&name, at) };
            match found {
                Ok(imported) => module.imports.push((imported.name.clone(), imported)),
                Err(Failure::Here(problem)) => errors.push(problem.locate(&module.file, &module.text)),
                Err(Failure::There(inner)) => errors.extend(inner),
            }
        }
        errors
    }

    fn import_builtin(&mut self, name: &str, at: Span) -> Result<Arc<Module>, Failure> {
        (self.builtin)(name).ok_or_else(|| {
            let hint = did_you_mean(
                name,
                crate::catalogue::module_names(),
                "files are imported in quotes: `import \"file.spec\"`",
            );
            Failure::Here(Problem::new(at, format!("the catalogue has no module `{name}`"), hint))
        })
    }

    fn import_file(&mut self, file: &str, at: Span) -> Result<Arc<Module>, Failure> {
        if let Some(module) = self.read.get(file) {
            return Ok(Arc::clone(module));
        }
        let fail = |message: String, hint: &str| Failure::Here(Problem::new(at, message, hint));
        if self.open.iter().any(|it| it == file) {
            return Err(fail(format!("`{file}` imports itself"), "move what both need into a third file"));
        }
        if self.open.len() >= MAX_IMPORT_DEPTH {
            return Err(fail("imports are nested too deeply".to_owned(), "import fewer files from files"));
        }
        let text = (self.loader)(file).map_err(|why| {
            fail(format!("cannot read `{file}`: {why}"), "a module of the catalogue is imported without quotes")
        })?;
        let module = Arc::new(self.read(&text, file).map_err(Failure::There)?);
        self.read.insert(file.to_owned(), Arc::clone(&module));
        Ok(module)
    }
}

enum Failure {
    Here(Problem),
    There(Vec<SpecError>),
}

fn module_name(file: &str) -> String {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = base.split('.').next().unwrap_or(base);
    if stem.is_empty() { base.to_owned() } else { stem.to_owned() }
}

/// Names that are given twice, or that are taken.
fn check_names(module: &Module) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (item_idx, item) in module.items.iter().enumerate() {
        let declared = witnesses(item).iter().map(|it| (&it.name, it.span));
        let own = (&item.name, item.name_span);
        let is_import = matches!(item.kind, ItemKind::Import { .. });
        let is_framework = matches!(item.kind, ItemKind::Framework { .. });
        for (nth, (name, at)) in declared.chain((!is_import && !is_framework).then_some(own)).enumerate() {
            let is_repeated = witnesses(item).iter().take(nth).any(|it| it.name == *name);
            if builtin(name).is_some() {
                problems.push(Problem::new(at, format!("`{name}` is built in"), "choose another name"));
            } else if is_repeated
                || module.own_item(name, item_idx).is_some()
                || (module.witness_kind(name, item_idx).is_some() && !is_framework)
            {
                problems.push(Problem::new(at, format!("`{name}` is defined twice"), "choose another name"));
            }
        }
        let same = |it: &Item| it.name == item.name && matches!(it.kind, ItemKind::Framework { .. });
        if is_framework && module.items[..item_idx].iter().any(same) {
            let message = format!("framework `{}` is defined twice", item.name);
            problems.push(Problem::new(item.name_span, message, "choose another name"));
        }
    }
    problems
}

fn check_items(module: &mut Module) -> Vec<Problem> {
    let mut problems = Vec::new();
    for item_idx in 0..module.items.len() {
        match check_item(module, item_idx) {
            Ok((signature, sorts)) => {
                module.signatures.push(Some(signature));
                for (binder, sort) in sorts {
                    module.sorts[binder as usize] = sort;
                }
            }
            Err(found) => {
                module.signatures.push(None);
                problems.extend(found);
            }
        }
    }
    problems
}

fn make_specs(module: &Module) -> Result<Vec<Spec>, Vec<Problem>> {
    let (mut specs, mut problems) = (Vec::new(), Vec::new());
    for (item_idx, item) in module.items.iter().enumerate() {
        if let ItemKind::Level { .. } = item.kind {
            match elaborate_level(module, item_idx) {
                Ok(spec) => specs.push(spec),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if problems.is_empty() { Ok(specs) } else { Err(problems) }
}
