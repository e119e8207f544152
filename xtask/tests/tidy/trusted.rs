//! How many lines must be trusted, so that an answer that certify accepted is right: counted, and written to
//! ARCHITECTURE.md.
//!
//! From the file that checks one kind of evidence, every file is followed whose names it uses, over all crates of the
//! kernel; so no file can be forgotten. Counted are lines that are neither blank nor a comment, without tests, in
//! hundreds, so that the page changes only if much does.
//! Not counted: the standard library, `rustc-hash`, and the texts of the catalogue, which say what the levels are.

use crate::{read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;

const CERTIFY: &str = "crates/kernel/evidence/src/certify";
const PAGE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- trusted lines: written by a test -->\n";
const END: &str = "<!-- end of trusted lines -->";

/// Crates whose files are followed, by the name under which they are used.
const CRATES: &[(&str, &str)] = &[
    ("iso_history", "crates/kernel/history/src"),
    ("iso_spec", "crates/kernel/spec/src"),
    ("iso_evidence", "crates/kernel/evidence/src"),
];

#[test]
fn the_architecture_page_says_how_many_lines_must_be_trusted() {
    let page = read(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the count");
    let (found, after) = rest.split_once(END).expect("the place ends");
    let expected = table();
    if env::var_os("ISOSCOPE_BLESS").is_some() {
        fs::write(root().join(PAGE), format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, expected, "ISOSCOPE_BLESS=1 writes the count to {PAGE}");
    }
}

#[test]
fn certify_itself_uses_only_what_was_counted() {
    let counted = trusted(&["allowed.rs", "streamed.rs", "pieces.rs", "forbidden.rs", "by_spec.rs"]);
    let door = format!("{CERTIFY}/mod.rs");
    let forgotten: Vec<String> = Source::of(&door).uses().into_iter().filter(|it| !counted.contains(it)).collect();
    assert_eq!(forgotten, Vec::<String>::new(), "{door} uses files that are in no count");
}

#[test]
fn the_count_follows_names_to_their_files() {
    let holds = trusted(&["allowed.rs"]);
    for file in ["certify/replay.rs", "certify/unseen.rs", "verdict.rs"] {
        assert!(holds.contains(&format!("crates/kernel/evidence/src/{file}")), "{file} is missing");
    }
    assert!(
        holds.contains("crates/kernel/history/src/history.rs") && holds.contains("crates/kernel/spec/src/level.rs")
    );
    assert!(!holds.contains("crates/kernel/spec/src/evaluate.rs"), "a replay needs no evaluator");
    let violated = trusted(&["forbidden.rs"]);
    for file in ["evaluate.rs", "world.rs", "bounds.rs", "parser.rs", "elaborate.rs"] {
        assert!(violated.contains(&format!("crates/kernel/spec/src/{file}")), "{file} is missing");
    }
    assert!(violated.iter().all(|it| !it.contains("/tests")), "tests are not counted");
}

#[test]
fn only_code_counts() {
    let text =
        "//! Words.\n\nfn one() {\n    // why\n    two();\n}\n\n#[cfg(test)]\nmod tests {\n    fn three() {}\n}\n";
    assert_eq!(code(text), "fn one() {\n    two();\n}\n");
    let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\n#[path = \"x\"]\nmod common;\nfn one() {}\n";
    assert_eq!(code(text), "fn one() {}\n");
}

fn table() -> String {
    let rows: [(&str, &[&str]); 10] = [
        ("holds: a schedule is replayed", &["allowed.rs"]),
        ("holds of a stream: each step is replayed while it is made", &["streamed.rs"]),
        ("holds at a level of a database: its pieces are replayed", &["pieces.rs"]),
        ("violated, by one read", &["local.rs"]),
        ("violated, with a proof: each step is checked", &["proof.rs"]),
        ("these three together", &["allowed.rs", "local.rs", "proof.rs"]),
        ("violated, by a derivation: each inference is replayed", &["stands.rs", "grounds.rs"]),
        ("violated, without either: the reference evaluator decides by the text of the level", &["forbidden.rs"]),
        ("one level implies another one, for every size: a proof is replayed", &["../implication/replay.rs"]),
        (
            "everything, and levels of your own",
            &["allowed.rs", "streamed.rs", "pieces.rs", "forbidden.rs", "by_spec.rs"],
        ),
    ];
    let n_lines = |entries: &[&str]| trusted(entries).iter().map(|it| code(&read(it)).lines().count()).sum::<usize>();
    let row = |(what, entries): (&str, &[&str])| format!("| {what} | {} |\n", n_lines(entries).next_multiple_of(100));
    format!("\n| answer | lines that must be trusted |\n|---|---|\n{}\n", rows.map(row).concat())
}

/// All files that are needed for these files of certify, themselves included.
fn trusted(entries: &[&str]) -> BTreeSet<String> {
    let path = |it: &&str| match it.strip_prefix("../") {
        Some(beside) => format!("crates/kernel/evidence/src/{beside}"),
        None => format!("{CERTIFY}/{it}"),
    };
    let mut pending: Vec<String> = entries.iter().map(path).collect();
    pending.push(format!("{CERTIFY}/mod.rs"));
    let mut found = BTreeSet::new();
    while let Some(file) = pending.pop() {
        let is_door = file.ends_with("certify/mod.rs");
        // The door to certify leads to all kinds of evidence; what it uses is compared with all of them together.
        if found.insert(file.clone()) && !is_door {
            pending.extend(Source::of(&file).uses());
        }
    }
    found
}

/// A file as a module of its crate.
struct Source {
    file: String,
    text: String,
    folder: &'static str,
}

impl Source {
    fn of(file: &str) -> Self {
        let folder = CRATES.iter().map(|it| it.1).find(|it| file.starts_with(it)).expect("a file of the kernel");
        Self { file: file.to_owned(), text: code(&read(file)), folder }
    }

    /// The files whose names this file uses.
    fn uses(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        for path in paths(&self.text) {
            files.extend(self.resolve(&path));
        }
        files.remove(&self.file);
        files
    }

    /// The file that declares what a path leads to; none if that is outside of the kernel.
    fn resolve(&self, path: &[String]) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let own = self.modules();
        if let Some((_, folder)) = CRATES.iter().find(|it| it.0 == first) {
            return descend(folder, Vec::new(), rest);
        }
        match first.as_str() {
            "crate" => descend(self.folder, Vec::new(), rest),
            "self" => descend(self.folder, own, rest),
            "super" => {
                let n_up = path.iter().take_while(|it| *it == "super").count();
                descend(self.folder, own[..own.len().saturating_sub(n_up)].to_vec(), &path[n_up..])
            }
            // A module that is declared here.
            _ => {
                let inner = [own, vec![first.clone()]].concat();
                module_file(self.folder, &inner).and_then(|_| descend(self.folder, inner, rest))
            }
        }
    }

    /// The path of modules from the crate's root to this file.
    fn modules(&self) -> Vec<String> {
        let inside = self.file[self.folder.len() + 1..].trim_end_matches(".rs");
        let names = inside.split('/').filter(|it| !["lib", "mod"].contains(it));
        names.map(str::to_owned).collect()
    }
}

/// Goes on from a module, through modules and names that are handed on, to the file that declares the name.
fn descend(folder: &'static str, mut modules: Vec<String>, path: &[String]) -> Option<String> {
    let mut rest = path;
    while let Some((first, after)) = rest.split_first() {
        let inner = [modules.clone(), vec![first.clone()]].concat();
        if module_file(folder, &inner).is_none() {
            break;
        }
        (modules, rest) = (inner, after);
    }
    let file = module_file(folder, &modules)?;
    let Some(name) = rest.first() else { return Some(file) };
    let handed_on = reexports(&file);
    match handed_on.get(name) {
        Some(path) => Source::of(&file).resolve(path),
        None => Some(file),
    }
}

fn module_file(folder: &str, modules: &[String]) -> Option<String> {
    let inside = modules.join("/");
    let names = if modules.is_empty() {
        vec![format!("{folder}/lib.rs")]
    } else {
        vec![format!("{folder}/{inside}.rs"), format!("{folder}/{inside}/mod.rs")]
    };
    names.into_iter().find(|it| root().join(it).is_file())
}

/// Names that a file hands on from another one, with their paths.
fn reexports(file: &str) -> BTreeMap<String, Vec<String>> {
    let text = code(&read(file));
    let public = text.split("pub use ").skip(1).chain(text.split("pub(crate) use ").skip(1));
    let paths = public.filter_map(|it| it.split(';').next()).flat_map(expand);
    paths.filter_map(|it| Some((it.last()?.clone(), it))).collect()
}

/// Every path of names that a text uses, in `use` and elsewhere.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = String::new();
    let mut imports = text.split("use ");
    rest += imports.next().unwrap_or_default();
    for import in imports {
        let is_import = rest.trim_end().is_empty() || rest.ends_with(['\n', ' ', ')']);
        match import.split_once(';') {
            Some((tree, after)) if is_import && !tree.contains(" = ") && !tree.contains('(') => {
                found.extend(expand(tree));
                rest += after;
            }
            _ => rest += import,
        }
    }
    for word in rest.split(|it: char| !it.is_alphanumeric() && it != '_' && it != ':') {
        let path: Vec<String> = word.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect();
        if path.len() > 1 {
            found.push(path);
        }
    }
    found
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    let Some((prefix, inner)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        return vec![
            path.split("::").map(|it| it.trim().to_owned()).filter(|it| !it.is_empty() && it != "self").collect(),
        ];
    };
    let prefix: Vec<String> = prefix.split("::").map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    let inner = &inner[..inner.rfind('}').unwrap_or(inner.len())];
    let mut branches = vec![String::new()];
    let mut depth = 0;
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            branches.push(String::new());
        } else if let Some(last) = branches.last_mut() {
            last.push(letter);
        }
    }
    let branches = branches.iter().filter(|it| !it.trim().is_empty());
    branches.flat_map(|it| expand(it)).map(|it| [prefix.clone(), it].concat()).collect()
}

/// The lines of a file that are neither blank, nor a comment, nor a test.
fn code(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().filter(|it| !it.trim().is_empty() && !it.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept += line;
            kept.push('\n');
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        // The item that is for tests only: further attributes, then one line, or all until a line that is indented no more.
        let item = lines.by_ref().find(|it| !it.trim_start().starts_with("#["));
        if item.is_some_and(|it| !it.trim_end().ends_with(';')) {
            let is_end = |it: &&str| it.len() - it.trim_start().len() <= indent && it.trim_start().starts_with('}');
            lines.by_ref().find(is_end);
        }
    }
    kept
}
