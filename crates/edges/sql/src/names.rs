//! Names of SQL as names of programs.

use crate::tokens::{Done, fail, place};
use sqlparser::ast::{Ident, ObjectName, Spanned};
use std::collections::BTreeSet;

/// Words of the language of programs that cannot be names.
const WORDS: &[&str] = &[
    "enum",
    "var",
    "table",
    "init",
    "assume",
    "txn",
    "run",
    "invariant",
    "observer",
    "let",
    "if",
    "then",
    "else",
    "for",
    "in",
    "insert",
    "delete",
    "maybe",
    "abort",
    "assert",
    "forall",
    "exists",
    "any",
    "and",
    "or",
    "not",
    "implies",
    "true",
    "false",
];

/// A name of SQL: small letters, unless it is quoted. A word of the language gets `_` behind it.
pub(crate) fn name(ident: &Ident) -> String {
    let text = if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
    plain(&text)
}

pub(crate) fn plain(text: &str) -> String {
    let fits = |it: char| it.is_alphanumeric() || it == '_';
    let mut name: String = text.chars().map(|it| if fits(it) { it } else { '_' }).collect();
    if WORDS.contains(&name.as_str()) {
        name.push('_');
    }
    if name.starts_with(|it: char| it.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

/// The last part of a name such as `public.accounts`.
pub(crate) fn object(of: &ObjectName) -> Done<String> {
    match of.0.last().and_then(|it| it.as_ident()) {
        Some(ident) => Ok(name(ident)),
        None => fail(place(of.span().start), "a name is needed here", "as in `accounts`"),
    }
}

/// Names that nothing else has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fresh {
    pub(crate) used: BTreeSet<String>,
}

impl Fresh {
    pub(crate) fn name(&mut self, wanted: &str) -> String {
        let names = std::iter::once(wanted.to_owned()).chain((2..).map(|it| format!("{wanted}{it}")));
        let name = names.into_iter().find(|it| !self.used.contains(it)).expect("there are names enough");
        self.used.insert(name.clone());
        name
    }
}
