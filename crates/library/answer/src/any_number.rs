//! Does a program keep its promises whatever number of its transactions runs?
//!
//! It does at a level if every run is as a serial one (robustness, as for `allocate`), the initial state satisfies what is
//! claimed, and each transaction alone, with any arguments and from any state in which the claims hold, keeps them. The
//! kernel checks the first again, and the other two where there are few enough cases to go through with the interpreter.
//! Where something of this fails, runs of a few transactions are searched for one that breaks a claim; it is certified as
//! every counterexample is.

use crate::verify::{Violation, certified_within_limits};
use crate::{Certification, Certified, WrongEvidence};
use iso_allocate::{Edges, is_robust};
use iso_evidence::{Budget, StopReason};
use iso_program::{
    AnyNumber, Exhaustive, NotRobust, Program, ProgramError, Templates, TxnLevel, check_robust, go_through,
};
use iso_spec::Level;
use iso_verify::{DatabaseLevel, Isolation};

/// How many cases the kernel goes through for one transaction.
pub const MAX_CASES: u64 = 1 << 19;
/// How many transactions run together when a violation is searched for.
const MAX_INSTANCES: usize = 4;
/// How many choices of transactions are searched.
const MAX_CHOICES: usize = 150;

/// The answer for any number of transactions.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Does the initial state satisfy what is claimed?
    pub initial: Kept,
    /// By transaction, in the order of the text: does it keep what is claimed?
    pub steps: Vec<(String, Kept)>,
    /// By level.
    pub levels: Vec<(TxnLevel, Answer)>,
    /// By level that was decided: is every run as a serial one?
    pub robust: Vec<(TxnLevel, bool)>,
    /// How many transactions were tried together, at most, where a violation was searched for.
    pub tried: usize,
}

/// Is what is claimed kept?
#[derive(Clone, Debug)]
pub enum Kept {
    /// Always.
    Always(Certification),
    /// Not here, by this program; the state may be one that is never reached.
    Broken(Box<Run>),
    /// There is no state from which it could be tried.
    Nowhere,
    /// A limit was reached first.
    Unknown(StopReason),
}

/// A run that breaks something.
#[derive(Clone, Debug)]
pub struct Run {
    /// The program whose `run` it is.
    pub program: Program,
    /// The names of the transactions that it runs.
    pub txns: Vec<String>,
    /// What happens, and what is wrong.
    pub violation: Certified<Violation>,
}

/// The answer for one level.
#[derive(Clone, Debug)]
pub enum Answer {
    /// However many run.
    Holds(Certification),
    /// Not in this run.
    Violated(Box<Run>),
    /// Nobody knows, because of this.
    Unknown(Vec<Why>),
}

/// Why it is not known whether a program holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// This transaction can be split after a read at this line, so that runs need not be serializable.
    Split {
        /// Its name.
        txn: String,
        /// The line.
        line: u32,
    },
    /// This transaction asserts something, and who fails need not see what a serial run would show.
    Asserts(String),
    /// This transaction may break a claim from a state in which all hold.
    NotInductive(String),
    /// This transaction cannot be tried from any state.
    Nowhere(String),
    /// A limit was reached first.
    Stopped(StopReason),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The program cannot be asked about.
    Program(Vec<ProgramError>),
    /// Evidence was wrong: a bug.
    Refused(WrongEvidence),
}

/// Whose levels are meant where a level of transactions has two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Those of papers.
    Papers,
    /// Those of `PostgreSQL`.
    Postgres,
}

/// The level of single runs that a level of transactions is.
pub fn isolation(level: TxnLevel, words: Words) -> Isolation {
    let postgres = |name| Isolation::Database(DatabaseLevel::from_name(name).expect("it is a level of PostgreSQL"));
    match level {
        TxnLevel::ReadCommitted => postgres("postgres.rc"),
        TxnLevel::RepeatableRead => postgres("postgres.rr"),
        TxnLevel::SnapshotIsolation => Level::SnapshotIsolation.into(),
        TxnLevel::Serializable if words == Words::Postgres => postgres("postgres.ser"),
        TxnLevel::Serializable => Level::Serializable.into(),
    }
}

