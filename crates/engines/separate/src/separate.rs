//! One history for a question: the smallest, or one of an exact size.

use crate::draft::{Draft, Returned};
use crate::question::{Aspects, Lists, Method, Question, Rereads, Scope, Sessions, Size, StatementsWanted};
use crate::search::{CandidateSearch, Effort, Forms, Model};
use crate::sketch::at_most;
use crate::statements::{Statements, cells};
use crate::translate::WitnessValue;
use crate::witness::SpecWitness;
use iso_evidence::{Budget, Note, StopReason};
use iso_form::mentions;
use iso_history::{Facts, History, KeyId, OpId, TxnId};
use iso_solve::Wire;
use iso_spec::{Catalogue, Execution, Given, HiddenRows, NamedRelation, Spec};

/// The answer to a question, and what it took.
#[derive(Clone, Debug)]
pub struct Separation {
    /// The answer.
    pub answer: Answer,
    /// What was varied.
    pub aspects: Aspects,
    /// What it took.
    pub effort: Effort,
}

/// Is there such a history?
#[derive(Clone, Debug)]
pub enum Answer {
    /// Yes, this one.
    Found(Box<Found>),
    /// Not within the scope.
    None,
    /// The limit was reached first.
    Unknown(StopReason),
}

impl Answer {
    /// The history, if there is one.
    pub fn found(self) -> Option<Box<Found>> {
        match self {
            Self::Found(found) => Some(found),
            Self::None | Self::Unknown(_) => None,
        }
    }
}

/// A history that all allowed specs allow and all forbidden ones forbid.
#[derive(Clone, Debug)]
pub struct Found {
    /// The history.
    pub history: History,
    /// Session order, if it is no union of chains; then the sessions of the history do not say it.
    pub session_order: Option<Vec<(TxnId, TxnId)>>,
    /// How each allowed spec explains it, in the order of the question.
    pub executions: Vec<Execution>,
}

impl Found {
    /// Transactions, without the initial one.
    pub fn n_txns(&self) -> usize {
        self.history.n_txns() - 1
    }
}

/// Looks for a history that all of some specs allow and all of others forbid.
pub fn separate(question: &Question<'_>, budget: &Budget<'_>) -> Separation {
    let forms = Forms::new(&question.allowed, &question.forbidden);
    let mut search =
        QuestionSearch { forms: &forms, question, budget, aspects: Aspects::default(), effort: Effort::default() };
    let answer = match search.run() {
        Ok(Some(found)) => Answer::Found(Box::new(found)),
        Ok(None) => Answer::None,
        Err(reason) => Answer::Unknown(reason),
    };
    Separation { answer, aspects: search.aspects, effort: search.effort }
}

/// Up to this many transactions the fewest operations are counted; with more, none can be left out.
const MAX_COUNTED: usize = 6;

/// Most questions that have an answer have one of this size.
const MAX_PADDED: usize = 4;

/// The work on one question.
pub(crate) struct QuestionSearch<'q, 's> {
    pub(crate) forms: &'q Forms<'s>,
    pub(crate) question: &'q Question<'s>,
    pub(crate) budget: &'q Budget<'q>,
    pub(crate) aspects: Aspects,
    pub(crate) effort: Effort,
}

impl<'q, 's> QuestionSearch<'q, 's> {
    fn run(&mut self) -> Result<Option<Found>, StopReason> {
        self.aspects = self.aspects_of_question()?;
        let exact = self.question.scope.size == Size::Exactly;
        for n_txns in self.sizes() {
            self.budget.check()?;
            self.budget.note(Note::Reached { n_done: n_txns - 1, of: self.question.scope.txns });
            let mut search = self.search(n_txns);
            let found = Self::smallest(&mut search);
            self.add(&search);
            let Some(model) = found? else { continue };
            if !exact || n_txns == self.question.scope.txns {
                return Ok(Some(found_history(&search, &model)));
            }
            if let Some(found) = self.padded(&model.draft)? {
                return Ok(Some(found));
            }
        }
        match self.question.scope.lists {
            Lists::Few(at_most) if !exact => self.among_lists(at_most),
            _ => Ok(None),
        }
    }

