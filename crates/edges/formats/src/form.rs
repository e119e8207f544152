//! A small tree for what one event of a Jepsen history says, whatever its syntax.

use iso_history::Datum;

/// A value of EDN or JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number, a string or nothing.
    Datum(Datum),
    /// A keyword or symbol, without its colon; the name of a JSON member.
    Name(Box<str>),
    /// A vector or list.
    Vector(Vec<Form>),
    /// A map, in the order of the input.
    Map(Vec<(Form, Form)>),
}

/// About what a node takes.
pub(crate) const FORM_BYTES: usize = size_of::<Form>();

impl Form {
    /// The text of a name or string.
    pub(crate) fn as_name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Datum(Datum::Text(name)) => Some(name),
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
            Self::Name(name) => Some(Datum::Text(name.clone())),
            Self::Vector(_) | Self::Map(_) => None,
        }
    }
}
