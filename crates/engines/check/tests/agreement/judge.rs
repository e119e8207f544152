//! Judges one history in every way there is, and remembers what differs.

use crate::draft::{self, Draft};
use crate::machine;
use crate::meanings::meanings;
use crate::names::wrong_names;
use iso_check::{check_facts, check_levels};
use iso_evidence::{
    Budget, Derivation, Grounds, Proof, Refutation, StopReason, Verdict, certify, certify_derivation, certify_proof,
};
use iso_history::{Facts, History, OpId, Outcome, Projection, TxnId};
use iso_spec::{Catalogue, Evaluation, Level, Prepared, Steps, evaluate};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Questions of the checker to its budget; a history of these sizes needs a few.
const MAX_QUESTIONS: u32 = 5_000;
/// Larger histories with duplicate values may take longer than that.
const MAX_TXNS_OF_SURE_ANSWERS: usize = 20;
/// A history that takes longer hangs: a stage of the checker does not ask its budget.
const PATIENCE: Duration = Duration::from_secs(120);
/// Of so many refutations, one may have a derivation only, and no proof that is short enough to read.
const DERIVED_ONE_IN: usize = 300;
/// Steps of the reference evaluator for one level.
const MAX_STEPS: u64 = 20_000;

/// A way to look at the checker's answers. That they are certified is always asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The catalogue's definition, by the reference evaluator.
    Definition,
    /// The definitions of other frameworks.
    Frameworks,
    /// The definition, for each outcome that indeterminate transactions may have had, and each meaning of what was appended
    /// more than once.
    Outcomes,
    /// The store that runs transactions in every order.
    Machine,
    /// All levels asked at once.
    Together,
    /// Refutations are minimal.
    Minimal,
}

/// Other definitions of the same levels.
const FRAMEWORKS: &[(Level, &str)] = &[
    (Level::ReadAtomic, "cerone.ra"),
    (Level::ReadAtomic, "crooks.ra_so"),
    (Level::CausalConsistency, "cerone.cc"),
    (Level::CausalConsistency, "crooks.cc"),
    (Level::ParallelSnapshotIsolation, "adya.psi_so"),
    (Level::ParallelSnapshotIsolation, "crooks.psi_so"),
    (Level::PrefixConsistency, "cerone.pc"),
    (Level::PrefixConsistency, "adya.pc_so"),
    (Level::SnapshotIsolation, "adya.si_so"),
    (Level::SnapshotIsolation, "crooks.session_si"),
    (Level::SnapshotIsolationNoSession, "adya.gsi"),
    (Level::SerializableNoSession, "adya.pl3"),
    (Level::Serializable, "adya.ser_so"),
    (Level::Serializable, "crooks.ser_so"),
];

/// What was found so far.
#[derive(Debug)]
pub(crate) struct Tally {
    name: &'static str,
    n_histories: usize,
    /// Did a history have times?
    is_timed: bool,
    /// By level: allowed, forbidden, and how often the reference (of large histories the checker or its
    /// certifier) did not know.
    counts: BTreeMap<Level, [usize; 3]>,
    /// By two levels of which the first implies the second: how often only the second holds.
    apart: BTreeMap<(Level, Level), usize>,
    /// How many refutations there were that need a proof, and how many have none.
    proofs: [usize; 2],
    findings: BTreeMap<String, Finding>,
}

/// Something that is wrong, with the smallest history that shows it.
#[derive(Debug)]
struct Finding {
    n_times: usize,
    size: usize,
    history: String,
}

/// The answers of the checker to one history, and what is wrong with them.
#[derive(Debug, Default)]
struct Answers {
    is_allowed: BTreeMap<Level, bool>,
    unknown: Vec<Level>,
    /// With a proof, and without.
    proofs: [usize; 2],
    wrong: Vec<String>,
}

impl Tally {
    pub(crate) fn new(name: &'static str) -> Self {
        let counts = Level::ALL.into_iter().map(|it| (it, [0; 3])).collect();
        let pairs = Level::ALL.into_iter().flat_map(|it| it.implied().iter().map(move |weaker| (it, *weaker)));
        let apart = pairs.map(|it| (it, 0)).collect();
        Self { name, n_histories: 0, is_timed: false, counts, apart, proofs: [0; 2], findings: BTreeMap::new() }
    }