    /// A history with a list, where registers show nothing.
    fn among_lists(&mut self, at_most: usize) -> Result<Option<Found>, StopReason> {
        let mut all = self.question.allowed.iter().chain(&self.question.forbidden);
        if !all.all(|it| mentions(it, Given::Listed)) {
            return Ok(None);
        }
        let scope = Scope { keys: 1, ..self.question.scope };
        let of_lists = Aspects { lists: true, statements: Statements::default(), scans: 0, ..self.aspects };
        self.aspects.lists = true;
        let n_sizes = self.question.scope.txns.min(at_most);
        for n_txns in 1..=n_sizes {
            self.budget.note(Note::Reached { n_done: n_txns - 1, of: n_sizes });
            let mut search =
                CandidateSearch::new(self.forms, &scope, n_txns, of_lists, self.question.method, self.budget);
            search.begin();
            let found = Self::smallest(&mut search);
            self.add(&search);
            if let Some(model) = found? {
                return Ok(Some(found_history(&search, &model)));
            }
        }
        Ok(None)
    }

    /// The numbers of transactions to look at. For an exact one few of the smaller ones are worth it: what they have is
    /// padded, which is quicker than a search, and otherwise the last one decides alone.
    fn sizes(&self) -> impl Iterator<Item = usize> + use<> {
        let (last, is_exact) = (self.question.scope.txns, self.question.scope.size == Size::Exactly);
        (1..=last).filter(move |it| !is_exact || *it <= MAX_PADDED || *it == last)
    }

    pub(crate) fn search(&self, n_txns: usize) -> CandidateSearch<'q, 's> {
        let mut search = self.bare_search(n_txns);
        search.begin();
        search
    }

    /// A search that learns from candidates only.
    fn bare_search(&self, n_txns: usize) -> CandidateSearch<'q, 's> {
        CandidateSearch::new(self.forms, &self.question.scope, n_txns, self.aspects, self.question.method, self.budget)
    }

    pub(crate) fn add(&mut self, search: &CandidateSearch<'_, '_>) {
        self.effort.add(&search.effort());
    }

    /// What matters to the specs of the question.
    pub(crate) fn aspects_of_question(&self) -> Result<Aspects, StopReason> {
        let all = || self.question.allowed.iter().chain(&self.question.forbidden);
        let any = |given: &[Given]| all().any(|it| given.iter().any(|given| mentions(it, *given)));
        let statements = self.statements_of_question();
        let tells_omissions = any(&[Given::Omits, Given::Newest, Given::Locks]);
        let aspects = Aspects {
            read_order: any(&[Given::ProgramOrder]) || statements.several_reads,
            real_time: any(&[Given::RealTime]),
            rereads: false,
            statements,
            scans: self.question.scope.scans.unwrap_or(usize::from(tells_omissions)),
            lists: false,
        };
        let rereads = match self.question.scope.rereads {
            Rereads::Yes => true,
            Rereads::No => false,
            Rereads::IfAllowed => self.allows_rereads(aspects)?,
        };
        Ok(Aspects { rereads, ..aspects })
    }

    /// Which statements matter to the specs of the question.
    fn statements_of_question(&self) -> Statements {
        if self.question.scope.statements == StatementsWanted::No {
            return Statements::default();
        }
        let all = || self.question.allowed.iter().chain(&self.question.forbidden);
        let any = |given: &[Given]| all().any(|it| given.iter().any(|given| mentions(it, *given)));
        // Sessions that are no chains have no numbers, by which those that hide rows are told apart.
        let has_sessions = matches!(self.question.scope.sessions, Sessions::Chains { .. });
        Statements {
            several_reads: any(&[Given::Statement]),
            locks: any(&[Given::Locks, Given::Newest]),
            absent_rows: any(&[Given::Inserts, Given::Makes]),
            hidden_rows: has_sessions && all().any(|it| it.hidden_rows() == HiddenRows::Allowed),
        }
    }