/// Decides whether a program keeps its promises whatever number of its transactions runs, at each of the levels.
///
/// ```
/// use iso_answer::any_number::{Answer, Words, any_number};
/// use iso_evidence::Budget;
/// use iso_program::{AnyNumber, TxnLevel};
/// let text = "table t(id in 1..2) { n: int }\ninit { t[1].n = 0; t[2].n = 0 }\n\
///     txn add(k) { t[k].n += 1 }\ninvariant forall r in t: r.n >= 0\n";
/// let asked = AnyNumber::parse(text, "t.txn").unwrap();
/// let levels = [TxnLevel::ReadCommitted];
/// let answer = any_number(&asked, &levels, Words::Postgres, &Budget::unlimited()).unwrap();
/// assert!(matches!(answer.levels[0].1, Answer::Holds(_)));
/// ```
pub fn any_number(
    asked: &AnyNumber,
    levels: &[TxnLevel],
    words: Words,
    budget: &Budget<'_>,
) -> Result<Answered, NoAnswer> {
    let initial = kept(asked, &asked.initial_text(), Vec::new(), budget)?;
    let mut steps = Vec::new();
    for (idx, name) in asked.names().into_iter().enumerate() {
        let kept = kept(asked, &asked.step_text(idx), vec![name.to_owned()], budget)?;
        steps.push((name.to_owned(), kept));
    }
    let text = asked.transactions_text();
    let templates = Templates::parse(&text, asked.program().file()).map_err(NoAnswer::Program)?;
    let mut answered = Answered { initial, steps, levels: Vec::new(), robust: Vec::new(), tried: 0 };
    for level in levels {
        let mut why = answered.not_inductive();
        let certification = robust(&templates, &text, *level, &mut why, budget)?;
        if certification.is_some() || why.iter().any(|it| matches!(it, Why::Split { .. })) {
            answered.robust.push((*level, certification.is_some()));
        }
        if *level != TxnLevel::Serializable {
            why.extend(asked.asserting().into_iter().map(|it| Why::Asserts(it.to_owned())));
        }
        let answer = match (why.is_empty(), certification) {
            (true, Some(certification)) => Answer::Holds(answered.certification(certification)),
            _ => Answer::Unknown(why),
        };
        answered.levels.push((*level, answer));
    }
    search(asked, &mut answered, words, budget)?;
    Ok(answered)
}

/// Does nothing go wrong in the one transaction of this program, or in none?
fn kept(asked: &AnyNumber, text: &str, txns: Vec<String>, budget: &Budget<'_>) -> Result<Kept, NoAnswer> {
    let program = iso_program::parse(text, asked.program().file()).map_err(NoAnswer::Program)?;
    let found = certified_within_limits(&program, Level::Serializable.into(), budget);
    Ok(match found {
        crate::verify::Answer::Violated(violation) => {
            Kept::Broken(Box::new(Run { program, txns, violation: *violation }))
        }
        crate::verify::Answer::Undecided(reason) => Kept::Unknown(reason),
        crate::verify::Answer::Refused(wrong) => return Err(NoAnswer::Refused(wrong)),
        crate::verify::Answer::Holds(_) => match go_through(&program, MAX_CASES) {
            Exhaustive::Fails => {
                let why = "the interpreter finds a case in which it is not kept";
                return Err(NoAnswer::Refused(WrongEvidence::new(&txns.join(", "), &why)));
            }
            Exhaustive::Holds { cases: 0 } => Kept::Nowhere,
            Exhaustive::Holds { .. } => Kept::Always(Certification::Certified),
            Exhaustive::TooMany if !can_run(text, asked.program().file(), budget)? => Kept::Nowhere,
            Exhaustive::TooMany => Kept::Always(Certification::NotCertified { why: BY_SEARCH.to_owned() }),
        },
    })
}

const BY_SEARCH: &str = "that each transaction alone keeps what is claimed rests on the search itself, as there are too many states to go \
     through";

/// Is there any case at all? If so, something that is always false is false in it.
fn can_run(text: &str, file: &str, budget: &Budget<'_>) -> Result<bool, NoAnswer> {
    let program = iso_program::parse(&format!("{text}\ninvariant false\n"), file).map_err(NoAnswer::Program)?;
    let verdict = iso_verify::verify_within_limits(&program, Level::Serializable, budget).verdict;
    Ok(!matches!(verdict, iso_verify::Verdict::Holds))
}

