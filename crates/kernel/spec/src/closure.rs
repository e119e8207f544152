//! The transitive closure of a relation of any size.
//!
//! Elements that reach each other are found first (Tarjan 1972); from the last group back, each group reaches what the
//! groups of its next steps reach. Whoever is reached already is not followed again.
//! Cost: one look at each pair, and one union of rows for each pair that is not implied by those looked at before.

use crate::row::{Gather, Row, Table};

/// One step or more.
pub(crate) fn closure(table: &Table) -> Table {
    let groups = groups(table);
    let mut closed = Table::empty(table.rows.len(), table.n_cols);
    let mut gather = Gather::new(table.n_cols);
    for group in &groups {
        for member in group {
            table.rows[*member as usize].each(|next| {
                if !gather.has(next) {
                    gather.insert(next);
                    gather.add(&closed.rows[next as usize]);
                }
            });
        }
        // Members of a group with several reach each other, and each what all do.
        if group.len() > 1 {
            for member in group {
                gather.insert(*member);
            }
        }
        let row: Row = gather.take();
        for member in group {
            closed.rows[*member as usize] = row.clone();
        }
    }
    closed
}

/// The elements in groups that reach each other; a group stands after those that it reaches.
fn groups(table: &Table) -> Vec<Vec<u32>> {
    let unmet = vec![0; table.rows.len()];
    let mut walk = Walk { table, number: unmet.clone(), low: unmet, n_met: 0, open: Vec::new(), groups: Vec::new() };
    for start in 0..table.rows.len() as u32 {
        if walk.number[start as usize] == 0 {
            walk.from(start);
        }
    }
    walk.groups
}

struct Walk<'t> {
    table: &'t Table,
    /// When each element was first met, from 1; the largest number once its group is known.
    number: Vec<u32>,
    low: Vec<u32>,
    n_met: u32,
    open: Vec<u32>,
    groups: Vec<Vec<u32>>,
}

impl Walk<'_> {
    /// Without recursion, since a path may be as long as the history.
    fn from(&mut self, start: u32) {
        let mut path = vec![self.meet(start)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            match next.pop() {
                Some(to) if self.number[to as usize] == 0 => {
                    let met = self.meet(to);
                    path.push(met);
                }
                Some(to) => self.low[at as usize] = self.low[at as usize].min(self.number[to as usize]),
                None => {
                    path.pop();
                    self.leave(at);
                    if let Some((before, _)) = path.last() {
                        self.low[*before as usize] = self.low[*before as usize].min(self.low[at as usize]);
                    }
                }
            }
        }
    }

    fn meet(&mut self, at: u32) -> (u32, Vec<u32>) {
        self.n_met += 1;
        self.number[at as usize] = self.n_met;
        self.low[at as usize] = self.n_met;
        self.open.push(at);
        let mut next = Vec::with_capacity(self.table.rows[at as usize].len());
        self.table.rows[at as usize].each(|it| next.push(it));
        (at, next)
    }

    fn leave(&mut self, at: u32) {
        if self.low[at as usize] != self.number[at as usize] {
            return;
        }
        let start = self.open.iter().rposition(|it| *it == at).unwrap_or(0);
        let group = self.open.split_off(start);
        for member in &group {
            self.number[*member as usize] = u32::MAX;
            self.low[*member as usize] = u32::MAX;
        }
        self.groups.push(group);
    }
}
