//! Predicates of scans: which rows a statement asks for.
//!
//! A predicate is evaluated on what was recorded: the name of a row within its table, and its value. As in SQL, what
//! cannot be said of a row (it has no such field) is neither true nor false, and such a row is not asked for. A row
//! that does not exist matches nothing.

use crate::{Datum, Name};
use std::cmp::Ordering;
use std::fmt;

/// Which rows of a table a scan asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Predicate {
    /// Every row.
    All,
    /// A column compares with a constant.
    Compare(Column, Comparison, Datum),
    /// A column is in a range, both ends included.
    Between(Column, Datum, Datum),
    /// A column is one of some constants.
    OneOf(Column, Vec<Datum>),
    /// An integer column leaves this remainder, which is never negative.
    Remainder {
        /// The column.
        column: Column,
        /// What it is divided by; not zero.
        divisor: i64,
        /// What is left.
        remainder: i64,
    },
    /// A predicate that only the database can evaluate; writers say whether their versions match it.
    Foreign(Box<str>),
    /// Not the other one.
    Not(Box<Self>),
    /// All of them.
    And(Vec<Self>),
    /// One of them.
    Or(Vec<Self>),
}

/// What a predicate looks at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Column {
    /// The name of the row within its table: 7 for `accounts/7`.
    Key,
    /// The field of this name if the row's value is a record; if it is not, the value itself.
    Named(Box<str>),
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Different.
    Different,
    /// Less.
    Less,
    /// Less or equal.
    AtMost,
    /// Greater.
    Greater,
    /// Greater or equal.
    AtLeast,
}

impl Comparison {
    /// Every comparison, longer signs first.
    pub const ALL: [Self; 6] = [Self::Different, Self::AtMost, Self::AtLeast, Self::Equal, Self::Less, Self::Greater];

    /// Its sign.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Different => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Different => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        }
    }
}

impl Predicate {
    /// Does a row match? `is_said` answers for foreign predicates.
    pub fn matches(&self, row: Name<'_>, value: Name<'_>, is_said: &dyn Fn(&str) -> bool) -> bool {
        value != Name::Null && self.truth(row, value, is_said) == Some(true)
    }

    /// The truth of the predicate, if it has one.
    fn truth(&self, row: Name<'_>, value: Name<'_>, is_said: &dyn Fn(&str) -> bool) -> Option<bool> {
        match self {
            Self::All => Some(true),
            Self::Compare(column, comparison, constant) => {
                column.compare(row, value, constant).map(|it| comparison.holds(it))
            }
            Self::Between(column, low, high) => {
                let (from_low, from_high) = (column.compare(row, value, low)?, column.compare(row, value, high)?);
                Some(from_low.is_ge() && from_high.is_le())
            }
            Self::OneOf(column, constants) => {
                let found = column.of(row, value)?;
                Some(constants.iter().any(|it| compare(found.as_name(), it.as_name()).is_some_and(Ordering::is_eq)))
            }
            Self::Remainder { column, divisor, remainder } => match column.of(row, value)? {
                Datum::Int(number) => Some(number.checked_rem_euclid(*divisor)? == *remainder),
                _ => None,
            },
            Self::Foreign(text) => Some(is_said(text)),
            Self::Not(inner) => inner.truth(row, value, is_said).map(|it| !it),
            Self::And(parts) => all(parts.iter().map(|it| it.truth(row, value, is_said))),
            Self::Or(parts) => all(parts.iter().map(|it| it.truth(row, value, is_said).map(|it| !it))).map(|it| !it),
        }
    }

    /// A range in which the names of all matching rows lie, if the predicate says so.
    pub(crate) fn row_range(&self) -> Option<(i64, i64)> {
        let int = |it: &Datum| match it {
            Datum::Int(number) => Some(*number),
            _ => None,
        };
        match self {
            Self::Between(Column::Key, low, high) => Some((int(low)?, int(high)?)),
            Self::Compare(Column::Key, Comparison::Equal, only) => Some((int(only)?, int(only)?)),
            Self::And(parts) => {
                let ranges = parts.iter().filter_map(Self::row_range);
                ranges.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))
            }
            _ => None,
        }
    }

    /// The foreign predicates in it.
    pub fn foreign(&self) -> Vec<&str> {
        match self {
            Self::Foreign(text) => vec![text],
            Self::Not(inner) => inner.foreign(),
            Self::And(parts) | Self::Or(parts) => parts.iter().flat_map(Self::foreign).collect(),
            _ => Vec::new(),
        }
    }
}

