//! The four exit codes that every verb uses.

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