    /// Do the allowed specs allow that some transaction reads a key twice and sees two versions?
    ///
    /// Of a level of the catalogue, one reader and two writers show it: what else a history has only forbids more. Levels
    /// of users may need more to allow anything at all.
    fn allows_rereads(&self, aspects: Aspects) -> Result<bool, StopReason> {
        let scope = self.question.scope;
        if self.rereads_in(&Scope { keys: 1, values: 4, ..scope }, 3, aspects)? {
            return Ok(true);
        }
        let catalogue = Catalogue::builtin();
        let is_known = |spec: &&Spec| catalogue.find(spec.name()).is_ok_and(|it| std::ptr::eq(it, *spec));
        if self.question.allowed.iter().all(is_known) {
            return Ok(false);
        }
        for n_txns in 1..=scope.txns {
            if self.rereads_in(&scope, n_txns, aspects)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Does an allowed history of this size have such a transaction?
    fn rereads_in(&self, scope: &Scope, n_txns: usize, aspects: Aspects) -> Result<bool, StopReason> {
        let forms = Forms::new(&self.question.allowed, &[]);
        let aspects = Aspects { rereads: true, ..aspects };
        let mut search = CandidateSearch::new(&forms, scope, n_txns, aspects, Method::default(), self.budget);
        let sketch = search.sketch();
        let second: Vec<Wire> =
            (0..sketch.slots.len()).filter(|it| sketch.slots[*it].copy == 1).map(|it| sketch.active[it]).collect();
        let any = search.parts().1.or(second);
        search.assert(any);
        Ok(search.find(&[])?.is_some())
    }

    /// A history with as few keys, and then operations and session steps, as possible.
    fn smallest(search: &mut CandidateSearch<'_, '_>) -> Result<Option<Model>, StopReason> {
        let Some(mut model) = search.find(&[])? else { return Ok(None) };
        let used = search.sketch().used.clone();
        let unused = |n_keys: usize| -> Vec<Wire> { used[n_keys..].iter().map(|it| !*it).collect() };
        for n_keys in 1..model.draft.keys().len() {
            if let Some(smaller) = search.find(&unused(n_keys))? {
                model = smaller;
                break;
            }
        }
        model = Self::fewest(search, model)?;
        if search.sketch().n_txns > MAX_COUNTED + 1 {
            return Ok(Some(model));
        }
        let mut assumed = unused(model.draft.keys().len());
        let marks = marks(search);
        if !marks.is_empty() {
            model = Self::fewest_of(search, model, &marks, Draft::n_marks, &mut assumed)?;
        }
        model = Self::fewest_of(search, model, &operations(search), Draft::n_operations, &mut assumed)?;
        let facts = [operations(search), order_steps(search)].concat();
        Self::fewest_of(search, model, &facts, Draft::n_facts, &mut assumed).map(Some)
    }

    /// A history with the fewest of these things, among those for which all is true that is assumed; that there are no
    /// more of them is assumed from then on.
    fn fewest_of(
        search: &mut CandidateSearch<'_, '_>,
        mut model: Model,
        things: &[Wire],
        count: impl Fn(&Draft) -> usize,
        assumed: &mut Vec<Wire>,
    ) -> Result<Model, StopReason> {
        loop {
            let n_things = count(&model.draft);
            let fewer = at_most(search.parts().1, things, n_things.saturating_sub(1));
            let smaller = if n_things == 0 { None } else { search.find(&[&assumed[..], &[fewer]].concat())? };
            let Some(smaller) = smaller else {
                let no_more = at_most(search.parts().1, things, n_things);
                assumed.push(no_more);
                return Ok(model);
            };
            model = smaller;
        }
    }

    /// Leaves out what can be left out, one thing after the other.
    pub(crate) fn fewest(search: &mut CandidateSearch<'_, '_>, mut model: Model) -> Result<Model, StopReason> {
        let removable = removable(search);
        let mut kept: Vec<Wire> = Vec::new();
        loop {
            let is_next = |it: &&Wire| model.has(**it) && !kept.contains(*it);
            let Some(&next) = removable.iter().rfind(is_next) else { return Ok(model) };
            let mut assumed: Vec<Wire> = removable.iter().filter(|it| !model.has(**it)).map(|it| !*it).collect();
            assumed.push(!next);
            match search.find(&assumed)? {
                Some(smaller) => model = smaller,
                None => kept.push(next),
            }
        }
    }

    /// The history with transactions in front that read the initial state, if it still separates.
    fn padded(&mut self, draft: &Draft) -> Result<Option<Found>, StopReason> {
        let mut search = self.bare_search(self.question.scope.txns);
        let padding = self.question.scope.txns + 1 - draft.n_txns;
        let is_limited = matches!(self.question.scope.sessions, Sessions::Chains { at_most: Some(_) });
        let assumed = fixed_to(&search, &draft.with_padding(padding, is_limited));
        let found = search.find(&assumed);
        self.add(&search);
        Ok(found?.map(|model| found_history(&search, &model)))
    }
}

/// Reads and writes.
fn operations(search: &CandidateSearch<'_, '_>) -> Vec<Wire> {
    let sketch = search.sketch();
    let writes = (1..sketch.n_txns).flat_map(|txn| (0..sketch.n_keys).map(move |key| (txn, key)));
    let writes = writes.map(|it| sketch.writes.at(it.0, it.1));
    let scripted = [&sketch.statements.remade, &sketch.statements.lost].into_iter().flat_map(cells);
    sketch.active.iter().copied().chain(writes).chain(scripted).collect()
}

/// What makes statements more than single plain operations.
fn marks(search: &CandidateSearch<'_, '_>) -> Vec<Wire> {
    let sketch = search.sketch();
    let omitted = sketch.omitted.iter().copied().filter(|it| it.as_constant().is_none());
    sketch.statements.marks().into_iter().chain(omitted).collect()
}

/// Who comes before whom, in sessions and in time.
fn order_steps(search: &CandidateSearch<'_, '_>) -> Vec<Wire> {
    let sketch = search.sketch();
    let pairs = || (1..sketch.n_txns).flat_map(|a| (1..sketch.n_txns).map(move |b| (a, b)));
    let so = pairs().map(|it| sketch.so.at(it.0, it.1));
    so.chain(pairs().map(|it| sketch.rt.at(it.0, it.1))).filter(|it| *it != Wire::FALSE).collect()
}

/// The inputs that a smaller history may lack: not the order of reads, which every history has.
fn removable(search: &CandidateSearch<'_, '_>) -> Vec<Wire> {
    let sketch = search.sketch();
    let n = sketch.n_txns;
    let mut wires = Vec::new();
    let txn_pairs = || (1..n).flat_map(|a| (1..n).map(move |b| (a, b)));
    wires.extend(txn_pairs().map(|it| sketch.rt.at(it.0, it.1)));
    wires.extend(txn_pairs().map(|it| sketch.so.at(it.0, it.1)));
    wires.extend(
        (1..n).flat_map(|txn| (0..sketch.n_keys).map(move |key| (txn, key))).map(|it| sketch.writes.at(it.0, it.1)),
    );
    wires.extend(
        (0..sketch.slots.len()).flat_map(|slot| (0..n).map(move |it| (slot, it))).map(|it| sketch.from.at(it.0, it.1)),
    );
    wires.extend(marks(search));
    wires.retain(|it| it.as_constant().is_none());
    wires
}

/// What must be assumed for the history to be just this one.
pub(crate) fn fixed_to(search: &CandidateSearch<'_, '_>, draft: &Draft) -> Vec<Wire> {
    let sketch = search.sketch();
    let n = sketch.n_txns;
    let mut wires = Vec::new();
    let mut fix = |wire: Wire, is_in: bool| wires.push(if is_in { wire } else { !wire });
    for key in 0..sketch.n_keys {
        for txn in 0..n {
            fix(sketch.statements.absent.at(txn, key), draft.absent[txn].contains(&key));
            fix(sketch.statements.remade.at(txn, key), draft.remade[txn].contains(&key));
            fix(sketch.statements.lost.at(txn, key), draft.lost[txn].contains(&key));
        }
    }
    for txn in 1..n {
        let mut slots = Vec::new();
        for key in 0..sketch.n_keys {
            fix(sketch.writes.at(txn, key), draft.writes[txn].contains(&key));
        }
        for other in 1..n {
            fix(sketch.so.at(txn, other), draft.so.contains(&(txn, other)));
            if let Some(rt) = &draft.rt {
                fix(sketch.rt.at(txn, other), rt.contains(&(txn, other)));
            }
        }
        for slot in sketch.slots_of(txn) {
            let place = sketch.slots[slot];
            let mut of_key = draft.reads[txn].iter().filter(|it| it.key == place.key);
            let read = of_key.nth(place.copy);
            slots.push((slot, read.copied()));
            for other in 0..n {
                fix(sketch.from.at(slot, other), read.is_some_and(|it| it.source == other));
            }
            fix(sketch.omitted[slot], read.is_some_and(|it| it.returned == Returned::No));
            fix(sketch.statements.updates[slot], read.is_some_and(|it| it.updates));
            fix(sketch.statements.locking[slot], read.is_some_and(|it| it.locking));
        }
        for (idx, (later, read)) in slots.iter().enumerate() {
            for (earlier, other) in &slots[..idx] {
                let is_same = read.zip(*other).is_some_and(|it| it.0.statement == it.1.statement);
                fix(sketch.statements.same.at(*earlier, *later), is_same);
            }
        }
    }
    wires
}

/// The history of a model, with the executions that explain it.
pub(crate) fn found_history(search: &CandidateSearch<'_, '_>, model: &Model) -> Found {
    let written = model.draft.write();
    let facts = Facts::new(&written.history);
    let sources: Vec<(OpId, TxnId)> =
        facts.reads().iter().enumerate().map(|(idx, read)| (read.op, facts.candidates(idx)[0])).collect();
    let execution = |(spec, witness): (&Spec, SpecWitness)| {
        let mut execution = Execution::new(written.ids.iter().copied(), sources.clone());
        execution.relations = relations(spec, &witness, &written.ids, &written.keys);
        execution
    };
    let executions = search.witnesses(model).into_iter().map(execution).collect();
    drop(facts);
    Found { history: written.history, session_order: written.session_order, executions }
}

pub(crate) fn relations(
    spec: &Spec,
    witness: &SpecWitness,
    ids: &[TxnId],
    keys: &[Option<KeyId>],
) -> Vec<NamedRelation> {
    let pairs = |of: &crate::matrix::Matrix| -> Vec<(TxnId, TxnId)> {
        let all = (0..ids.len()).flat_map(|a| (0..ids.len()).map(move |b| (a, b)));
        let mut pairs: Vec<(TxnId, TxnId)> =
            all.filter(|it| of.at(it.0, it.1) == Wire::TRUE).map(|it| (ids[it.0], ids[it.1])).collect();
        pairs.sort_unstable();
        pairs
    };
    let mut relations = Vec::new();
    for (named, value) in spec.witnesses().iter().zip(&witness.values) {
        match value {
            WitnessValue::Binary(of) => {
                relations.push(NamedRelation { name: named.name.clone(), key: None, pairs: pairs(of) });
            }
            WitnessValue::Versions { by_key, .. } => {
                for (of, key) in by_key.iter().zip(keys) {
                    if let Some(key) = key {
                        relations.push(NamedRelation { name: named.name.clone(), key: Some(*key), pairs: pairs(of) });
                    }
                }
            }
        }
    }
    relations
}
