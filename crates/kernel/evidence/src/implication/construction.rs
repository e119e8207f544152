//! How the weaker level's witness is made of the stronger one's: texts in the language of levels, and how they are read.

use super::sentence::{Made, MadePrefix};
use super::show::Shown;
use iso_spec::{Formula, Relation, Sort, Spec, WitnessKind, parse};
use std::fmt::Write as _;
use std::sync::Arc;

/// How the weaker level's witness is made of the stronger one's.
///
/// Texts are in the language of levels. They know the witness of the stronger level by its names, its closures as
/// `closure_1` and so on, prefixes as `prefix_1`, and orders that were made before as `order_1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Construction {
    /// Strict orders, each of which is extended to a total one.
    pub orders: Vec<String>,
    /// Each part of the weaker level's witness; versions are those of the key `x`.
    pub made: Vec<String>,
    /// Each prefix that the weaker level asks for: whether `v` is in it, in terms of what it depends on: `a`, `b` and so
    /// on. Nothing if somebody is known to be its last element.
    pub prefixes: Vec<Option<String>>,
    /// Transitive relations that contain a closure, with the closure's number.
    pub bounds: Vec<(usize, String)>,
}

/// Reads texts in the words of the stronger level.
pub(super) struct Texts {
    /// The names and kinds of its witnesses.
    witnesses: Vec<(String, WitnessKind)>,
}

impl Texts {
    pub(super) fn new(stronger: &Spec, names: &Shown) -> Result<Self, String> {
        let witnesses: Vec<(String, WitnessKind)> =
            stronger.witnesses().iter().map(|it| (it.name.clone(), it.kind)).collect();
        match witnesses.iter().find(|it| names.extra.contains(&it.0)) {
            Some((name, _)) => Err(format!("`{name}` is a name that constructions use")),
            None => Ok(Self { witnesses }),
        }
    }

    /// A relation between transactions.
    pub(super) fn relation(&self, text: &str, names: &[String]) -> Result<Arc<Relation>, String> {
        match &*self.formula(&format!("empty({text})"), text, names)? {
            Formula::Empty(relation) if relation.sorts() == (Sort::Txn, Sort::Txn) => Ok(Arc::clone(relation)),
            _ => Err(format!("`{text}` is no relation between transactions")),
        }
    }

    /// A part of the witness.
    pub(super) fn made(&self, text: &str, names: &[String], kind: WitnessKind) -> Result<Made, String> {
        if kind != WitnessKind::Versions {
            return Ok(Made { key: None, relation: self.relation(text, names)? });
        }
        if let Formula::Forall(variables, body) =
            &*self.formula(&format!("forall x: key: empty({text})"), text, names)?
            && let ([key], Formula::Empty(relation)) = (&variables[..], &**body)
            && relation.sorts() == (Sort::Txn, Sort::Txn)
        {
            return Ok(Made { key: Some(key.id), relation: Arc::clone(relation) });
        }
        Err(format!("`{text}` is no relation between transactions"))
    }

    /// A prefix that depends on elements of these sorts.
    pub(super) fn prefix(&self, text: &str, names: &[String], sorts: &[Sort]) -> Result<MadePrefix, String> {
        let mut body = String::from("forall v: txn");
        for (letter, sort) in ('a'..='z').zip(sorts) {
            let _ = write!(body, ", {letter}: {}", sort.name());
        }
        let _ = write!(body, ": ({text})");
        match &*self.formula(&body, text, names)? {
            Formula::Forall(variables, body) if variables.len() == sorts.len() + 1 => {
                Ok(MadePrefix { parameters: variables.clone(), body: Arc::clone(body) })
            }
            _ => Err(format!("`{text}` does not say who is in a prefix")),
        }
    }

    fn formula(&self, body: &str, text: &str, names: &[String]) -> Result<Arc<Formula>, String> {
        let mut module = String::from("import common\nframework stronger {\n");
        for (name, kind) in &self.witnesses {
            let kind = match kind {
                WitnessKind::Order => "order",
                WitnessKind::Relation => "relation",
                WitnessKind::Versions => "versions",
            };
            let _ = writeln!(module, "{kind} {name}");
        }
        for name in names {
            let _ = writeln!(module, "relation {name}");
        }
        let _ = write!(module, "}}\nlevel text in stronger = {body}\n");
        let read = parse(&module, "construction.spec", &mut |_| Err("a construction imports no files".to_owned()));
        let read = read.map_err(|errors| {
            let why = errors.first().map_or_else(String::new, |it| it.message.clone());
            format!("`{text}` cannot be read: {why}")
        })?;
        match read.levels() {
            [level] => Ok(Arc::clone(level.formula())),
            _ => Err(format!("`{text}` is more than a formula")),
        }
    }
}
