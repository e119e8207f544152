//! Does each read return the version that its source left behind? Cost: linear, but for finding a key among a
//! transaction's writes.

use super::own::OwnWrites;
use super::rows::Rows;
use super::sources::NamedSources;
use super::uncertified::{Uncertified, wrong};
use iso_history::{History, KeyId, Op, OpId, TxnId, ValueId};

/// A place in a schedule, from 1; the initial transaction has 0.
pub(super) type Place = u32;

/// Not in the schedule.
const NOWHERE: Place = u32::MAX;

/// A schedule whose reads were checked. Transactions are known by their places in it.
pub(super) struct Scheduled<'a> {
    pub(super) history: &'a History,
    order: &'a [TxnId],
    /// For each place, the keys that were read from others, and the places of the sources, in program order.
    reads: Rows<(KeyId, Place)>,
    /// For each place, the keys that were written, ascending, and what was left there.
    writes: Rows<(KeyId, Left)>,
    /// For each place: was something that was read overwritten before?
    is_stale: Vec<bool>,
}

/// What a transaction left behind: the number of a register's value, or the length of a list.
type Left = u32;

impl Scheduled<'_> {
    /// The places of all transactions but the initial one.
    pub(super) fn places(&self) -> std::ops::RangeInclusive<Place> {
        1..=self.order.len() as Place
    }

    pub(super) fn reads(&self, place: Place) -> &[(KeyId, Place)] {
        self.reads.of(place)
    }

    /// Did a transaction read something that was overwritten before it? All others read what was written last, and miss
    /// nobody.
    pub(super) fn is_stale(&self, place: Place) -> bool {
        self.is_stale[place as usize]
    }

    /// The keys that a transaction wrote, ascending. The initial one is not asked.
    pub(super) fn writes(&self, place: Place) -> impl ExactSizeIterator<Item = KeyId> + '_ {
        self.writes.of(place).iter().map(|it| it.0)
    }

    pub(super) fn does_write(&self, place: Place, key: KeyId) -> bool {
        self.left(place, key).is_some()
    }

    fn left(&self, place: Place, key: KeyId) -> Option<Left> {
        let writes = self.writes.of(place);
        writes.binary_search_by_key(&key, |it| it.0).ok().map(|it| writes[it].1)
    }

    /// The session of a transaction that is not the initial one.
    pub(super) fn session(&self, place: Place) -> usize {
        let session = self.history.session_of(self.order[place as usize - 1]);
        session.expect("only the initial transaction has no session").index()
    }

    /// For each session the places of its transactions, ascending.
    pub(super) fn sessions(&self) -> Rows<Place> {
        Rows::grouped(self.history.n_sessions(), || self.places().map(|it| (self.session(it), it)))
    }

    /// For each key the places of its writers, ascending.
    pub(super) fn writers(&self) -> Rows<Place> {
        let writes = || self.places().flat_map(|it| self.writes(it).map(move |key| (key.index(), it)));
        Rows::grouped(self.history.n_keys(), writes)
    }

    pub(super) fn wrong_read(&self, reader: Place, key: KeyId, source: Place) -> Uncertified {
        let txn = |it: Place| if it == 0 { TxnId::INITIAL } else { self.order[it as usize - 1] };
        let (key, label) = (self.history.key_name(key), self.history.label(txn(source)));
        let what = format!("reads {key} from {label} but must see a later writer of it");
        wrong(self.history, txn(reader), &what)
    }
}

/// Checks that each external read of a scheduled transaction names a source before it that finally wrote what the
/// read returned, and that each other read returns what the transaction wrote itself.
pub(super) fn check_sources<'a>(
    history: &'a History,
    order: &'a [TxnId],
    sources: &NamedSources<'_>,
) -> Result<Scheduled<'a>, Uncertified> {
    let mut checking = Checking::new(history, order);
    for (place, txn) in (1..).zip(order) {
        checking.read(*txn, sources)?;
        checking.write(*txn, place);
    }
    Ok(checking.scheduled)
}

/// The schedule up to some place.
struct Checking<'a> {
    scheduled: Scheduled<'a>,
    /// By transaction.
    place: Vec<Place>,
    /// For each key, who wrote it last, and what it left there.
    last: Vec<(Place, Left)>,
    lists: Vec<Vec<ValueId>>,
    own: OwnWrites,
}

impl<'a> Checking<'a> {
    fn new(history: &'a History, order: &'a [TxnId]) -> Self {
        let (mut reads, mut writes) = (Rows::new(), Rows::new());
        // The initial transaction reads nothing, and is not asked what it wrote.
        reads.end_row();
        writes.end_row();
        let mut place = vec![NOWHERE; history.n_txns()];
        place[TxnId::INITIAL.index()] = 0;
        Self {
            scheduled: Scheduled { history, order, reads, writes, is_stale: vec![false] },
            place,
            last: history.keys().map(|it| (0, initially_left(history, it))).collect(),
            lists: vec![Vec::new(); history.n_keys()],
            own: OwnWrites::new(history),
        }
    }