/// Is every run at the level as a serial one? If not, or if nobody knows, that is another reason.
fn robust(
    templates: &Templates,
    text: &str,
    level: TxnLevel,
    why: &mut Vec<Why>,
    budget: &Budget<'_>,
) -> Result<Option<Certification>, NoAnswer> {
    let levels = vec![level; templates.templates().len()];
    match is_robust(templates, &levels, Edges::AndLocks, budget) {
        Err(reason) => {
            why.push(Why::Stopped(reason));
            return Ok(None);
        }
        Ok(Err(danger)) => {
            let split = &danger.members[0];
            let template = &templates.templates()[split.template];
            let access = danger.cycle.first().map_or(0, |it| it.before);
            let span = template.ways[split.way].accesses[access].span;
            why.push(Why::Split { txn: template.name.clone(), line: span.place(text).line });
            return Ok(None);
        }
        Ok(Ok(())) => {}
    }
    match check_robust(text, &levels) {
        Ok(_) => Ok(Some(Certification::Certified)),
        Err(NotRobust::TooLarge) => {
            let why =
                "that all runs are serializable rests on the search itself, as there are too many statements to check";
            Ok(Some(Certification::NotCertified { why: why.to_owned() }))
        }
        Err(NotRobust::Split { template, line }) => {
            let why = format!("{template} can be split after line {line}");
            Err(NoAnswer::Refused(WrongEvidence::new(&level, &why)))
        }
    }
}

impl Answered {
    fn not_inductive(&self) -> Vec<Why> {
        let mut why = Vec::new();
        let initial = std::iter::once(("", &self.initial));
        for (name, kept) in initial.chain(self.steps.iter().map(|it| (it.0.as_str(), &it.1))) {
            match kept {
                Kept::Always(_) => {}
                Kept::Broken(_) => why.push(Why::NotInductive(name.to_owned())),
                Kept::Nowhere => why.push(Why::Nowhere(name.to_owned())),
                Kept::Unknown(reason) => why.push(Why::Stopped(reason.clone())),
            }
        }
        why
    }

    /// Everything was checked by the kernel, or the first thing that was not.
    fn certification(&self, robust: Certification) -> Certification {
        let kept = self.steps.iter().map(|it| &it.1).chain([&self.initial]);
        let all = kept.filter_map(|it| if let Kept::Always(it) = it { Some(it.clone()) } else { None });
        let mut all = all.chain([robust]);
        all.find(|it| !it.is_certified()).unwrap_or(Certification::Certified)
    }
}

/// Looks for a run that breaks a claim at the levels that are open: first the initial state, then more and more transactions.
fn search(asked: &AnyNumber, answered: &mut Answered, words: Words, budget: &Budget<'_>) -> Result<(), NoAnswer> {
    let is_open = |it: &(TxnLevel, Answer)| matches!(it.1, Answer::Unknown(_));
    if !answered.levels.iter().any(is_open) {
        return Ok(());
    }
    if let Kept::Broken(run) = &answered.initial {
        for (_, answer) in &mut answered.levels {
            *answer = Answer::Violated(run.clone());
        }
        return Ok(());
    }
    let mut n_choices = 0;
    for n_txns in 1..=MAX_INSTANCES {
        let choices = choices(asked.names().len(), n_txns);
        n_choices += choices.len();
        if n_choices > MAX_CHOICES && n_txns > 2 {
            break;
        }
        for choice in choices {
            if budget.check().is_err() {
                return Ok(());
            }
            let program =
                iso_program::parse(&asked.run_text(&choice), asked.program().file()).map_err(NoAnswer::Program)?;
            for idx in 0..answered.levels.len() {
                if !is_open(&answered.levels[idx]) {
                    continue;
                }
                let level = isolation(answered.levels[idx].0, words);
                match certified_within_limits(&program, level, budget) {
                    crate::verify::Answer::Violated(violation) => {
                        let txns = choice.iter().map(|it| asked.names()[*it].to_owned()).collect();
                        let run = Run { program: program.clone(), txns, violation: *violation };
                        answered.levels[idx].1 = Answer::Violated(Box::new(run));
                    }
                    crate::verify::Answer::Refused(wrong) => return Err(NoAnswer::Refused(wrong)),
                    crate::verify::Answer::Holds(_) | crate::verify::Answer::Undecided(_) => {}
                }
            }
            if !answered.levels.iter().any(is_open) {
                answered.tried = n_txns;
                return Ok(());
            }
        }
        answered.tried = n_txns;
    }
    Ok(())
}

/// All ways to choose so many of some things, whose order does not matter and each as often as one likes.
fn choices(n_things: usize, n_chosen: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..n_chosen {
        let longer = |it: &Vec<usize>| {
            let from = it.last().copied().unwrap_or(0);
            (from..n_things).map(|next| [&it[..], &[next]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
