//! The four exit codes that every verb uses.

use iso_report::{
    CheckReport, Judgement, LevelReport, PromiseVerdict, Report, SearchVerdict, Severity, SpecRelation, VerifiedLevel,
    VerifyVerdict,
};

/// How a run ended, for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Exit {
    /// Holds, allowed, nothing found; also: done.
    #[default]
    Good,
    /// Violated, found.
    Found,
    /// The question could not be asked: bad input, bad option.
    Unasked,
    /// Nobody knows: the time or memory ran out.
    Unknown,
}

impl Exit {
    /// The number that the system gets.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Good => 0,
            Self::Found => 1,
            Self::Unasked => 2,
            Self::Unknown => 3,
        }
    }

    /// What a document says: a violation or a history that was found is a fact, whatever else is unknown.
    pub(crate) fn of(report: &Report) -> Self {
        match report {
            Report::Check(report) => Self::of_check(report),
            Report::Separate(report) => match report.verdict {
                SearchVerdict::Found => Self::Found,
                SearchVerdict::None => Self::Good,
                SearchVerdict::Unknown { .. } => Self::Unknown,
            },
            Report::Compare(report) => match report.relation {
                SpecRelation::Equivalent => Self::Good,
                SpecRelation::Stronger | SpecRelation::Weaker | SpecRelation::Incomparable => Self::Found,
                SpecRelation::Unknown { .. } => Self::Unknown,
            },
            Report::Lattice(report) if report.unknown.is_empty() => Self::Good,
            Report::Lattice(_) => Self::Unknown,
            Report::Verify(report) => {
                let of_level = |level: &VerifiedLevel| match level.verdict {
                    VerifyVerdict::Holds => Self::Good,
                    VerifyVerdict::Violated { .. } => Self::Found,
                    VerifyVerdict::Unknown { .. } => Self::Unknown,
                };
                let is_broken = report.server.as_ref().is_some_and(|it| it.broken > 0);
                let on_server = if is_broken { Self::Found } else { Self::Good };
                report.levels.iter().map(of_level).fold(on_server, Self::and)
            }
            Report::Allocate(report) => match report.verdict() {
                "robust" => Self::Good,
                "not-robust" => Self::Found,
                _ => Self::Unknown,
            },
            Report::Predict(report) => match report.verdict() {
                "predicted" => Self::Found,
                "none" => Self::Good,
                _ => Self::Unknown,
            },
            Report::Collect(report) if report.failure.is_some() => Self::Unasked,
            Report::Collect(report) if report.assertions.iter().any(|it| !it.holds) => Self::Found,
            Report::Store(report) if report.assertions.iter().any(|it| !it.holds) => Self::Found,
            Report::Collect(_) | Report::Demo(_) | Report::Store(_) => Self::Good,
            Report::Replay(report) => match report.verdict() {
                "shown" => Self::Found,
                "not-shown" => Self::Good,
                _ => Self::Unknown,
            },
            Report::Hunt(report) if report.failure.is_some() => Self::Unasked,
            Report::Hunt(report) => match report.verdict() {
                "found" => Self::Found,
                "none" => Self::Good,
                _ => Self::Unknown,
            },
        }
    }

    fn of_check(report: &CheckReport) -> Self {
        let of_level = |level: &LevelReport| match level.judgement {
            Judgement::Holds { .. } => Self::Good,
            Judgement::Violated { .. } => Self::Found,
            Judgement::Unknown { .. } => Self::Unknown,
        };
        let of_input =
            if report.defects.iter().any(|it| it.severity == Severity::Error) { Self::Unasked } else { Self::Good };
        let is_lost = report.durability.as_ref().is_some_and(|it| it.lost > 0);
        let of_input = if is_lost { of_input.and(Self::Found) } else { of_input };
        // Where something was promised, that is what matters.
        match report.promise.as_ref().map(|it| it.verdict) {
            Some(PromiseVerdict::Kept) => of_input,
            Some(PromiseVerdict::Broken) => of_input.and(Self::Found),
            Some(PromiseVerdict::Unknown) => of_input.and(Self::Unknown),
            None => report.levels.iter().map(of_level).fold(of_input, Self::and),
        }
    }

    /// The exit of two questions together: an unasked one weighs most, then a violation, then an unknown.
    pub(crate) fn and(self, other: Self) -> Self {
        let weight = |exit: Self| match exit {
            Self::Good => 0,
            Self::Unknown => 1,
            Self::Found => 2,
            Self::Unasked => 3,
        };
        if weight(other) > weight(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn an_unasked_question_weighs_more_than_a_violation_and_that_more_than_an_unknown() {
        assert_eq!(Exit::Found.and(Exit::Unasked), Exit::Unasked);
        assert_eq!(Exit::Found.and(Exit::Unknown), Exit::Found);
        assert_eq!(Exit::Unknown.and(Exit::Good), Exit::Unknown);
    }
}
