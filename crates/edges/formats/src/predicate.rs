//! Reads predicates: the inverse of how they are written, with the spellings that people use.
//!
//! `not` binds before `and`, and `and` before `or`. A text in quotes is a column if a comparison follows it, and otherwise a
//! predicate that only the database can evaluate.

use crate::words::{Words, Wrong, is_word_symbol, wrong};
use iso_history::{Column, Comparison, Datum, Predicate};

/// Anything nested deeper is refused, so that no input can exhaust the stack.
const MAX_DEPTH: u32 = 100;

/// Reads a predicate as our notation has it, such as `balance < 10 and key in 1..5`; an error says what is wrong.
pub fn predicate_of(text: &str) -> Result<Predicate, String> {
    parse(text).map_err(|wrong| wrong.message)
}

/// Reads a text that is a predicate and nothing else.
pub(crate) fn parse(text: &str) -> Result<Predicate, Wrong> {
    let mut words = Words::of_predicate(text);
    let predicate = read(&mut words)?;
    match words.peek() {
        None => Ok(predicate),
        Some(_) => words.wrong_here("expected `and`, `or` or the end of the predicate"),
    }
}

/// Reads a predicate, and leaves what follows it.
pub(crate) fn read(words: &mut Words<'_>) -> Result<Predicate, Wrong> {
    either(words, 0)
}

