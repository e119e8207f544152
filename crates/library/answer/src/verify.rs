//! Does a program keep its promises under a level? A run that breaks one is replayed and judged before it is shown.
//!
//! The interpreter runs the transactions again, and must come to the same reads, writes and ends; the history must be
//! that of the run; and `check` must allow it at the level, certified. That a program holds rests on the search.

mod recorded;
mod replay;

use crate::certified::Withheld;
use crate::check::{self, check_facts};
use crate::{Certified, Searched, WrongEvidence};
use iso_evidence::{Budget, Note, Refutation, Stage, StopReason};
use iso_history::Facts;
use iso_program::{Program, Run};
use iso_spec::Level;
use std::collections::BTreeSet;

pub use iso_verify::{
    Counterexample, Database, DatabaseLevel, Effort, FailureKind, Isolation, LEVELS, Observed, Ran, Repair, Seen, Wrong,
};

/// Does the program keep its promises under the level?
#[derive(Clone, Debug)]
pub struct Verification {
    /// The answer.
    pub answer: Answer,
    /// What it took.
    pub effort: Effort,
}

/// The answer for one level.
#[derive(Clone, Debug)]
pub enum Answer {
    /// In every execution that the level allows, for all open values.
    Holds(Searched<Bounds>),
    /// Not in this one.
    Violated(Box<Certified<Violation>>),
    /// A limit was reached first, or the level is none of [`LEVELS`].
    Undecided(StopReason),
    /// The engine has an execution that is none: a bug.
    Refused(WrongEvidence),
}

/// For what a program holds: these transactions, and integers of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Transactions that run.
    pub txns: usize,
    /// Sessions that they run in.
    pub sessions: usize,
    /// Bits of an integer.
    pub int_bits: u32,
}

/// An execution that the level allows and in which something is wrong.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The execution.
    pub counterexample: Counterexample,
    /// The same execution, by the interpreter.
    pub run: Run,
    /// What the interpreter finds wrong; at least one thing.
    pub wrong: Vec<Wrong>,
    /// The levels that forbid its history, weaker ones first; of a database's level, those of the same database.
    pub forbidden_by: Vec<Isolation>,
    /// Why it is not serializable, if it is not.
    pub refutation: Option<Refutation>,
}

impl Bounds {
    /// Those of a program.
    pub fn of(program: &Program) -> Self {
        let sessions: BTreeSet<usize> = program.instances().iter().map(|it| it.session).collect();
        Self { txns: program.instances().len(), sessions: sessions.len(), int_bits: program.width() }
    }
}

/// Decides whether a program keeps its promises under a level: one of [`LEVELS`], or one of a [`Database`].
///
/// ```
/// use iso_answer::verify::{Answer, verify};
/// use iso_evidence::Budget;
/// use iso_program::parse;
/// use iso_spec::Level;
/// let text = "var hits: int = 0\ntxn hit() { hits += 1 }\nrun hit() || hit()\ninvariant hits == 2\n";
/// let program = parse(text, "counter.txn").unwrap();
/// let ask = |level| verify(&program, level, &Budget::unlimited()).answer;
/// let Answer::Violated(run) = ask(Level::ReadCommitted) else { panic!("a hit is lost") };
/// assert!(run.forbidden_by.contains(&Level::Serializable.into()));
/// // That it holds rests on the search, for two transactions.
/// let Answer::Holds(searched) = ask(Level::SnapshotIsolation) else { panic!("it holds") };
/// assert_eq!(searched.bounds().txns, 2);
/// ```
pub fn verify(program: &Program, isolation: impl Into<Isolation>, budget: &Budget<'_>) -> Verification {
    let isolation = isolation.into();
    if !isolation.is_known() {
        let reason = format!("programs cannot be verified under {}", isolation.full_name());
        return Verification { answer: Answer::Undecided(StopReason::Unsupported(reason)), effort: Effort::default() };
    }
    certified(program, isolation, iso_verify::verify(program, isolation, budget), budget)
}

/// Decides a level in runs in which numbers stay within their width and all rows are the program's.
pub(crate) fn certified_within_limits(program: &Program, isolation: Isolation, budget: &Budget<'_>) -> Answer {
    certified(program, isolation, iso_verify::verify_within_limits(program, isolation, budget), budget).answer
}

