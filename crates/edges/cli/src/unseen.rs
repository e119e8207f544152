//! Statements of a recording whose reads are missing in it, so that nobody knows what holds of the whole.

use iso_report::{Judgement, LevelReport};

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unseen {
    #[default]
    None,
    /// So many, if that is known.
    Some(Option<u64>),
}

impl Unseen {
    /// What the header of a recording says.
    pub(crate) fn of(origin: Option<&str>) -> Self {
        let origin: Option<serde_json::Value> = origin.and_then(|it| serde_json::from_str(it).ok());
        match origin.as_ref().map(|it| &it["opaque"]) {
            Some(serde_json::Value::Bool(true)) => Self::Some(None),
            Some(serde_json::Value::Number(n)) if n.as_u64() != Some(0) => Self::Some(n.as_u64()),
            _ => Self::None,
        }
    }

    /// What is recorded may be allowed, and what is missing not: then a level is not known to hold.
    pub(crate) fn mark(self, report: &mut LevelReport) {
        let Self::Some(n) = self else { return };
        if !matches!(report.judgement, Judgement::Holds { .. }) {
            return;
        }
        let statements = match n {
            Some(1) => "one statement".to_owned(),
            Some(n) => format!("{n} statements"),
            None => "some statements".to_owned(),
        };
        let reason =
            format!("{statements} executed code of the database, whose reads are not recorded; the rest is allowed");
        *report =
            LevelReport { judgement: Judgement::Unknown { reason }, certified: None, level: report.level.clone() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_whether_reads_are_missing() {
        let of = |text| Unseen::of(Some(text));
        assert_eq!(of(r#"{"opaque":2}"#), Unseen::Some(Some(2)));
        assert_eq!(of(r#"{"opaque":true}"#), Unseen::Some(None));
        for text in ["{}", r#"{"opaque":0}"#, "no json"] {
            assert_eq!(of(text), Unseen::None);
        }
        assert_eq!(Unseen::of(None), Unseen::None);
    }
}
