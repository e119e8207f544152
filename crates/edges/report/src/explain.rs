//! Dependencies as sentences that a person can check against the input.

use crate::value::{held, key_words};
use iso_evidence::{Edge, Reason};
use iso_history::{Facts, History, KeyId, Op, OpId, Place, TxnId, ValueId, clipped};

/// Longer lists are shown by their first, last and interesting elements.
const MAX_ELEMENTS: usize = 8;

/// Says things about one history.
pub(crate) struct Explainer<'f> {
    pub(crate) history: &'f History,
    pub(crate) facts: &'f Facts<'f>,
    names_files: bool,
}

impl<'f> Explainer<'f> {
    pub(crate) fn new(facts: &'f Facts<'f>) -> Self {
        let history = facts.history();
        // With a single file, its name in every sentence would be noise.
        let names_files = history.source(Place { source: 1, at: 0 }).is_some();
        Self { history, facts, names_files }
    }

    /// Why the edge is there.
    pub(crate) fn edge(&self, edge: &Edge) -> String {
        let Edge { from, to, because } = *edge;
        match because {
            Reason::Session => self.session(from, to),
            Reason::RealTime => self.real_time(from, to),
            Reason::ReadFrom { read } => self.read_from(from, to, read),
            Reason::VersionOrder { key, shown_by } => self.version_order(from, to, key, shown_by),
            Reason::FirstCommitter { key } => self.first_committer(from, to, key),
            Reason::AntiDependency { key, read } => self.anti_dependency(from, to, key, read),
        }
    }

    fn session(&self, from: TxnId, to: TxnId) -> String {
        match self.history.session_of(from) {
            None => self.after_the_initial_state(to),
            Some(session) => format!(
                "{} comes before {} in session {}",
                self.txn(from),
                self.txn(to),
                self.history.session_name(session)
            ),
        }
    }

    fn real_time(&self, from: TxnId, to: TxnId) -> String {
        match (self.history.end(from), self.history.begin(to)) {
            _ if from.is_initial() => self.after_the_initial_state(to),
            (Some(end), Some(begin)) => {
                format!("{} ended at {end}, before {} began at {begin}", self.txn(from), self.txn(to))
            }
            _ => format!("{} ended before {} began", self.txn(from), self.txn(to)),
        }
    }

    fn after_the_initial_state(&self, to: TxnId) -> String {
        format!("the initial state comes before {}", self.txn(to))
    }

    fn read_from(&self, from: TxnId, to: TxnId, read: OpId) -> String {
        let (reader, seen) = (self.txn(to), self.seen(read, &[from]));
        if let Op::Omit { key, scan } = self.history.op(read) {
            let (written, predicate) = (self.written(from, key), &self.history.scan(scan).predicate);
            return format!(
                "the scan of {reader} ({predicate}) did not return {}, because it saw {written} of {}",
                self.key(key),
                self.txn(from)
            );
        }
        match self.last_seen_of(from, read) {
            Some(element) => format!("{reader} read {seen}, where {element} is from {}", self.txn(from)),
            None => format!("{reader} read {seen} from {}", self.txn(from)),
        }
    }

    fn version_order(&self, from: TxnId, to: TxnId, key: KeyId, shown_by: Option<OpId>) -> String {
        let (older, newer) = (self.written(from, key), self.written(to, key));
        if from.is_initial() && self.history.is_list(key) {
            return format!("{} {newer} to {}, which was empty at first", self.txn(to), self.key(key));
        }
        if from.is_initial() {
            return format!("{newer} of {} is newer than the initial {older}", self.txn(to));
        }
        let claim = self.version_claim(from, to, key);
        match shown_by {
            None => format!("{claim}, because the opposite order is impossible"),
            Some(read) => format!("{claim}, because {}", self.version_evidence(from, to, key, read)),
        }
    }

    /// Which of two versions is older.
    pub(crate) fn version_claim(&self, from: TxnId, to: TxnId, key: KeyId) -> String {
        let (older, newer) = (self.written(from, key), self.written(to, key));
        if self.history.is_list(key) {
            format!("{} {older} to {} before {} {newer}", self.txn(from), self.key(key), self.txn(to))
        } else {
            format!("{older} of {} is older than {newer} of {}", self.txn(from), self.txn(to))
        }
    }

    fn first_committer(&self, from: TxnId, to: TxnId, key: KeyId) -> String {
        let (claim, first, second) =
            (self.version_claim(from, to, key), self.history.label(from), self.history.label(to));
        format!(
            "{claim}, because {first} did not see {second}, and of two writers of {} one must see the other",
            self.key(key)
        )
    }

    /// What a read says about the order of two versions, after "because".
    fn version_evidence(&self, from: TxnId, to: TxnId, key: KeyId, read: OpId) -> String {
        let reader = self.history.txn_of(read);
        let who = if reader == to { self.history.label(to) } else { self.txn(reader) };
        let seen = self.seen(read, &[from, to]);
        match self.history.op(read) {
            Op::ReadList { .. } if self.last_seen_of(to, read).is_some() => format!("{who} read {seen}"),
            Op::ReadList { .. } => format!("{who} read {seen} without {}", self.elements(to, key)),
            _ if reader == to => format!("{who} had read {seen} before"),
            _ => format!("{who} comes after {} and still read {seen}", self.history.label(from)),
        }
    }

    fn anti_dependency(&self, from: TxnId, to: TxnId, key: KeyId, read: OpId) -> String {
        self.overwritten(from, to, key, (read, self.only_writer(read)))
    }

