//! The header of a text file: what its author expects, and where it comes from.

use crate::{Expectation, Header, RecordedDatabase};

/// Takes a comment's text; says what is wrong with it if it is a malformed expectation.
pub(crate) fn read_comment(comment: &str, header: &mut Header) -> Result<(), String> {
    let comment = comment.trim();
    if let Some(text) = comment.strip_prefix("expect:") {
        return read_expectations(text, &mut header.expectations);
    }
    if let Some(text) = comment.strip_prefix("database:") {
        header.database = Some(RecordedDatabase::of_text(text)?);
    }
    if let Some(text) = comment.strip_prefix("final:") {
        let names = text.split([',', ' ']).map(str::trim).filter(|it| !it.is_empty());
        header.final_sessions.extend(names.map(str::to_owned));
    }
    if let Some(text) = comment.strip_prefix("source:") {
        let text = text.trim();
        match &mut header.source {
            None => header.source = Some(text.to_owned()),
            Some(source) => {
                source.push('\n');
                source.push_str(text);
            }
        }
    }
    Ok(())
}

/// `rc ra cc; not ser (write-skew), not si (lost-update)`: `not` holds to the next comma or semicolon.
fn read_expectations(text: &str, expectations: &mut Vec<Expectation>) -> Result<(), String> {
    let first = expectations.len();
    let mut holds = true;
    let mut rest = text.trim_start();
    while let Some(symbol) = rest.chars().next() {
        let taken = match symbol {
            ';' | ',' => {
                holds = true;
                1
            }
            '(' => {
                let Some(end) = rest.find(')') else { return Err("`(` has no `)` after it".to_owned()) };
                let anomaly = rest[1..end].trim().to_owned();
                match expectations[first..].last_mut() {
                    Some(last) if last.anomaly.is_none() => last.anomaly = Some(anomaly),
                    _ => return Err(format!("({anomaly}) must stand after a level")),
                }
                end + 1
            }
            _ => {
                let end = rest.find(|it: char| it.is_whitespace() || ";,()".contains(it)).unwrap_or(rest.len());
                match &rest[..end.max(1)] {
                    "not" => holds = false,
                    ")" => return Err("`)` has no `(` before it".to_owned()),
                    level => expectations.push(Expectation { level: level.to_owned(), holds, anomaly: None }),
                }
                end.max(1)
            }
        };
        rest = rest[taken..].trim_start();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(comment: &str) -> Vec<(String, bool, Option<String>)> {
        let mut header = Header::default();
        read_comment(comment, &mut header).unwrap();
        header.expectations.into_iter().map(|it| (it.level, it.holds, it.anomaly)).collect()
    }

    #[test]
    fn not_holds_to_the_end_of_its_clause() {
        let found = expected(" expect: rc ra; not ser (write-skew), not si (lost-update); cc");
        let wanted = [
            ("rc", true, None),
            ("ra", true, None),
            ("ser", false, Some("write-skew")),
            ("si", false, Some("lost-update")),
            ("cc", true, None),
        ];
        let wanted: Vec<_> = wanted.into_iter().map(|(a, b, c)| (a.to_owned(), b, c.map(str::to_owned))).collect();
        assert_eq!(found, wanted);
    }

    #[test]
    fn an_anomaly_without_a_level_is_refused() {
        assert!(read_comment("expect: (write-skew)", &mut Header::default()).is_err());
        assert!(read_comment("expect: ser (write-skew", &mut Header::default()).is_err());
        assert!(read_comment("expect: ser )", &mut Header::default()).is_err());
    }

    #[test]
    fn other_comments_say_nothing() {
        let mut header = Header::default();
        read_comment("we expect: much", &mut header).unwrap();
        assert_eq!(header, Header::default());
    }
}
