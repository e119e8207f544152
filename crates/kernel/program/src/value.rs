//! Types and values of programs: all are finite.

use crate::ids::DomainId;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Integers of the program's width.
    Int,
    /// `true` and `false`.
    Bool,
    /// A member of a finite type: `text`, or an enum.
    Member(DomainId),
}

impl Type {
    /// `text`.
    pub const TEXT: Self = Self::Member(DomainId::TEXT);

    /// What a field of this type is in a row that does not exist: 0, `false`, `""`, or the first of an enum.
    pub fn default_value(self) -> Value {
        match self {
            Self::Int => Value::Int(0),
            Self::Bool => Value::Bool(false),
            Self::Member(domain) => Value::Member(domain, 0),
        }
    }

    /// The value whose [`Value::code`] this is.
    pub fn value_of(self, code: i64) -> Value {
        let index = |it: i64| u32::try_from(it).expect("members are counted from 0");
        match self {
            Self::Int => Value::Int(code),
            Self::Bool => Value::Bool(code != 0),
            Self::Member(domain) => Value::Member(domain, index(code)),
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// An integer that fits in the program's width.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// The member at a position of its domain.
    Member(DomainId, u32),
}

impl Value {
    /// The type of the value.
    pub fn type_of(self) -> Type {
        match self {
            Self::Int(_) => Type::Int,
            Self::Bool(_) => Type::Bool,
            Self::Member(domain, _) => Type::Member(domain),
        }
    }

    /// The value as a number: an integer itself, 0 or 1 for truth, the position of a member.
    pub fn code(self) -> i64 {
        match self {
            Self::Int(number) => number,
            Self::Bool(truth) => i64::from(truth),
            Self::Member(_, index) => i64::from(index),
        }
    }
}

/// What a unit holds. A `var` is always present and has one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnitValue {
    /// The row does not exist; each of its fields reads as the default of its type.
    Missing,
    /// The row exists and has these fields, in the order of the table.
    Present(Vec<Value>),
}

impl UnitValue {
    /// Does the row exist?
    pub fn exists(&self) -> bool {
        matches!(self, Self::Present(_))
    }
}
