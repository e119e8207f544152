//! One level: what must exist, what must be true of it, and the words about it.

use crate::formula::{Elem, Formula, Relation, Witness};
use crate::program::Program;
use std::fmt::Write as _;
use std::sync::Arc;

/// A level: a framework, that is what must exist, and a formula that must be true of it.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) name: String,
    pub(crate) module_len: usize,
    pub(crate) framework: String,
    pub(crate) witnesses: Vec<Witness>,
    pub(crate) dirty_reads: DirtyReads,
    pub(crate) hidden_rows: HiddenRows,
    pub(crate) about: About,
    pub(crate) text: String,
    pub(crate) uses: Vec<String>,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) requirements: Vec<Arc<Formula>>,
    pub(crate) formula: Arc<Formula>,
    pub(crate) program: Arc<Program>,
}

/// A definition that was filled in somewhere in the formula.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Elem>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug)]
pub(crate) enum Body {
    Relation(Arc<Relation>),
    Formula(Arc<Formula>),
}

/// May a transaction read what was rolled back or overwritten before it was committed?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyReads {
    /// Any read that nothing explains forbids the history.
    Forbidden,
    /// Reads of aborted and intermediate writes are tolerated; they have no source.
    Allowed,
}

/// May a statement that locks miss a row that somebody deletes and makes again?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenRows {
    /// A row is known by its key.
    Forbidden,
    /// A row that is made again is another one; who waited for the old one finds neither.
    Allowed,
}

/// What the documentation lines before a level say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) summary: String,
    pub(crate) source: String,
    pub(crate) choices: String,
}

impl About {
    pub(crate) fn from_docs(docs: &[String]) -> Self {
        let mut about = Self::default();
        let mut field = 0;
        for line in docs {
            let (next, text) = if let Some(text) = line.strip_prefix("source:") {
                (1, text)
            } else if let Some(text) = line.strip_prefix("choices:") {
                (2, text)
            } else {
                (field, line.as_str())
            };
            field = next;
            let target = match field {
                0 => &mut about.summary,
                1 => &mut about.source,
                _ => &mut about.choices,
            };
            if !target.is_empty() {
                target.push(' ');
            }
            target.push_str(text.trim());
        }
        about
    }
}

impl Spec {
    /// The full name, as in `biswas.ra`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name within its module, as in `ra`.
    pub fn short_name(&self) -> &str {
        &self.name[self.module_len + 1..]
    }

    /// The name of its module, as in `biswas`.
    pub fn module(&self) -> &str {
        &self.name[..self.module_len]
    }

    /// The framework, which says what must exist.
    pub fn framework(&self) -> &str {
        &self.framework
    }

    /// What must exist, in the order of the framework's text.
    pub fn witnesses(&self) -> &[Witness] {
        &self.witnesses
    }

    /// Are reads of aborted and intermediate writes tolerated?
    pub fn dirty_reads(&self) -> DirtyReads {
        self.dirty_reads
    }

    /// May a statement that locks miss a row that is deleted and made again?
    pub fn hidden_rows(&self) -> HiddenRows {
        self.hidden_rows
    }

    /// One line about the level; may be empty.
    pub fn summary(&self) -> &str {
        &self.about.summary
    }

    /// Where the definition comes from; may be empty.
    pub fn source(&self) -> &str {
        &self.about.source
    }

    /// What was decided where the source leaves a choice; may be empty.
    pub fn choices(&self) -> &str {
        &self.about.choices
    }

    /// The definition as written, with its documentation.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The texts of the framework and of every definition that it uses, those first on which others build.
    pub fn uses(&self) -> &[String] {
        &self.uses
    }

    /// The name of the definition that this part of the formula was filled in for, if it is the whole of one.
    pub fn name_of_relation(&self, relation: &Arc<Relation>) -> Option<&str> {
        let is_it = |it: &&Definition| matches!(&it.body, Body::Relation(of) if Arc::ptr_eq(of, relation));
        self.definitions.iter().find(is_it).map(|it| it.name.as_str())
    }

    /// The name and arguments of the definition that this part of the formula was filled in for, if it is the whole of
    /// one.
    pub fn name_of_formula(&self, formula: &Arc<Formula>) -> Option<(&str, &[Elem])> {
        let is_it = |it: &&Definition| matches!(&it.body, Body::Formula(of) if Arc::ptr_eq(of, formula));
        self.definitions.iter().find(is_it).map(|it| (it.name.as_str(), it.arguments.as_slice()))
    }

    /// What the framework requires of a witness.
    pub fn requirements(&self) -> &[Arc<Formula>] {
        &self.requirements
    }

    /// What must be true, besides the requirements.
    pub fn formula(&self) -> &Arc<Formula> {
        &self.formula
    }

    /// Everything about the level, for a person to read.
    pub fn show(&self) -> String {
        let mut shown = format!("{}: {}\n", self.name, self.about.summary);
        for (label, text) in [("source", &self.about.source), ("choices", &self.about.choices)] {
            if !text.is_empty() {
                let _ = writeln!(shown, "{label}: {text}");
            }
        }
        for part in &self.uses {
            let _ = write!(shown, "\n{part}\n");
        }
        // What its documentation says stands above already.
        let code: Vec<&str> = self.text.lines().filter(|it| !it.trim_start().starts_with("///")).collect();
        let _ = write!(shown, "\n{}\n", code.join("\n"));
        shown
    }
}