fn either(words: &mut Words<'_>, depth: u32) -> Result<Predicate, Wrong> {
    let mut parts = vec![both(words, depth)?];
    while words.accept_word("or") {
        parts.push(both(words, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::Or(parts) })
}

fn both(words: &mut Words<'_>, depth: u32) -> Result<Predicate, Wrong> {
    let mut parts = vec![one(words, depth)?];
    while words.accept_word("and") {
        parts.push(one(words, depth)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { Predicate::And(parts) })
}

fn one(words: &mut Words<'_>, depth: u32) -> Result<Predicate, Wrong> {
    if depth > MAX_DEPTH {
        return wrong(words.at(), format!("the predicate is nested deeper than {MAX_DEPTH}"));
    }
    if words.accept_word("not") {
        return Ok(Predicate::Not(Box::new(one(words, depth + 1)?)));
    }
    if words.accept('(') {
        let inner = either(words, depth + 1)?;
        words.expect(')', "after the predicate in parentheses")?;
        return Ok(inner);
    }
    if words.accept_word("all") {
        return Ok(Predicate::All);
    }
    if words.peek() == Some('"') {
        let text = words.quoted()?;
        let column = Column::Named(text.as_str().into());
        return Ok(comparison(words, &column)?.unwrap_or_else(|| Predicate::Foreign(text.into())));
    }
    let column = column(words)?;
    match comparison(words, &column)? {
        Some(predicate) => Ok(predicate),
        None => words
            .wrong_here(&format!("expected `=`, `!=`, `<`, `<=`, `>`, `>=`, `in` or `mod` after the column {column}")),
    }
}

/// `owner`, or `.owner`; `key` is the name of the row.
fn column(words: &mut Words<'_>) -> Result<Column, Wrong> {
    const EXPECTED: &str = "expected a predicate, such as `all`, `balance < 10` or `key in 1..9`";
    let start = words.after_space();
    let is_field = words.accept('.');
    let name = words.take(is_word_symbol);
    if !name.starts_with(|it: char| it.is_alphabetic() || it == '_') {
        words.go_to(start);
        return words.wrong_here(EXPECTED);
    }
    match name {
        "and" | "or" | "in" | "mod" if !is_field => {
            wrong(start, format!("{EXPECTED}, found `{name}`; a column of that name stands in quotes"))
        }
        "key" if !is_field => Ok(Column::Key),
        name => Ok(Column::Named(name.into())),
    }
}

/// What is said of a column, if it is that what comes next.
fn comparison(words: &mut Words<'_>, column: &Column) -> Result<Option<Predicate>, Wrong> {
    let column = column.clone();
    if words.accept_word("in") {
        return if words.accept('[') { one_of(words, column) } else { between(words, column) }.map(Some);
    }
    if words.accept_word("mod") {
        return remainder(words, column).map(Some);
    }
    match Comparison::ALL.into_iter().find(|it| words.accept_text(it.sign())) {
        Some(comparison) => Ok(Some(Predicate::Compare(column, comparison, words.value()?))),
        None => Ok(None),
    }
}

fn one_of(words: &mut Words<'_>, column: Column) -> Result<Predicate, Wrong> {
    let mut constants = Vec::new();
    while !words.accept(']') {
        if !constants.is_empty() {
            words.expect(',', "or `]` after a value of the list")?;
        }
        constants.push(words.value()?);
    }
    Ok(Predicate::OneOf(column, constants))
}

fn between(words: &mut Words<'_>, column: Column) -> Result<Predicate, Wrong> {
    let low = words.range_end()?;
    if !words.accept_text("..") {
        return words
            .wrong_here("expected `..` and the end of the range, as in `in 1..9`, or a list, as in `in [1, 9]`");
    }
    Ok(Predicate::Between(column, low, words.range_end()?))
}

fn remainder(words: &mut Words<'_>, column: Column) -> Result<Predicate, Wrong> {
    let start = words.after_space();
    let divisor = integer(words)?;
    if divisor == 0 {
        return wrong(start, "expected another number than 0: nothing is divided by 0");
    }
    words.expect('=', "after the divisor, as in `key mod 2 = 1`")?;
    Ok(Predicate::Remainder { column, divisor, remainder: integer(words)? })
}

fn integer(words: &mut Words<'_>) -> Result<i64, Wrong> {
    let start = words.after_space();
    match words.datum("an integer")? {
        Datum::Int(number) => Ok(number),
        other => wrong(start, format!("expected an integer, found {}", other.as_name().shown())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn constants() -> impl Strategy<Value = Datum> {
        let scalars = prop_oneof![
            any::<i64>().prop_map(Datum::Int),
            "-?[1-9][0-9]{0,2}\\.[0-9]{1,3}".prop_map(|it| Datum::Number(it.into())),
            "[1-9]e[+-][0-9]{1,2}".prop_map(|it| Datum::Number(it.into())),
            "[a-z][a-z./-]{0,4}".prop_map(Datum::text),
            "(?s).{0,4}".prop_map(Datum::text),
            prop::sample::select(vec!["and", "or", "not", "in", "all", "key", "mod", "a..b", "b."])
                .prop_map(Datum::text),
            Just(Datum::Null),
        ];
        let fields = vec(("(?s).{0,3}", scalars.clone()), 0..3);
        let record = |it: Vec<(String, Datum)>| Datum::record(it.iter().map(|it| (it.0.as_str(), it.1.clone())));
        prop_oneof![6 => scalars, 1 => fields.prop_map(record)]
    }

    fn columns() -> impl Strategy<Value = Column> {
        prop_oneof![
            Just(Column::Key),
            "[a-z_]{1,6}".prop_map(|it| Column::Named(it.into())),
            "(?s).{0,3}".prop_map(|it| Column::Named(it.into())),
            prop::sample::select(vec!["and", "or", "not", "in", "all", "key", "mod", ".x"])
                .prop_map(|it| Column::Named(it.into())),
        ]
    }

    fn predicates() -> impl Strategy<Value = Predicate> {
        let comparison = prop::sample::select(Comparison::ALL.to_vec());
        let leaf = prop_oneof![
            Just(Predicate::All),
            (columns(), comparison, constants()).prop_map(|(a, b, c)| Predicate::Compare(a, b, c)),
            (columns(), constants(), constants()).prop_map(|(a, b, c)| Predicate::Between(a, b, c)),
            (columns(), vec(constants(), 0..3)).prop_map(|(a, b)| Predicate::OneOf(a, b)),
            (columns(), any::<i64>().prop_filter("a divisor", |it| *it != 0), any::<i64>())
                .prop_map(|(column, divisor, remainder)| Predicate::Remainder { column, divisor, remainder }),
            "(?s).{0,6}".prop_map(|it| Predicate::Foreign(it.into())),
        ];
        leaf.prop_recursive(4, 16, 3, |inner| {
            prop_oneof![
                inner.clone().prop_map(|it| Predicate::Not(Box::new(it))),
                vec(inner.clone(), 2..4).prop_map(Predicate::And),
                vec(inner, 2..4).prop_map(Predicate::Or),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 5000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back(predicate in predicates()) {
            let text = predicate.to_string();
            let again = parse(&text);
            prop_assert!(again.is_ok(), "{text}: {again:?}");
            prop_assert_eq!(again.unwrap(), predicate, "{}", text);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z0-9 ().,<=!\"\\[\\]{}:-]{0,30}") {
            if let Ok(predicate) = parse(&text) {
                prop_assert_eq!(parse(&predicate.to_string()).unwrap(), predicate);
            }
        }
    }

    #[test]
    fn not_binds_before_and_and_that_before_or() {
        let shown = |text: &str| parse(text).unwrap().to_string();
        assert_eq!(shown("a = 1 or not b = 2 and c = 3"), "a = 1 or (not b = 2 and c = 3)");
        assert_eq!(shown("not (a=1 or b=2) and all"), "not (a = 1 or b = 2) and all");
        assert_eq!(shown("((a<=1))"), "a <= 1");
    }

    #[test]
    fn people_have_several_spellings() {
        let shown = |text: &str| parse(text).unwrap().to_string();
        assert_eq!(shown(".owner=\"ann\" and balance>=1.50"), "owner = ann and balance >= 1.50");
        assert_eq!(shown("key in 1..9"), shown("key in 1 .. 9"));
        assert_eq!(shown(".key = 1"), "\"key\" = 1");
        assert_eq!(shown("\"it's complicated\" or x in [ ]"), "\"it's complicated\" or x in []");
        assert_eq!(shown("n mod 3 = 2 and n in -3..-1"), "n mod 3 = 2 and n in -3..-1");
        assert_eq!(shown("a in \"b.c\"..d and e in x..y"), "a in \"b.c\"..d and e in x..y");
    }

    #[test]
    fn mistakes_are_said_with_their_place() {
        let cases = [
            ("", 0, "expected a predicate"),
            ("balance", 7, "after the column balance"),
            ("balance <", 9, "expected a value, found its end"),
            ("balance < 10 and", 16, "expected a predicate"),
            ("balance < 10 adn key = 1", 13, "expected `and`, `or` or the end"),
            ("5 < balance", 0, "expected a predicate, such as"),
            ("balance in 1", 12, "expected `..`"),
            ("balance in [1 2]", 14, "expected `,` or `]`"),
            ("(balance = 1", 12, "expected `)`"),
            ("key mod 0 = 0", 8, "nothing is divided by 0"),
            ("key mod x = 0", 8, "expected an integer, found x"),
            ("key mod 2 < 1", 10, "expected `=` after the divisor"),
            ("a = {b: {c: 1}}", 8, "records have no records"),
            ("a = {b: 1, b: 2}", 11, "given twice"),
            ("and = 1", 0, "stands in quotes"),
            ("\"open", 0, "no closing quote"),
        ];
        for (text, at, message) in cases {
            let found = parse(text).unwrap_err();
            assert!(found.at == at && found.message.contains(message), "{text}: {found:?}");
        }
        for open in ["(", "not ", "not ("] {
            assert!(parse(&open.repeat(100_000)).unwrap_err().message.contains("nested deeper"));
        }
    }
}
