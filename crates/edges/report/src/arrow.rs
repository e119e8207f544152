//! Arrows of pictures and graphs: dependencies, and relations of a witness.

use crate::document::{Link, LinkKind, TxnRef};
use crate::value::{Value, key_words};
use crate::words::{harmless, shortened};

/// An arrow from one transaction to another.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    pub(crate) from: TxnRef,
    pub(crate) to: TxnRef,
    pub(crate) kind: ArrowKind,
    pub(crate) key: Option<Value>,
    /// Why it is there; may be empty.
    pub(crate) because: String,
}

/// What an arrow stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArrowKind {
    Dependency(LinkKind),
    /// A relation of a framework, by its name.
    Relation(String),
}

impl ArrowKind {
    pub(crate) fn word(&self) -> &str {
        match self {
            Self::Dependency(kind) => kind.word(),
            Self::Relation(name) => name,
        }
    }
}

impl From<&Link> for Arrow {
    fn from(link: &Link) -> Self {
        Self {
            kind: ArrowKind::Dependency(link.kind),
            because: link.because.clone(),
            ..Self::new(link.from.clone(), link.to.clone(), link.key.clone())
        }
    }
}

impl Arrow {
    /// A session order, until somebody says otherwise.
    pub(crate) fn new(from: TxnRef, to: TxnRef, key: Option<Value>) -> Self {
        let kind = ArrowKind::Dependency(LinkKind::SessionOrder);
        Self { from, to, kind, key, because: String::new() }
    }

    /// What stands on it: `rw x`, with so many columns for the key.
    pub(crate) fn label(&self, columns: usize) -> String {
        label(self.kind.word(), self.key.as_ref(), columns)
    }
}

impl Link {
    /// What stands on its arrow: `rw x`, with so many columns for the key.
    pub(crate) fn label(&self, columns: usize) -> String {
        label(self.kind.word(), self.key.as_ref(), columns)
    }
}

fn label(kind: &str, key: Option<&Value>, columns: usize) -> String {
    let key = key.map(|it| format!(" {}", shortened(&harmless(&key_words(it)), columns))).unwrap_or_default();
    format!("{}{key}", harmless(kind))
}
