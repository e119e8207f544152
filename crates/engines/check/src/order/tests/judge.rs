//! Compares the fast path with the simple one, and checks the evidence of each answer.

use crate::check_facts;
use crate::decide::decide;
use crate::decision::Decision;
use crate::local::refute_by_one_read;
use crate::simple::decide_by_search;
use crate::test_store::{self, Manner, Random};
use iso_evidence::{Budget, Note, Quantity, Stage, StopReason, Verdict, certify_facts};
use iso_history::{Facts, History, Projection, TxnId};
use iso_spec::Level;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const LEVELS: [Level; 7] = [
    Level::UpdateAtomic,
    Level::ParallelSnapshotIsolation,
    Level::PrefixConsistency,
    Level::SnapshotIsolation,
    Level::Serializable,
    Level::StrongSnapshotIsolation,
    Level::StrictSerializable,
];

/// How often either path may ask whether to go on.
const MAX_QUESTIONS: usize = 20_000;

/// Explanations take longest: so many forbidden histories have one.
const EXPLAINED_ONE_IN: usize = 4;

/// What came out.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// How often a level allowed and forbade.
    verdicts: BTreeMap<Level, [usize; 2]>,
    n_repairs: usize,
    n_searches: usize,
    /// Searches of more than one round, and those with reads of several possible writers.
    n_long_searches: usize,
    pub(super) n_open_searches: usize,
    /// The fast path had no answer, or did not find it in time.
    n_without_answer: usize,
    /// The simple path did not find it in time.
    n_not_compared: usize,
    /// The refutation is too large to be certified.
    n_too_large: usize,
}

/// What was done to decide a level.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) stages: Vec<Stage>,
    /// Calls of the solver.
    n_rounds: usize,
    pub(super) n_questions: usize,
}

/// Runs something that may ask so often whether to go on, and listens.
pub(super) fn run_for<T>(max_questions: usize, run: impl FnOnce(&Budget<'_>) -> T) -> (T, Work) {
    let n_questions = Cell::new(0);
    let stop = || {
        n_questions.set(n_questions.get() + 1);
        (n_questions.get() > max_questions).then_some(StopReason::Steps)
    };
    let work = RefCell::new(Work::default());
    let hear = |note: Note| match note {
        Note::Begins(stage) => work.borrow_mut().stages.push(stage),
        Note::Counted(Quantity::Variables, _) => work.borrow_mut().n_rounds += 1,
        Note::Counted(..) | Note::Reached { .. } => {}
    };
    let result = run(&Budget::new(&stop).heard_by(&hear));
    let work = work.take();
    (result, Work { n_questions: n_questions.get(), ..work })
}

/// Judges random histories: `few` of them, unless more are asked for.
pub(super) fn judge_many(name: &str, few: usize, salt: u64, manner: impl Fn(&mut Random) -> Manner) -> Tally {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<usize>().ok());
    let seed = number("ISOSCOPE_SEED").unwrap_or(0) as u64;
    let mut tally = Tally::default();
    for case in 0..number("ISOSCOPE_CASES").unwrap_or(few) as u64 {
        let seed = seed.wrapping_mul(16).wrapping_add(salt).wrapping_mul(1_000_000).wrapping_add(case);
        let mut random = Random::new(seed);
        let manner = manner(&mut random);
        let what = format!("{name}, seed {seed}, {manner:?}");
        let history = test_store::run(&mut random, manner);
        for level in LEVELS {
            tally.judge(&history, level, &what);
        }
    }
    tally
}

impl Tally {
    fn judge(&mut self, history: &History, level: Level, what: &str) {
        let facts = Facts::new(history);
        let has_no_times = level.needs_times() && !history.has_real_time();
        // Below prefix consistency, an order does not say who each read saw.
        let is_weak = matches!(level, Level::UpdateAtomic | Level::ParallelSnapshotIsolation);
        let is_other_question = has_no_times || (is_weak && facts.has_ambiguous_reads());
        if is_other_question || refute_by_one_read(&facts, level).is_some() || facts.ambiguous_list().is_some() {
            return;
        }
        let (fast, work) = run_for(MAX_QUESTIONS, |budget| decide(&facts, level, budget));
        let (Ok(fast), false) = (fast, work.stages.contains(&Stage::Saturation)) else {
            self.n_without_answer += 1;
            return;
        };
        self.count(level, &fast, &work);
        let is_allowed = matches!(fast, Decision::Allowed(_));
        match run_for(MAX_QUESTIONS, |budget| decide_by_search(&facts, level, budget)).0 {
            Ok(simple) => assert_eq!(is_allowed, matches!(simple, Decision::Allowed(_)), "{level} of {what}"),
            Err(_) => self.n_not_compared += 1,
        }
        match fast {
            Decision::Allowed(witness) => {
                assert_eq!(certify_facts(&facts, level, &Verdict::Allowed(witness)), Ok(()), "{level} of {what}");
            }
            Decision::Forbidden(core) => {
                assert!(self.is_forbidden_alone(&facts, level, &core), "{level} of {what}: {core:?}");
                if self.n_forbidden().is_multiple_of(EXPLAINED_ONE_IN) {
                    let verdict = check_facts(&facts, level, &Budget::unlimited());
                    assert!(matches!(verdict, Verdict::Forbidden(_)), "{level} of {what}");
                    match certify_facts(&facts, level, &verdict) {
                        Err(uncertified) if uncertified.is_too_large => self.n_too_large += 1,
                        certified => assert_eq!(certified, Ok(()), "{level} of {what}"),
                    }
                }
            }
        }
    }

    fn count(&mut self, level: Level, decision: &Decision, work: &Work) {
        let is_forbidden = matches!(decision, Decision::Forbidden(_));
        self.verdicts.entry(level).or_default()[usize::from(is_forbidden)] += 1;
        let has = |stage: Stage| usize::from(work.stages.contains(&stage));
        self.n_repairs += has(Stage::Repair);
        self.n_searches += has(Stage::Search);
        self.n_long_searches += usize::from(work.n_rounds > 1);
        self.n_open_searches += has(Stage::Sources) * has(Stage::Search);
    }

    fn n_forbidden(&self) -> usize {
        self.verdicts.values().map(|it| it[1]).sum()
    }

    /// Is the core forbidden by itself?
    fn is_forbidden_alone(&mut self, facts: &Facts<'_>, level: Level, core: &[TxnId]) -> bool {
        let part = Projection::new(facts, core, &BTreeSet::new());
        let part = Facts::new(&part.history);
        let decision = run_for(MAX_QUESTIONS, |budget| decide_by_search(&part, level, budget)).0;
        self.n_not_compared += usize::from(decision.is_err());
        !matches!(decision, Ok(Decision::Allowed(_)))
    }

    /// Every level allowed and forbade so often, and nearly always both paths had an answer.
    pub(super) fn assert_both_sides(&self, at_least: usize) {
        for (level, counts) in &self.verdicts {
            assert!(counts.iter().all(|it| *it >= at_least), "{level}: {self:?}");
        }
        let n_all: usize = self.verdicts.values().flatten().sum();
        assert!(self.n_without_answer + self.n_not_compared <= n_all / 25, "{self:?}");
        assert!(self.n_too_large <= self.n_forbidden() / (25 * EXPLAINED_ONE_IN), "{self:?}");
    }

    /// Orders were repaired, searched for, and searched for in several rounds so often.
    pub(super) fn assert_stages(&self, at_least: usize) {
        let counts = [self.n_repairs, self.n_searches, self.n_long_searches];
        assert!(counts.iter().all(|it| *it >= at_least), "{self:?}");
    }
}