    /// Judges a history at every level. Gives which levels allow it, as far as known.
    pub(crate) fn judge(&mut self, draft: &Draft, tests: &'static [Test]) -> BTreeMap<Level, bool> {
        self.n_histories += 1;
        self.is_timed |= draft.build().has_real_time();
        let answers = judge_patiently(draft, tests);
        for (level, is_allowed) in &answers.is_allowed {
            self.counts.get_mut(level).unwrap()[usize::from(!is_allowed)] += 1;
        }
        for level in &answers.unknown {
            self.counts.get_mut(level).unwrap()[2] += 1;
        }
        for (all, of_one) in self.proofs.iter_mut().zip(answers.proofs) {
            *all += of_one;
        }
        for ((stronger, weaker), count) in &mut self.apart {
            let of = |it: &Level| answers.is_allowed.get(it).copied();
            *count += usize::from(of(stronger) == Some(false) && of(weaker) == Some(true));
        }
        for wrong in answers.wrong {
            let is_new = !self.findings.contains_key(&wrong) && draft.txns.len() <= MAX_TXNS_OF_SURE_ANSWERS;
            let smaller = is_new.then(|| shrink(draft, |it| judge_patiently(it, tests).wrong.contains(&wrong)));
            self.note(wrong, smaller.as_ref().unwrap_or(draft));
        }
        answers.is_allowed
    }

    /// Notes something wrong with a history.
    pub(crate) fn note(&mut self, what: String, draft: &Draft) {
        let size = draft.txns.len() * 4 + draft.n_actions();
        let finding =
            self.findings.entry(what).or_insert(Finding { n_times: 0, size: usize::MAX, history: String::new() });
        finding.n_times += 1;
        if size < finding.size {
            finding.size = size;
            finding.history = draft.to_string();
        }
    }

    /// Fails if something was wrong, or too little known.
    pub(crate) fn finish(&self) {
        println!("{}", self.summary());
        let mut text = String::new();
        for (what, finding) in &self.findings {
            write!(text, "\n{what} ({} times)\n{}", finding.n_times, finding.history).unwrap();
        }
        assert!(text.is_empty(), "{} (ISOSCOPE_SEED={}):\n{text}", self.name, crate::seed());
        let n_unknown: usize = self.counts.values().map(|it| it[2]).sum();
        assert!(n_unknown * 30 <= self.n_histories * Level::ALL.len(), "too little is known: {n_unknown}");
        let [proved, derived] = self.proofs;
        let is_rare = derived <= 1 + proved / DERIVED_ONE_IN;
        assert!(is_rare, "{derived} refutations have no proof but a derivation, and {proved} have a proof");
    }

    /// Fails unless each level allowed and forbade one history in so many.
    pub(crate) fn assert_both_sides(&self, one_in: usize) {
        for (level, [allowed, forbidden, _]) in &self.counts {
            if level.needs_times() && !self.is_timed {
                continue;
            }
            let is_often = allowed.min(forbidden) * one_in >= self.n_histories;
            assert!(is_often, "{}: {level}: {allowed} allowed, {forbidden} forbidden", self.name);
        }
    }

    /// Fails unless of each two levels, one history in so many satisfies only the weaker one.
    pub(crate) fn assert_apart(&self, one_in: usize) {
        // Session order contradicts writes only where lists show their order.
        let needs_lists = (Level::ReadUncommitted, Level::AdyaReadUncommitted);
        // Only inserts of rows tell these apart; the histories of scans and updates have them.
        let needs_rows = (Level::SnapshotIsolation, Level::RowSnapshots);
        for ((stronger, weaker), count) in self.apart.iter().filter(|it| ![needs_lists, needs_rows].contains(it.0)) {
            let is_often = count * one_in >= self.n_histories;
            assert!(is_often, "{}: {weaker} and not {stronger}: {count} times", self.name);
        }
    }

    fn summary(&self) -> String {
        let mut text = format!("{}: {} histories; allowed/forbidden", self.name, self.n_histories);
        for (level, [allowed, forbidden, unknown]) in &self.counts {
            write!(text, " {level} {allowed}/{forbidden}").unwrap();
            if *unknown > 0 {
                write!(text, " (unknown {unknown})").unwrap();
            }
        }
        write!(text, "; proved {}, derived only {}", self.proofs[0], self.proofs[1]).unwrap();
        text += "; only the weaker holds:";
        for ((stronger, weaker), count) in &self.apart {
            write!(text, " {weaker}-{stronger} {count}").unwrap();
        }
        text
    }
}