    /// What a transaction read, by a read and from whom if that is known, was overwritten by another.
    pub(crate) fn overwritten(
        &self,
        from: TxnId,
        to: TxnId,
        key: KeyId,
        (read, source): (OpId, Option<TxnId>),
    ) -> String {
        let (reader, overwriter) = (self.txn(from), self.txn(to));
        if let Op::Omit { scan, .. } = self.history.op(read) {
            let (written, predicate) = (self.written(to, key), &self.history.scan(scan).predicate);
            return format!(
                "the scan of {reader} ({predicate}) did not return {written}, so it saw the table before {overwriter} wrote that"
            );
        }
        let seen = self.seen(read, &[]);
        if self.history.is_list(key) {
            return format!("{reader} read {seen} without {}, which {overwriter} appended", self.elements(to, key));
        }
        let source = match source {
            Some(writer) if writer.is_initial() => " from the initial state".to_owned(),
            Some(writer) => format!(" from {}", self.txn(writer)),
            None => String::new(),
        };
        format!("{reader} read {seen}{source}, which {overwriter} overwrote with {}", self.written(to, key))
    }

    /// Who wrote what a read saw, if only one transaction can have.
    fn only_writer(&self, read: OpId) -> Option<TxnId> {
        let read_idx = self.facts.reads().binary_search_by_key(&read, |it| it.op).ok()?;
        match self.facts.candidates(read_idx) {
            [writer] => Some(*writer),
            _ => None,
        }
    }

    /// `s1.2 (line 4)`, or `the initial state`.
    pub(crate) fn txn(&self, txn: TxnId) -> String {
        if txn.is_initial() {
            return "the initial state".to_owned();
        }
        let place = self.history.place(txn);
        let label = self.history.label(txn);
        match self.history.source(place) {
            Some((file, unit)) if self.names_files => format!("{label} ({file} {unit} {})", place.at),
            Some((_, unit)) => format!("{label} ({unit} {})", place.at),
            None => label,
        }
    }

    /// `x`, or `key 2`.
    pub(crate) fn key(&self, key: KeyId) -> String {
        key_words(&self.history.key_name(key).into())
    }

    /// `x=1`, or `key 2 = 1`.
    pub(crate) fn held(&self, key: KeyId, value: ValueId) -> String {
        held(&self.history.key_name(key).into(), &self.value(value))
    }

    /// A value in a sentence, where a long one is cut.
    pub(crate) fn value(&self, value: ValueId) -> String {
        clipped(&self.history.value(value).to_string()).into_owned()
    }

    /// `x=1`, or `x=[1,2]` where elements of `interesting` transactions are not left out of a long list.
    pub(crate) fn seen(&self, read: OpId, interesting: &[TxnId]) -> String {
        match self.history.op(read) {
            Op::Read { key, value } | Op::Write { key, value } | Op::Append { key, value } => self.held(key, value),
            Op::Omit { key, scan } => format!("no {} ({})", self.key(key), self.history.scan(scan).predicate),
            Op::ReadList { key, values } => {
                let shown: Vec<ValueId> = interesting.iter().flat_map(|it| self.appended(*it, key)).collect();
                held(&self.history.key_name(key).into(), &format!("[{}]", self.elided(values, &shown).join(",")))
            }
        }
    }

    /// The elements; long runs of elements that are not in `shown` become dots.
    fn elided(&self, values: &[ValueId], shown: &[ValueId]) -> Vec<String> {
        let is_shown = |idx: usize| {
            values.len() <= MAX_ELEMENTS || idx < 2 || idx + 2 >= values.len() || shown.contains(&values[idx])
        };
        let mut pieces: Vec<String> = Vec::new();
        for (idx, value) in values.iter().enumerate() {
            if is_shown(idx) {
                pieces.push(self.value(*value));
            } else if pieces.last().is_some_and(|it| it != "…") {
                pieces.push("…".to_owned());
            }
        }
        pieces
    }

    /// The last element of a list read that a transaction appended, if there is one.
    fn last_seen_of(&self, txn: TxnId, read: OpId) -> Option<String> {
        let Op::ReadList { key, values } = self.history.op(read) else { return None };
        let own: Vec<ValueId> = self.appended(txn, key).collect();
        values.iter().rev().find(|it| own.contains(it)).map(|it| self.value(*it))
    }

    /// What a transaction appended to a list, in program order.
    pub(crate) fn appended(&self, txn: TxnId, list: KeyId) -> impl Iterator<Item = ValueId> + use<'f> {
        let history = self.history;
        history.ops(txn).filter_map(move |it| match history.op(it) {
            Op::Append { key, value } if key == list => Some(value),
            _ => None,
        })
    }

    /// What a transaction appended to a list: `1, 2`.
    pub(crate) fn elements(&self, txn: TxnId, list: KeyId) -> String {
        let elements: Vec<ValueId> = self.appended(txn, list).collect();
        self.elided(&elements, &[]).join(", ")
    }

    /// What a transaction finally made of a key: `x=1`, or for a list `appended 1, 2`.
    fn written(&self, txn: TxnId, key: KeyId) -> String {
        if self.history.is_list(key) {
            return format!("appended {}", self.elements(txn, key));
        }
        match self.final_write(txn, key) {
            Some(value) => self.held(key, value),
            None => format!("the write of {}", self.key(key)),
        }
    }

    /// The last value that a transaction wrote to a register.
    pub(crate) fn final_write(&self, txn: TxnId, register: KeyId) -> Option<ValueId> {
        if txn.is_initial() {
            return Some(self.history.initial_value(register));
        }
        self.history.ops(txn).rev().find_map(|it| match self.history.op(it) {
            Op::Write { key, value } if key == register => Some(value),
            _ => None,
        })
    }
}