    fn read(&mut self, txn: TxnId, sources: &NamedSources<'_>) -> Result<(), Uncertified> {
        let history = self.scheduled.history;
        let mut named = sources.of(txn);
        self.own.start(txn);
        self.scheduled.is_stale.push(false);
        for op in history.ops(txn) {
            match history.op(op) {
                Op::Write { key, value } => self.own.write(key, value),
                Op::Append { key, value } => self.own.append(key, value),
                Op::Read { key, value } => match self.own.last(key) {
                    Some(own) if own == value => {}
                    Some(_) => return Err(not_own(history, txn, op)),
                    None => {
                        let source = self.source(txn, named.next(op))?;
                        let is_right = self.left_by(source, key) == Some(value.raw());
                        self.add_read(txn, op, (key, source), is_right)?;
                    }
                },
                Op::Omit { key, scan } => match self.own.last(key) {
                    Some(own) if !history.matches(scan, key, own) => {}
                    Some(_) => return Err(not_own(history, txn, op)),
                    None => {
                        let source = self.source(txn, named.next(op))?;
                        let left = self.left_by(source, key).map(|it| ValueId::from_index(it as usize));
                        let is_right = left.is_some_and(|it| !history.matches(scan, key, it));
                        self.add_read(txn, op, (key, source), is_right)?;
                    }
                },
                Op::ReadList { key, values } => {
                    let Some(external) = values.strip_suffix(self.own.elements(key)) else {
                        return Err(not_own(history, txn, op));
                    };
                    let source = self.source(txn, named.next(op))?;
                    let length = self.left_by(source, key);
                    let is_right = length.is_some_and(|it| self.lists[key.index()][..it as usize] == *external);
                    self.add_read(txn, op, (key, source), is_right)?;
                }
            }
        }
        self.scheduled.reads.end_row();
        Ok(())
    }

    /// The place of a named source, which is before the transaction.
    fn source(&self, txn: TxnId, named: Option<TxnId>) -> Result<Place, Uncertified> {
        let history = self.scheduled.history;
        let named = named.ok_or_else(|| wrong(history, txn, "has a read without a source"))?;
        match self.place.get(named.index()) {
            Some(place) if *place != NOWHERE => Ok(*place),
            _ => Err(wrong(history, txn, "reads from a transaction that is not before it in the schedule")),
        }
    }

    /// What a transaction left at a key. Notes if somebody else has written it since.
    fn left_by(&mut self, source: Place, key: KeyId) -> Option<Left> {
        let (last_writer, left) = self.last[key.index()];
        if source == last_writer {
            return Some(left);
        }
        if let Some(is_stale) = self.scheduled.is_stale.last_mut() {
            *is_stale = true;
        }
        if source == 0 { Some(initially_left(self.scheduled.history, key)) } else { self.scheduled.left(source, key) }
    }

    fn add_read(&mut self, txn: TxnId, op: OpId, read: (KeyId, Place), is_right: bool) -> Result<(), Uncertified> {
        if is_right {
            self.scheduled.reads.push(read);
            return Ok(());
        }
        let (history, order) = (self.scheduled.history, self.scheduled.order);
        let source = if read.1 == 0 { TxnId::INITIAL } else { order[read.1 as usize - 1] };
        let (op, source) = (history.render_op(op), history.label(source));
        Err(wrong(history, txn, &format!("cannot have seen {op} in what {source} left behind")))
    }

    fn write(&mut self, txn: TxnId, place: Place) {
        let history = self.scheduled.history;
        for op in history.ops(txn) {
            let (key, left) = match history.op(op) {
                Op::Write { key, value } => (key, value.raw()),
                Op::Append { key, value } => {
                    self.lists[key.index()].push(value);
                    (key, self.lists[key.index()].len() as Left)
                }
                Op::Read { .. } | Op::ReadList { .. } | Op::Omit { .. } => continue,
            };
            self.last[key.index()] = (place, left);
            self.scheduled.writes.push((key, left));
        }
        let (writes, start) = self.scheduled.writes.open();
        keep_last_of_each_key(writes, start);
        self.scheduled.writes.end_row();
        self.place[txn.index()] = place;
    }
}

/// What is there at first: a register's initial value, or no elements of a list.
fn initially_left(history: &History, key: KeyId) -> Left {
    if history.is_list(key) { 0 } else { history.initial_value(key).raw() }
}

fn keep_last_of_each_key(writes: &mut Vec<(KeyId, Left)>, start: usize) {
    writes[start..].sort_by_key(|it| it.0);
    let mut n_kept = start;
    for idx in start..writes.len() {
        if n_kept > start && writes[n_kept - 1].0 == writes[idx].0 {
            n_kept -= 1;
        }
        writes[n_kept] = writes[idx];
        n_kept += 1;
    }
    writes.truncate(n_kept);
}

fn not_own(history: &History, txn: TxnId, op: OpId) -> Uncertified {
    wrong(history, txn, &format!("contradicts its own writes by {}", history.render_op(op)))
}