/// Decides several levels of [`LEVELS`], one after the other, with one formula; `decided` hears each answer as soon as it
/// is known.
pub fn verify_levels(
    program: &Program,
    levels: &[Level],
    budget: &Budget<'_>,
    decided: &mut dyn FnMut(Level, Verification),
) {
    let levels: Vec<Isolation> = levels.iter().copied().map(Isolation::Paper).collect();
    verify_all(program, &levels, budget, &mut |isolation, it| decided(isolation.level(), it));
}

/// The same for levels of papers and of databases.
pub fn verify_all(
    program: &Program,
    isolations: &[Isolation],
    budget: &Budget<'_>,
    decided: &mut dyn FnMut(Isolation, Verification),
) {
    let known: Vec<Isolation> = isolations.iter().copied().filter(|it| it.is_known()).collect();
    iso_verify::verify_all(program, &known, budget, &mut |isolation, verification| {
        decided(isolation, certified(program, isolation, verification.clone(), budget));
    });
}

/// Which levels are enough.
#[derive(Clone, Debug)]
pub struct Weakest {
    /// Every level with its answer, weaker ones first. What follows from another answer was not searched for.
    pub levels: Vec<(Level, Verification)>,
    /// The levels that hold and of which no weaker one does.
    pub weakest: Vec<Level>,
}

/// Finds the weakest levels under which a program keeps its promises.
pub fn weakest(program: &Program, budget: &Budget<'_>) -> Weakest {
    let answers = iso_verify::weakest(program, budget);
    let levels = answers.levels.into_iter();
    let levels = levels.map(|(level, it)| (level, certified(program, level.into(), it, budget))).collect();
    Weakest { levels, weakest: answers.weakest }
}

/// Changes that make a program hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repairs {
    /// Each is enough by itself.
    pub found: Vec<Repair>,
    /// With them the program holds, and that rests on the search.
    pub searched: Searched<Bounds>,
}

/// Tries which changes make the program keep its promises under the level; of each kind only the smallest are returned.
pub fn repairs(program: &Program, isolation: impl Into<Isolation>, budget: &Budget<'_>) -> Result<Repairs, StopReason> {
    let found = iso_verify::repairs(program, isolation.into(), budget)?;
    Ok(Repairs { found, searched: Searched::new(Bounds::of(program)) })
}

/// An answer of the engine, after its execution was looked at.
fn certified(
    program: &Program,
    isolation: Isolation,
    verification: iso_verify::Verification,
    budget: &Budget<'_>,
) -> Verification {
    let answer = match verification.verdict {
        iso_verify::Verdict::Holds => Answer::Holds(Searched::new(Bounds::of(program))),
        iso_verify::Verdict::Unknown(reason) => Answer::Undecided(reason),
        iso_verify::Verdict::Violated(found) => match violation(program, isolation, *found, budget) {
            Ok(violation) => Answer::Violated(Box::new(violation)),
            Err(Withheld::Stopped(reason)) => Answer::Undecided(reason),
            Err(Withheld::Wrong(wrong)) => Answer::Refused(wrong),
        },
    };
    Verification { answer, effort: verification.effort }
}

/// Replays an execution, and judges its history.
fn violation(
    program: &Program,
    isolation: Isolation,
    found: Counterexample,
    budget: &Budget<'_>,
) -> Result<Certified<Violation>, Withheld> {
    budget.note(Note::Begins(Stage::Certification));
    let wrong = |why: String| Withheld::wrong(&isolation, &why);
    let (run, confirmed) = replay_run(program, isolation, &found).map_err(wrong)?;
    let (forbidden_by, refutation) = judge_history(isolation, &found, budget)?;
    Ok(Certified::new(Violation { counterexample: found, run, wrong: confirmed, forbidden_by, refutation }))
}

/// Runs the transactions of an execution again with the interpreter, and compares everything: what they read and write, how
/// they end, the last state, what is wrong, and that the history is that of the run. Returns the run and what is wrong in it;
/// the error says what differs. No engine is asked, and nothing is said about levels.
pub fn replay_run(
    program: &Program,
    isolation: Isolation,
    found: &Counterexample,
) -> Result<(Run, Vec<Wrong>), String> {
    let (run, confirmed) =
        replay::replay(program, isolation, found).map_err(|why| format!("the interpreter says: {why}"))?;
    match isolation {
        Isolation::Paper(_) => recorded::check_history(program, found, &run.initial),
        Isolation::Database(_) => recorded::check_statements(program, found, &run, isolation.looks()),
    }?;
    Ok((run, confirmed))
}