/// The conjunction in SQL's logic: false wins over what is neither true nor false.
fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for truth in truths {
        match truth {
            Some(false) => return Some(false),
            None => result = None,
            Some(true) => {}
        }
    }
    result
}

impl Column {
    fn of(&self, row: Name<'_>, value: Name<'_>) -> Option<Datum> {
        let found = match (self, value) {
            (Self::Key, _) => row.to_datum(),
            (Self::Named(field), Name::Record(_)) => value.field(field)?,
            (Self::Named(_), _) => value.to_datum(),
        };
        (found != Datum::Null).then_some(found)
    }

    fn compare(&self, row: Name<'_>, value: Name<'_>, constant: &Datum) -> Option<Ordering> {
        compare(self.of(row, value)?.as_name(), constant.as_name())
    }
}

/// Compares two values. Numbers compare by size, texts by their characters; others do not compare.
fn compare(left: Name<'_>, right: Name<'_>) -> Option<Ordering> {
    match (left, right) {
        (Name::Int(left), Name::Int(right)) => Some(left.cmp(&right)),
        (Name::Int(_) | Name::Number(_), Name::Int(_) | Name::Number(_)) => {
            let (left, right) = (Decimal::new(&left.to_string())?, Decimal::new(&right.to_string())?);
            Some(left.cmp(&right))
        }
        (Name::Text(left), Name::Text(right)) | (Name::Record(left), Name::Record(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

/// A decimal number: 0.digits times a power of ten.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn new(text: &str) -> Option<Self> {
        let (is_negative, text) = text.strip_prefix('-').map_or((false, text), |it| (true, it));
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let n_leading = all.iter().take_while(|it| **it == b'0').count();
        let n_trailing = all[n_leading..].iter().rev().take_while(|it| **it == b'0').count();
        let digits = all[n_leading..all.len() - n_trailing].to_vec();
        let point = i64::try_from(whole.len()).ok()? - i64::try_from(n_leading).ok()?;
        let exponent = if digits.is_empty() { 0 } else { exponent.checked_add(point)? };
        Some(Self { is_negative: is_negative && !digits.is_empty(), digits, exponent })
    }

    fn size(&self) -> (bool, i64, &[u8]) {
        (!self.digits.is_empty(), self.exponent, &self.digits)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.size().cmp(&other.size()),
            (true, true) => other.size().cmp(&self.size()),
            (mine, theirs) => theirs.cmp(&mine),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key => f.write_str("key"),
            // In quotes, it is a column because of what follows it.
            Self::Named(name) if KEYWORDS.contains(&&**name) => Name::quoted(name, f),
            Self::Named(name) => Name::Text(name).fmt(f),
        }
    }
}

/// Words that are no columns unless they stand in quotes.
const KEYWORDS: [&str; 7] = ["all", "and", "in", "key", "mod", "not", "or"];

/// As our notation writes it.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Compare(column, comparison, constant) => write!(f, "{column} {} {constant}", comparison.sign()),
            Self::Between(column, low, high) => write!(f, "{column} in {}..{}", End(low), End(high)),
            Self::OneOf(column, constants) => {
                let constants: Vec<String> = constants.iter().map(Datum::to_string).collect();
                write!(f, "{column} in [{}]", constants.join(", "))
            }
            Self::Remainder { column, divisor, remainder } => write!(f, "{column} mod {divisor} = {remainder}"),
            Self::Foreign(text) => Name::quoted(text, f),
            Self::Not(inner) if inner.is_simple() => write!(f, "not {inner}"),
            Self::Not(inner) => write!(f, "not ({inner})"),
            Self::And(parts) if parts.is_empty() => f.write_str("all"),
            Self::Or(parts) if parts.is_empty() => f.write_str("not all"),
            Self::And(parts) => write_joined(f, parts, " and "),
            Self::Or(parts) => write_joined(f, parts, " or "),
        }
    }
}

/// An end of a range: a word with a dot in it would run into those between the ends.
struct End<'d>(&'d Datum);

