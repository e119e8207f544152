//! A small tree for what one event of a Jepsen history says, whatever its syntax.

use crate::json;
use iso_history::{Datum, clipped};

/// A value of EDN or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number, a string or nothing.
    Datum(Datum),
    /// A keyword, without its colon; the name of a JSON member.
    Name(Box<str>),
    /// A symbol, such as `true`.
    Symbol(Box<str>),
    /// A vector or list.
    Vector(Vec<Form>),
    /// A map, in the order of the input.
    Map(Vec<(Form, Form)>),
}

/// In which words a form is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Edn,
    Json,
}

/// About what a node takes.
pub(crate) const FORM_BYTES: usize = size_of::<Form>();

impl Form {
    /// The text of a name or string.
    pub(crate) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Symbol(name) | Self::Datum(Datum::Text(name)) => Some(name),
            _ => None,
        }
    }

    /// The value of a map under a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().find(|(it, _)| it.as_name() == Some(name)).map(|(_, it)| it),
            _ => None,
        }
    }

    /// A key or value of an operation.
    pub(crate) fn to_datum(&self) -> Option<Datum> {
        match self {
            Self::Datum(datum) => Some(datum.clone()),
            Self::Name(name) | Self::Symbol(name) => Some(Datum::Text(name.clone())),
            Self::Vector(_) | Self::Map(_) => None,
        }
    }

    /// The form as its author wrote it, cut to what fits into a message.
    pub(crate) fn show(&self, syntax: Syntax) -> String {
        let mut out = Vec::new();
        self.put(syntax, &mut out);
        clipped(&String::from_utf8_lossy(&out)).into_owned()
    }

    fn put(&self, syntax: Syntax, out: &mut Vec<u8>) {
        match (self, syntax) {
            (Self::Datum(Datum::Null), Syntax::Edn) => out.extend_from_slice(b"nil"),
            (Self::Datum(datum), _) => drop(json::write_name(out, datum.as_name())),
            (Self::Name(name), Syntax::Edn) => out.extend_from_slice(format!(":{name}").as_bytes()),
            (Self::Name(name), Syntax::Json) => drop(json::write_string(out, name)),
            (Self::Symbol(name), _) => out.extend_from_slice(name.as_bytes()),
            (Self::Vector(forms), _) => put_all(forms.iter().map(|it| (None, it)), (b'[', b']'), syntax, out),
            (Self::Map(members), _) => {
                put_all(members.iter().map(|(key, it)| (Some(key), it)), (b'{', b'}'), syntax, out);
            }
        }
    }
}

fn put_all<'f>(
    forms: impl Iterator<Item = (Option<&'f Form>, &'f Form)>,
    (open, close): (u8, u8),
    syntax: Syntax,
    out: &mut Vec<u8>,
) {
    let (comma, colon) = if syntax == Syntax::Edn { (" ", " ") } else { (",", ":") };
    out.push(open);
    for (nth, (key, form)) in forms.enumerate() {
        if nth > 0 {
            out.extend_from_slice(comma.as_bytes());
        }
        if let Some(key) = key {
            key.put(syntax, out);
            out.extend_from_slice(colon.as_bytes());
        }
        form.put(syntax, out);
    }
    out.push(close);
}