/// Judges a history in a thread of its own, which may panic or hang.
fn judge_patiently(draft: &Draft, tests: &'static [Test]) -> Answers {
    let (sender, receiver) = mpsc::channel();
    let copy = draft.clone();
    thread::spawn(move || {
        let answers = catch_unwind(|| judge(&copy, tests)).unwrap_or_else(|panic| {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|it| (*it).to_owned()));
            Answers { wrong: vec![format!("panics: {}", message.unwrap_or_default())], ..Answers::default() }
        });
        sender.send(answers).ok();
    });
    receiver
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| panic!("the checker hangs (ISOSCOPE_SEED={}):\n{draft}", crate::seed()))
}

/// A smaller history of which the same is true: without transactions, actions, times and doubts that it does not need.
fn shrink(draft: &Draft, is_wrong: impl Fn(&Draft) -> bool) -> Draft {
    const MAX_TRIES: usize = 400;
    let mut smallest = draft.clone();
    let mut n_tries = 0;
    while let Some(smaller) = draft::smaller(&smallest)
        .into_iter()
        .take_while(|_| {
            n_tries += 1;
            n_tries < MAX_TRIES
        })
        .find(&is_wrong)
    {
        smallest = smaller;
    }
    smallest
}

/// What is left of the budget of a large history may be too little for a proof. Lists with several meanings have none, and
/// neither have pieces of transactions.
fn has_short_proofs(draft: &Draft, facts: &Facts<'_>, level: Level) -> bool {
    draft.txns.len() <= MAX_TXNS_OF_SURE_ANSWERS && facts.ambiguous_list().is_none() && level.snapshots().is_none()
}

fn judge(draft: &Draft, tests: &[Test]) -> Answers {
    let history = draft.build();
    let facts = Facts::new(&history);
    let prepared = tests.contains(&Test::Definition).then(|| Prepared::new(&facts));
    let mut answers = Answers::default();
    let mut refutations = Vec::new();
    for level in Level::ALL {
        let verdict = ask(&facts, level);
        answers.evidence(&history, level, &verdict, "");
        if let Verdict::Forbidden(refutation) = &verdict
            && refutation.local.is_none()
        {
            answers.count_proofs(draft, &facts, level, refutation);
            refutations.push((level, refutation.clone()));
        }
        let Some(is_allowed) = is_allowed(&verdict) else {
            match verdict {
                // No core shows that each meaning is forbidden, nor that an appender is taken as rolled back.
                Verdict::Unknown(StopReason::Unsupported(why)) if is_about_meanings(&facts, &why) => {
                    answers.unknown.push(level);
                }
                Verdict::Unknown(StopReason::Unsupported(_)) if level.needs_times() && !history.has_real_time() => {
                    // What holds without times is not known with them.
                    let without_times = answers.is_allowed.get(&level.without_times()).copied();
                    answers.differ(level, true, without_times, "without times");
                }
                Verdict::Unknown(StopReason::Steps) if draft.txns.len() > MAX_TXNS_OF_SURE_ANSWERS => {
                    answers.unknown.push(level);
                }
                _ => answers.wrong.push(format!("{level}: check does not know: {verdict:?}")),
            }
            continue;
        };
        answers.is_allowed.insert(level, is_allowed);
        if let Some(prepared) = &prepared {
            let answer = prepared.evaluate(Catalogue::builtin().of(level), &mut Steps::new(MAX_STEPS));
            answers.compare(level, is_allowed, &answer, "the definition");
        }
        if tests.contains(&Test::Outcomes) {
            answers.compare_outcomes(draft, level, is_allowed);
        }
        if tests.contains(&Test::Machine) {
            answers.differ(level, is_allowed, machine::allows(draft, level), "the machine");
        }
        if let (Verdict::Forbidden(refutation), true) = (&verdict, tests.contains(&Test::Minimal)) {
            // It is minimal at the weakest level that forbids it, which its proof names.
            let weakest = refutation.proof.as_ref().map_or(level, |it| it.level);
            match level.with_sessions() {
                Some(_) => answers.minimal(&Facts::new(&history.without_sessions()), weakest, refutation),
                None => answers.minimal(&facts, weakest, refutation),
            }
        }
    }
    if let (Some(prepared), true) = (&prepared, tests.contains(&Test::Frameworks)) {
        for (level, name) in FRAMEWORKS {
            let Some(is_allowed) = answers.is_allowed.get(level).copied() else { continue };
            let spec = Catalogue::builtin().find(name).unwrap();
            answers.compare(*level, is_allowed, &prepared.evaluate(spec, &mut Steps::new(MAX_STEPS)), name);
        }
    }
    if tests.contains(&Test::Together) {
        answers.together(&history, &facts);
    }
    answers.follow_the_lattice();
    answers.prove_nothing_else(&facts, &refutations);
    answers.wrong.extend(wrong_names(&facts, &refutations));
    answers
}