impl fmt::Display for End<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Datum::Text(text) if text.contains('.') => Name::quoted(text, f),
            other => other.fmt(f),
        }
    }
}

impl Predicate {
    fn is_simple(&self) -> bool {
        !matches!(self, Self::And(_) | Self::Or(_))
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: &[Predicate], word: &str) -> fmt::Result {
    for (idx, part) in parts.iter().enumerate() {
        if idx > 0 {
            f.write_str(word)?;
        }
        if part.is_simple() {
            write!(f, "{part}")?;
        } else {
            write!(f, "({part})")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(comparison: Comparison, constant: Datum) -> Predicate {
        Predicate::Compare(Column::Named("balance".into()), comparison, constant)
    }

    fn is_match(predicate: &Predicate, value: &Datum) -> bool {
        predicate.matches(Name::Int(7), value.as_name(), &|it| it == "said")
    }

    #[test]
    fn numbers_compare_by_size_whatever_their_spelling() {
        let number = |it: &str| Datum::Number(it.into());
        let ascending =
            ["-1e3", "-12.5", "-12.25", "-0.001", "0.0", "1e-7", "0.5", "1.0", "9.99", "1e2", "12345678901234567890"];
        for (idx, left) in ascending.iter().enumerate() {
            for (other_idx, right) in ascending.iter().enumerate() {
                let found = compare(number(left).as_name(), number(right).as_name());
                assert_eq!(found, Some(idx.cmp(&other_idx)), "{left} {right}");
            }
        }
        assert_eq!(compare(Name::Int(0), Name::Number("-0.00")), Some(Ordering::Equal));
        assert_eq!(compare(Name::Int(100), Name::Number("1.0e2")), Some(Ordering::Equal));
        assert_eq!(compare(Name::Int(i64::MIN), Name::Number("-9223372036854775808.5")), Some(Ordering::Greater));
    }

    #[test]
    fn what_cannot_be_said_of_a_row_does_not_match_and_neither_does_its_opposite() {
        let rich = balance(Comparison::AtLeast, 10.into());
        assert!(is_match(&rich, &12.into()));
        assert!(!is_match(&rich, &Datum::text("twelve")));
        assert!(!is_match(&Predicate::Not(Box::new(rich.clone())), &Datum::text("twelve")));
        assert!(!is_match(&Predicate::All, &Datum::Null));
        assert!(is_match(&Predicate::Or(vec![rich.clone(), Predicate::All]), &Datum::text("twelve")));
        assert!(is_match(&Predicate::Foreign("said".into()), &1.into()));
        assert!(!is_match(&Predicate::Foreign("not said".into()), &1.into()));
        assert!(!is_match(&Predicate::And(vec![rich, Predicate::Foreign("not said".into())]), &Datum::text("x")));
    }

    #[test]
    fn a_named_column_is_a_field_of_a_record() {
        let ann = Datum::record([("owner", Datum::text("ann")), ("balance", 5.into())]);
        assert!(is_match(&balance(Comparison::Less, 10.into()), &ann));
        let owner = |it: &str| Predicate::Compare(Column::Named("owner".into()), Comparison::Equal, it.into());
        assert!(is_match(&owner("ann"), &ann));
        assert!(!is_match(&owner("bob"), &ann));
        let other = Predicate::Compare(Column::Named("age".into()), Comparison::Different, 5.into());
        assert!(!is_match(&other, &ann) && !is_match(&Predicate::Not(Box::new(other)), &ann));
    }

    #[test]
    fn ranges_of_rows_are_seen_through_conjunctions() {
        let keys = |low: i64, high: i64| Predicate::Between(Column::Key, low.into(), high.into());
        let both = Predicate::And(vec![keys(1, 9), balance(Comparison::Less, 3.into()), keys(5, 20)]);
        assert_eq!(both.row_range(), Some((5, 9)));
        assert_eq!(Predicate::Or(vec![keys(1, 2), keys(5, 6)]).row_range(), None);
        assert_eq!(Predicate::Remainder { column: Column::Key, divisor: 2, remainder: 1 }.to_string(), "key mod 2 = 1");
        assert_eq!(both.to_string(), "key in 1..9 and balance < 3 and key in 5..20");
    }
}
