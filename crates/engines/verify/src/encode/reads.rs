//! Read committed: a source for each read.

use super::Encoding;
use iso_program::{ReadId, UnitId};
use iso_solve::Wire;

impl Encoding<'_> {
    /// Each read has a source before the transaction, and none goes back behind what was read before.
    pub(super) fn connect_reads(&mut self) {
        let n = self.nodes.len();
        for reader in 0..n {
            let places: Vec<(UnitId, Option<ReadId>)> = self.nodes[reader].inputs.keys().copied().collect();
            for place in &places {
                let (unit, record) = (place.0, self.nodes[reader].inputs[place].record.clone());
                let sources = self.free_sources(reader, unit);
                self.tie(unit, &record, &sources);
                if let Some(input) = self.nodes[reader].inputs.get_mut(place) {
                    input.sources = sources;
                }
            }
            self.keep_going_forward(reader);
        }
    }

    fn free_sources(&mut self, reader: usize, unit: UnitId) -> Vec<Wire> {
        let n = self.nodes.len();
        let mut sources = vec![Wire::FALSE; n];
        for writer in (0..n).filter(|it| *it != reader) {
            let writes = self.writes(writer, unit);
            if writes != Wire::FALSE {
                let input = self.circuit.input();
                sources[writer] = self.circuit.and([input, writes, self.order[writer][reader]]);
            }
        }
        for a in 0..n {
            for b in a + 1..n {
                let both = self.circuit.both(sources[a], sources[b]);
                self.assert(!both);
            }
        }
        sources
    }

    /// Whoever read from a writer of another unit does not read an older version of that unit afterwards.
    fn keep_going_forward(&mut self, reader: usize) {
        let mut reads: Vec<(UnitId, Option<ReadId>, Vec<Wire>)> =
            self.nodes[reader].inputs.iter().map(|(place, it)| (place.0, place.1, it.sources.clone())).collect();
        reads.sort_by_key(|it| (it.1, it.0));
        // An observer may read in any order; the reads of a transaction come in that of the program, if they are made.
        let order = match self.nodes[reader].session {
            Some(_) => (0..reads.len()).map(|a| (0..reads.len()).map(|b| Wire::constant(a < b)).collect()).collect(),
            None => self.free_order(reads.len()),
        };
        for (a, (_, earlier, from_earlier)) in reads.iter().enumerate() {
            for (b, (unit, later, from_later)) in reads.iter().enumerate().filter(|it| it.0 != a) {
                let asks =
                    |it: &Option<ReadId>| it.map_or(Wire::TRUE, |it| self.nodes[reader].summary.asks[it.index()]);
                let made = [asks(earlier), asks(later), order[a][b]];
                self.not_behind(*unit, from_earlier, from_later, made);
            }
        }
        if self.nodes[reader].session.is_none() {
            self.observed_orders.insert(reader, order);
        }
        self.lock_reads(reader, &reads);
    }

    /// A read that locks finds what the last one before its transaction wrote.
    fn lock_reads(&mut self, reader: usize, reads: &[(UnitId, Option<ReadId>, Vec<Wire>)]) {
        for (unit, read, sources) in reads {
            let Some(read) = read else { continue };
            let locks = self.nodes[reader].summary.locking[read.index()];
            for writer in (0..self.nodes.len()).filter(|it| *it != reader && locks != Wire::FALSE) {
                let writes = self.writes(writer, *unit);
                let premise = self.circuit.and([locks, writes, self.order[writer][reader]]);
                let law = self.at_least(writer, sources);
                let law = self.circuit.either(!premise, law);
                self.assert(law);
            }
        }
    }

    /// Is the source this writer, or a later one?
    fn at_least(&mut self, writer: usize, sources: &[Wire]) -> Wire {
        let cases: Vec<Wire> = (0..sources.len())
            .map(|it| {
                let newer = if it == writer { Wire::TRUE } else { self.order[writer][it] };
                self.circuit.both(sources[it], newer)
            })
            .collect();
        self.circuit.or(cases)
    }

    fn not_behind(&mut self, unit: UnitId, from_earlier: &[Wire], from_later: &[Wire], made: [Wire; 3]) {
        for (writer, source) in from_earlier.iter().enumerate().filter(|it| *it.1 != Wire::FALSE) {
            let writes = self.writes(writer, unit);
            let premise = self.circuit.and([*source, writes, made[0], made[1], made[2]]);
            if premise != Wire::FALSE {
                let law = self.at_least(writer, from_later);
                let law = self.circuit.either(!premise, law);
                self.assert(law);
            }
        }
    }
}