fn ask(facts: &Facts<'_>, level: Level) -> Verdict {
    let (n_questions, n_to_explain) = (Cell::new(0), Cell::new(0));
    let (stop, stop_explaining) = (|| limit(&n_questions), || limit(&n_to_explain));
    check_facts(facts, level, &Budget::new(&stop).explained_until(&stop_explaining))
}

fn limit(n_questions: &Cell<u32>) -> Option<StopReason> {
    n_questions.set(n_questions.get() + 1);
    (n_questions.get() > MAX_QUESTIONS).then_some(StopReason::Steps)
}

fn is_allowed(verdict: &Verdict) -> Option<bool> {
    match verdict {
        Verdict::Allowed(_) => Some(true),
        Verdict::Forbidden(_) => Some(false),
        Verdict::Unknown(_) => None,
    }
}

impl Answers {
    fn evidence(&mut self, history: &History, level: Level, verdict: &Verdict, how: &str) {
        let Err(why) = certify(history, level, verdict) else { return };
        let is_large = history.txns().count() > MAX_TXNS_OF_SURE_ANSWERS;
        if is_large && why.reason.contains("too large to be checked") {
            self.unknown.push(level);
            return;
        }
        let kind = if matches!(verdict, Verdict::Allowed(_)) { "witness" } else { "refutation" };
        self.wrong.push(format!("{level}: the {kind}{how} is not certified: {}", without_names(&why.reason)));
    }

    fn count_proofs(&mut self, draft: &Draft, facts: &Facts<'_>, level: Level, refutation: &Refutation) {
        // What is left of the budget of a large history may be too little.
        // Neither has a list with several meanings one.
        let is_plain = has_short_proofs(draft, facts, level);
        let is_due = refutation.proof.is_some() || is_plain;
        self.proofs[usize::from(refutation.proof.is_none())] += usize::from(is_due);
        if is_plain && refutation.proof.is_none() && refutation.grounds.is_none() {
            self.wrong.push(format!("{level}: a refutation has neither a proof nor a derivation"));
        }
    }

    fn compare(&mut self, level: Level, is_allowed: bool, answer: &Evaluation, who: &str) {
        match answer.is_allowed() {
            Some(expected) => self.differ(level, is_allowed, Some(expected), who),
            None => self.unknown.push(level),
        }
    }

    fn differ(&mut self, level: Level, is_allowed: bool, expected: Option<bool>, who: &str) {
        if expected.is_some_and(|it| it != is_allowed) {
            let word = |it: bool| if it { "allows" } else { "forbids" };
            self.wrong.push(format!("{level}: check {}, {who} {}", word(is_allowed), word(!is_allowed)));
        }
    }

    /// A history is allowed if it is for some outcome of each indeterminate transaction, and some meaning of its lists.
    fn compare_outcomes(&mut self, draft: &Draft, level: Level, is_allowed: bool) {
        let indeterminate: Vec<usize> =
            (0..draft.txns.len()).filter(|it| draft.txns[*it].outcome == Outcome::Indeterminate).collect();
        let Some(meanings) = meanings(draft) else { return };
        if level == Level::AdyaReadUncommitted || (indeterminate.is_empty() && meanings.len() == 1) {
            return;
        }
        let mut any = Some(false);
        // If dirty reads are allowed, whoever aborted asks for least.
        let n_open = if level == Level::ReadUncommitted { 0 } else { indeterminate.len() };
        let outcomes = (0..1u32 << n_open).flat_map(|it| meanings.iter().map(move |draft| (it, draft)));
        for (subset, draft) in outcomes {
            let mut decided = draft.clone();
            for (nth, idx) in indeterminate.iter().enumerate() {
                let txn = &mut decided.txns[*idx];
                let has_committed = subset >> nth & 1 == 1;
                txn.outcome = if has_committed { Outcome::Committed } else { Outcome::Aborted };
                txn.end = None;
            }
            let history = decided.build();
            let answer = evaluate(&Facts::new(&history), Catalogue::builtin().of(level), &mut Steps::new(MAX_STEPS));
            match answer.is_allowed() {
                Some(true) => any = Some(true),
                Some(false) => {}
                None if any == Some(true) => {}
                None => any = None,
            }
            if any == Some(true) {
                break;
            }
        }
        self.differ(level, is_allowed, any, "the definition over outcomes");
    }