/// The level must allow the history; what other levels say tells people what it is.
fn judge_history(
    isolation: Isolation,
    found: &Counterexample,
    budget: &Budget<'_>,
) -> Result<(Vec<Isolation>, Option<Refutation>), Withheld> {
    let facts = Facts::new(&found.history);
    let (mut forbidden_by, mut refuted) = (Vec::new(), None);
    for other in isolation.relatives() {
        let answer = check_facts(&facts, other.level(), budget);
        budget.check()?;
        match answer {
            check::Answer::Forbidden(_) if isolation.level().implies(other.level()) => {
                return Err(Withheld::wrong(&isolation, &format!("check at {other} forbids the history")));
            }
            check::Answer::Forbidden(refutation) => {
                forbidden_by.push(other);
                if other.level() == Level::Serializable {
                    refuted = Some(refutation.into_inner());
                }
            }
            check::Answer::Refused(wrong) => {
                return Err(Withheld::wrong(&isolation, &format!("check at {other}: {}", wrong.why)));
            }
            check::Answer::Undecided(reason) if other == isolation => return Err(Withheld::Stopped(reason)),
            check::Answer::NotCertified { why, .. } if other == isolation => {
                return Err(Withheld::Stopped(why.into()));
            }
            check::Answer::Allowed(_) | check::Answer::Undecided(_) | check::Answer::NotCertified { .. } => {}
        }
    }
    Ok((forbidden_by, refuted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_program::parse;

    const COUNTER: &str = "var x: int = 0\ntxn inc() { x += 1 }\nrun inc() || inc()\ninvariant x == 2\n";

    fn lost_update() -> (Program, Counterexample) {
        let program = parse(COUNTER, "counter.txn").unwrap();
        let verdict = iso_verify::verify(&program, Level::PrefixConsistency, &Budget::unlimited()).verdict;
        let iso_verify::Verdict::Violated(found) = verdict else { unreachable!() };
        (program, *found)
    }

    #[test]
    fn a_right_execution_is_certified_and_its_anomaly_named() {
        let (program, found) = lost_update();
        let violation = violation(&program, Level::PrefixConsistency.into(), found, &Budget::unlimited()).unwrap();
        let short: Vec<&str> = violation.forbidden_by.iter().map(|it| it.short_name()).collect();
        assert_eq!(short, ["ua", "psi", "si", "ser"]);
        assert_eq!(violation.refutation.as_ref().unwrap().anomalies, [iso_evidence::Anomaly::LostUpdate]);
    }

    #[test]
    fn an_execution_that_the_level_forbids_is_refused() {
        let (program, found) = lost_update();
        let withheld = violation(&program, Level::SnapshotIsolation.into(), found, &Budget::unlimited()).unwrap_err();
        assert!(matches!(withheld, Withheld::Wrong(it) if it.level == "si" && it.why.contains("forbids the history")));
    }

    #[test]
    fn the_history_of_another_execution_is_refused() {
        let (program, mut found) = lost_update();
        let serial = parse(&COUNTER.replace("x == 2", "x == 3"), "serial.txn").unwrap();
        let verdict = iso_verify::verify(&serial, Level::Serializable, &Budget::unlimited()).verdict;
        let iso_verify::Verdict::Violated(other) = verdict else { unreachable!() };
        found.history = other.history;
        let withheld = violation(&program, Level::PrefixConsistency.into(), found, &Budget::unlimited()).unwrap_err();
        assert!(matches!(withheld, Withheld::Wrong(it) if it.why.contains("history")));
    }

    #[test]
    fn a_limit_leaves_no_answer() {
        let (program, found) = lost_update();
        let stop = || Some(StopReason::Timeout);
        let withheld = violation(&program, Level::PrefixConsistency.into(), found, &Budget::new(&stop)).unwrap_err();
        assert_eq!(withheld, Withheld::Stopped(StopReason::Timeout));
    }

    #[test]
    fn a_level_that_programs_do_not_have_is_no_question() {
        let (program, _) = lost_update();
        let answer = verify(&program, Level::StrictSerializable, &Budget::unlimited()).answer;
        assert!(matches!(answer, Answer::Undecided(StopReason::Unsupported(_))));
    }
}
