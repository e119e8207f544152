//! Levels of databases that look at statements: each statement reads at a moment, which is a place between commits.
//!
//! A moment is known by who had committed before it. The moments of a transaction come one after the other. A statement
//! that writes or locks a row sees its newest version and holds it until the transaction commits: whoever else touches the
//! row had committed before that moment, or commits later and touches it later. Rows of one locking statement are
//! locked one by one, in any order. So are rows that a statement looks for by a condition: `PostgreSQL` looks at one moment
//! which of them fit, and at each of these again when it is locked, not earlier; `InnoDB` looks at each when it is locked.

use super::Encoding;
use crate::execute::{Hold, Touch};
use iso_history::Snapshots;
use iso_program::{Instance, Looks, Read, ReadId, ReadMode, StatementId, UnitId};
use iso_solve::Wire;
use std::collections::BTreeMap;

/// A statement, and a read of it if it has a moment of its own.
type Moment = (StatementId, Option<ReadId>);

/// By node: had it committed?
type Cut = Vec<Wire>;

/// The moments of one transaction.
#[derive(Default)]
struct Moments {
    /// Of all plain reads, if they share one.
    snapshot: Option<Cut>,
    cuts: BTreeMap<Moment, Cut>,
}

impl Encoding<'_> {
    /// Each read finds what the last one before its moment wrote.
    pub(super) fn connect_moments(&mut self, snapshots: Snapshots, looks: Looks) {
        let all: Vec<Moments> = (0..self.nodes.len()).map(|it| self.moments(it, snapshots, looks)).collect();
        for (node, moments) in all.iter().enumerate() {
            self.connect_at(node, moments, looks);
        }
        self.exclude_others(&all, looks);
    }

    fn moments(&mut self, node: usize, snapshots: Snapshots, looks: Looks) -> Moments {
        let mut moments = Moments::default();
        if snapshots == Snapshots::PerTransaction {
            moments.snapshot = Some(self.new_cut(node));
        }
        // An observer reads units in any order, by statements of their own.
        let Some(instance) = self.program.instances().get(node) else { return moments };
        let has_moment = |mode: ReadMode| snapshots == Snapshots::PerStatement || mode != ReadMode::Plain;
        let reads = instance.reads.iter().enumerate().filter(|it| has_moment(it.1.mode));
        let mut wanted: Vec<Moment> = reads.map(|(idx, it)| moment(it, idx, looks)).collect();
        wanted.extend(self.nodes[node].summary.touches.iter().map(|it| touched_at(instance, it, looks)));
        wanted.sort_unstable();
        wanted.dedup();
        for moment in wanted {
            let cut = self.new_cut(node);
            moments.cuts.insert(moment, cut);
        }
        self.keep_in_line(node, &moments);
        moments
    }

    /// Any place between commits: whoever committed before someone who had committed had committed, too.
    fn new_cut(&mut self, node: usize) -> Cut {
        let n = self.nodes.len();
        let mut cut = vec![Wire::FALSE; n];
        for other in (0..n).filter(|it| *it != node) {
            let input = self.circuit.input();
            cut[other] = self.circuit.both(input, self.order[other][node]);
        }
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))).filter(|it| it.0 != it.1) {
            if a != node && b != node {
                let later = self.circuit.both(cut[b], self.order[a][b]);
                let law = self.circuit.either(!later, cut[a]);
                self.assert(law);
            }
        }
        // A session sees what it committed before.
        let session: Vec<usize> = (0..n).filter(|it| *it != node && self.is_session_ordered(*it, node)).collect();
        for earlier in session {
            let (one, other) = (self.aborts(earlier), self.aborts(node));
            let law = self.circuit.or([one, other, cut[earlier]]);
            self.assert(law);
        }
        cut
    }

    /// Statements come one after the other, and a snapshot before what follows the first plain read.
    fn keep_in_line(&mut self, node: usize, moments: &Moments) {
        for (earlier, first) in &moments.cuts {
            let next = moments.cuts.keys().find(|it| it.0 > earlier.0).map(|it| it.0);
            for (_, second) in moments.cuts.iter().filter(|it| Some(it.0.0) == next) {
                self.not_after(Wire::TRUE, first, second);
            }
            // What is read again is read after the look at all rows.
            let again = moments.cuts.iter().filter(|it| earlier.1.is_none() && it.0.0 == earlier.0 && it.0.1.is_some());
            for (_, second) in again {
                self.not_after(Wire::TRUE, first, second);
            }
        }
        let Some(snapshot) = &moments.snapshot else { return };
        let reads = self.program.instances()[node].reads.iter();
        let plain: Vec<(StatementId, Wire)> = reads
            .zip(&self.nodes[node].summary.asks)
            .filter(|it| it.0.mode == ReadMode::Plain)
            .map(|it| (it.0.statement, *it.1))
            .collect();
        for ((statement, _), cut) in &moments.cuts {
            let taken = self.circuit.or(plain.iter().filter(|it| it.0 < *statement).map(|it| it.1).collect::<Vec<_>>());
            self.not_after(taken, snapshot, cut);
        }
    }

    fn not_after(&mut self, premise: Wire, first: &Cut, second: &Cut) {
        for (earlier, later) in first.iter().zip(second) {
            let law = self.circuit.or([!premise, !*earlier, *later]);
            self.assert(law);
        }
    }

    fn connect_at(&mut self, node: usize, moments: &Moments, looks: Looks) {
        let places: Vec<(UnitId, Option<ReadId>)> = self.nodes[node].inputs.keys().copied().collect();
        for place in places {
            let cut = match (self.program.instances().get(node).zip(place.1), &moments.snapshot) {
                (Some((instance, read)), snapshot) => {
                    let of = instance.read(read);
                    match snapshot {
                        Some(snapshot) if of.mode == ReadMode::Plain => snapshot.clone(),
                        _ => moments.cuts[&moment(of, read.index(), looks)].clone(),
                    }
                }
                (None, Some(snapshot)) => snapshot.clone(),
                (None, None) => self.new_cut(node),
            };
            let members: Vec<Wire> = (0..cut.len())
                .map(|it| {
                    let writes = self.writes(it, place.0);
                    self.circuit.both(cut[it], writes)
                })
                .collect();
            let sources = self.last_of(&members);
            let record = self.nodes[node].inputs[&place].record.clone();
            self.tie(place.0, &record, &sources);
            if let Some(input) = self.nodes[node].inputs.get_mut(&place) {
                (input.sources, input.cut) = (sources, cut);
            }
        }
    }

    /// Locks: who touched the same row and commits before had committed when it was touched here.
    fn exclude_others(&mut self, moments: &[Moments], looks: Looks) {
        let is_held = |it: &Touch| it.hold == Hold::Lock || looks == Looks::NewestLocked;
        for (node, of) in moments.iter().enumerate() {
            let Some(instance) = self.program.instances().get(node) else { continue };
            for touch in self.nodes[node].summary.touches.clone().into_iter().filter(is_held) {
                for other in (0..moments.len()).filter(|it| *it != node) {
                    let theirs = &self.nodes[other].summary.touches;
                    let collides = |it: &&Touch| {
                        it.unit == touch.unit && is_held(it) && [touch.hold, it.hold].contains(&Hold::Lock)
                    };
                    let theirs: Vec<Wire> = theirs.iter().filter(collides).map(|it| it.happens).collect();
                    let theirs = self.circuit.or(theirs);
                    let both = self.circuit.and([touch.happens, theirs, self.order[other][node]]);
                    let had_committed = of.cuts[&touched_at(instance, &touch, looks)][other];
                    let law = self.circuit.either(!both, had_committed);
                    self.assert(law);
                }
            }
        }
    }
}

/// Rows that are locked one by one have moments of their own.
fn moment(of: &Read, idx: usize, looks: Looks) -> Moment {
    let own = match (of.mode, of.again) {
        (ReadMode::Update, Some(search)) if looks != Looks::Snapshot => Some(search),
        (ReadMode::Search, None) if looks != Looks::Snapshot => Some(ReadId::from_index(idx)),
        (ReadMode::ForUpdate, _) | (ReadMode::Update, Some(_)) => Some(ReadId::from_index(idx)),
        _ => None,
    };
    (of.statement, own)
}

fn touched_at(instance: &Instance, touch: &Touch, looks: Looks) -> Moment {
    match touch.read {
        Some(read) => moment(instance.read(read), read.index(), looks),
        None => (touch.statement, None),
    }
}