    /// Without any of its transactions or operations, the core of a refutation is allowed.
    fn minimal(&mut self, facts: &Facts<'_>, level: Level, refutation: &Refutation) {
        let history = facts.history();
        // A core with reads that may be dirty ones has those who aborted, and is a part of another kind.
        let has_aborted = refutation.txns.iter().any(|it| history.outcome(*it) != Outcome::Committed);
        if refutation.local.is_some() || (level == Level::ReadUncommitted && has_aborted) {
            return;
        }
        let of_core = refutation.txns.iter().flat_map(|it| history.ops(*it));
        let without: BTreeSet<OpId> = of_core.filter(|it| refutation.ops.binary_search(it).is_err()).collect();
        let still_forbidden = |txns: &[TxnId], without: &BTreeSet<OpId>| {
            let core = Projection::new(facts, txns, without);
            let facts = Facts::new(&core.history);
            let answer = evaluate(&facts, Catalogue::builtin().of(level), &mut Steps::new(MAX_STEPS));
            answer.is_allowed() == Some(false)
        };
        if !still_forbidden(&refutation.txns, &without) {
            self.wrong.push(format!("{level}: the core of a refutation is allowed"));
        }
        for gone in &refutation.txns {
            let fewer: Vec<TxnId> = refutation.txns.iter().copied().filter(|it| it != gone).collect();
            if still_forbidden(&fewer, &without) {
                self.wrong.push(format!("{level}: the core of a refutation has a transaction too many"));
                return;
            }
        }
        for op in &refutation.ops {
            let mut without = without.clone();
            without.insert(*op);
            if still_forbidden(&refutation.txns, &without) {
                self.wrong.push(format!("{level}: the core of a refutation has an operation too many"));
                return;
            }
        }
    }

    fn together(&mut self, history: &History, facts: &Facts<'_>) {
        let n_questions = Cell::new(0);
        let stop = || limit(&n_questions);
        for answer in check_levels(facts, &Level::ALL, &Budget::new(&stop), &mut |_, _| n_questions.set(0)) {
            let level = answer.level;
            self.evidence(history, level, &answer.verdict, " of levels asked together");
            let alone = self.is_allowed.get(&level).copied();
            // What is not known alone may follow from another level.
            if alone.is_some() && is_allowed(&answer.verdict).is_some_and(|it| Some(it) != alone) {
                self.wrong.push(format!("{level}: asked together with others, the answer is another one"));
            }
        }
    }

    /// No proof is accepted for a level that allows the history, and no derivation.
    fn prove_nothing_else(&mut self, facts: &Facts<'_>, refutations: &[(Level, Refutation)]) {
        for (level, _) in self.is_allowed.clone().into_iter().filter(|it| it.1) {
            for (_, refutation) in refutations {
                let grounds = refutation.grounds.as_deref();
                let derivation = grounds.and_then(|it| if let Grounds::Derivation(it) = it { Some(it) } else { None });
                let derived = derivation.map(|it| Derivation { level, ..it.clone() });
                if derived.is_some_and(|it| certify_derivation(facts, level, &it).is_ok()) {
                    self.wrong.push(format!("{level}: allows the history, and it is derived that it is forbidden"));
                }
                let Some(proof) = &refutation.proof else { continue };
                let proof = Some(Box::new(Proof { level, contradiction: proof.contradiction.clone() }));
                if certify_proof(facts, level, &Refutation { proof, ..refutation.clone() }).is_ok() {
                    self.wrong.push(format!("{level}: allows the history, and has a proof that it is forbidden"));
                }
            }
        }
    }

    fn follow_the_lattice(&mut self) {
        for (level, is_allowed) in self.is_allowed.clone() {
            for weaker in level.implied() {
                if is_allowed && self.is_allowed.get(weaker) == Some(&false) {
                    self.wrong.push(format!("{level} is allowed and {weaker}, which it implies, is not"));
                }
            }
        }
    }
}

/// A reason without the names of transactions, so that equal mistakes count as one.
fn without_names(reason: &str) -> String {
    let is_name = |it: &str| {
        let is_txn = it.contains('.') && it.starts_with('s');
        is_txn || it.contains('(') || it.parse::<i64>().is_ok()
    };
    reason.split(' ').map(|it| if is_name(it) { "_" } else { it }).collect::<Vec<_>>().join(" ")
}

fn is_about_meanings(facts: &Facts<'_>, why: &str) -> bool {
    facts.ambiguous_list().is_some() || why.contains("unknown outcome and by another one")
}
