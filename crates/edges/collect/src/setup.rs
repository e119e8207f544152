//! How a run is made, and the same in the header of its file: the same setup gives the same run.

use crate::{Application, Failure, application};
use iso_spec::Level;
use iso_store::Policy;
use serde_json::{Value, json};
use std::fmt;

/// Everything that a run depends on.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// What runs.
    pub application: &'static dyn Application,
    /// The store's level; one of [`iso_store::LEVELS`] or [`iso_store::DATABASE_LEVELS`].
    pub level: Level,
    /// What reads are served.
    pub policy: Choice,
    /// How many sessions.
    pub sessions: usize,
    /// How many transactions each session runs.
    pub txns: usize,
    /// Decides everything that is drawn.
    pub seed: u64,
    /// Is a transaction tried again that the store aborted? Each try is a transaction of the history.
    pub retries: bool,
}

/// Which of the values that the level allows a read is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The newest one.
    Latest,
    /// Any.
    Random,
    /// One that is likely to break serializability.
    Adversarial,
}

impl Choice {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Latest, Self::Random, Self::Adversarial];

    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latest => "latest",
            Self::Random => "random",
            Self::Adversarial => "adversarial",
        }
    }

    /// The choice of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    pub(crate) fn of_store(self) -> Policy {
        match self {
            Self::Latest => Policy::Latest,
            Self::Random => Policy::Random,
            Self::Adversarial => Policy::Adversarial,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Setup {
    /// As the header of a file has it: a JSON object in one line.
    pub fn origin(&self) -> String {
        let Self { application, level, policy, sessions, txns, seed, retries } = self;
        let (application, level, policy) = (application.name(), level.short_name(), policy.name());
        let origin = json!({
            "store": level, "application": application, "policy": policy, "sessions": sessions, "txns": txns,
            "seed": seed, "retries": retries,
        });
        origin.to_string()
    }

    /// Reads what the header of a file has.
    pub fn of_origin(origin: &str) -> Result<Self, Failure> {
        let origin: Value = serde_json::from_str(origin).map_err(|it| Failure::broken(format!("the origin: {it}")))?;
        let word = |name: &str| origin[name].as_str().ok_or_else(|| missing(name, "a text"));
        let number = |name: &str| origin[name].as_u64().ok_or_else(|| missing(name, "a number"));
        let size = |name: &str| usize::try_from(number(name)?).map_err(|_| missing(name, "a smaller number"));
        let (app, level, policy) = (word("application")?, word("store")?, word("policy")?);
        Ok(Self {
            application: application(app).ok_or_else(|| unknown("application", app))?,
            level: Level::from_name(level).ok_or_else(|| unknown("level", level))?,
            policy: Choice::from_name(policy).ok_or_else(|| unknown("policy", policy))?,
            sessions: size("sessions")?,
            txns: size("txns")?,
            seed: number("seed")?,
            retries: origin["retries"].as_bool().unwrap_or(false),
        })
    }
}

fn missing(name: &str, kind: &str) -> Failure {
    Failure::broken(format!("the origin of the history does not say \"{name}\", which is {kind}"))
}

fn unknown(what: &str, name: &str) -> Failure {
    Failure::broken(format!("the origin of the history names the {what} `{name}`, which is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::APPLICATIONS;

    #[test]
    fn an_origin_reads_back() {
        for (application, policy) in APPLICATIONS.into_iter().zip(Choice::ALL.into_iter().cycle()) {
            let level = Level::CausalConsistency;
            let setup = Setup { application, level, policy, sessions: 3, txns: 8, seed: u64::MAX, retries: true };
            let again = Setup::of_origin(&setup.origin()).unwrap();
            assert_eq!(again.origin(), setup.origin());
            assert_eq!(again.application.name(), application.name());
        }
    }

    #[test]
    fn an_origin_of_somebody_else_is_refused_with_what_is_missing() {
        for (origin, words) in [
            ("[]", "does not say \"application\""),
            ("{", "the origin: EOF"),
            (r#"{"application":"petstore","store":"cc","policy":"random"}"#, "application `petstore`"),
            (r#"{"application":"voter","store":"xx","policy":"random"}"#, "level `xx`"),
            (r#"{"application":"voter","store":"cc","policy":"random","sessions":-1}"#, "\"sessions\""),
        ] {
            let error = Setup::of_origin(origin).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
