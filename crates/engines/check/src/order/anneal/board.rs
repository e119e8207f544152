//! An order of events that changes one event at a time, and knows how many reads misfit.
//!
//! Each key has a line: who reads and writes it, in the order of events. If an event moves, only the lines of its keys
//! change, and there only what it passes and what comes until the next write.

use crate::forward::{Program, Version};
use crate::rule::Events;
use iso_history::TxnId;
use rustc_hash::FxHashMap;

/// An event: a transaction, or its start or its commit.
pub(super) type Node = u32;

const NO_NODE: Node = u32::MAX;
const NO_VERSION: Version = u32::MAX;

/// What an event does to a key.
#[derive(Clone, Copy, Debug)]
struct Touch {
    node: Node,
    key: u32,
    /// What it must find there.
    read: Version,
    write: Version,
    /// Where the first committer wins: nobody may write the key between this event and the write.
    since: Node,
}

/// An order of events, ready to be changed.
#[derive(Clone, Debug)]
pub(in crate::order) struct Board {
    events: Events,
    txns: Vec<TxnId>,
    /// The neighbours of each event in its session.
    before: Vec<Node>,
    after: Vec<Node>,
    /// By event, where its touches begin.
    first_touch: Vec<u32>,
    touches: Vec<Touch>,
    initial: Vec<Version>,
    order: Vec<Node>,
    places: Vec<u32>,
    /// By key, touches in the order of events.
    lines: Vec<Vec<u32>>,
    /// By touch, where it is in its line.
    slots: Vec<u32>,
    n_misfits: usize,
}

/// The last write of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    version: Version,
    writer: Node,
}

/// An event and the place that it is moved to.
#[derive(Clone, Copy, Debug)]
struct Move {
    node: Node,
    from: u32,
    to: u32,
}

impl Move {
    /// Is the moved event then after one that is at this place now?
    fn is_after(self, place: u32) -> bool {
        if self.to > self.from { place <= self.to } else { place < self.to }
    }
}

impl Board {
    /// Events in the order of commits, with starts right before them.
    pub(in crate::order) fn new(program: &Program, commits: &[TxnId]) -> Self {
        let events = program.events;
        let mut board = Self {
            events,
            txns: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            first_touch: vec![0],
            touches: Vec::new(),
            initial: program.initial.clone(),
            order: Vec::new(),
            places: Vec::new(),
            lines: vec![Vec::new(); program.initial.len()],
            slots: Vec::new(),
            n_misfits: 0,
        };
        let mut numbers = FxHashMap::default();
        for session in &program.sessions {
            let mut previous = NO_NODE;
            for task in session {
                numbers.insert(task.txn, board.before.len() as Node);
                let reads = task.reads.iter().map(|it| (*it, NO_VERSION));
                let writes = task.writes.iter().map(|it| (NO_VERSION, *it));
                if events == Events::One {
                    previous = board.push(program, task.txn, previous, reads.chain(writes));
                } else {
                    previous = board.push(program, task.txn, previous, reads);
                    previous = board.push(program, task.txn, previous, writes);
                }
            }
        }
        let n_events = if events == Events::One { 1 } else { 2 };
        board.order = commits.iter().flat_map(|it| numbers[it]..numbers[it] + n_events).collect();
        board.places = vec![0; board.order.len()];
        board.lay_out();
        board
    }

    fn push(
        &mut self,
        program: &Program,
        txn: TxnId,
        previous: Node,
        touched: impl Iterator<Item = (Version, Version)>,
    ) -> Node {
        let node = self.before.len() as Node;
        self.txns.push(txn);
        self.before.push(previous);
        self.after.push(NO_NODE);
        if previous != NO_NODE {
            self.after[previous as usize] = node;
        }
        let since = if self.events == Events::FirstCommitterWins { previous } else { NO_NODE };
        let first = self.touches.len();
        for (read, write) in touched {
            let key = program.key[if read == NO_VERSION { write } else { read } as usize];
            match self.touches[first..].iter_mut().find(|it| it.key == key) {
                Some(touch) => touch.write = write,
                None => self.touches.push(Touch { node, key, read, write, since }),
            }
        }
        self.first_touch.push(self.touches.len() as u32);
        node
    }

    /// Makes places, lines and the number of misfits of the order.
    fn lay_out(&mut self) {
        self.slots = vec![0; self.touches.len()];
        for (place, node) in (0..).zip(&self.order) {
            self.places[*node as usize] = place;
            for touch in self.first_touch[*node as usize]..self.first_touch[*node as usize + 1] {
                let line = &mut self.lines[self.touches[touch as usize].key as usize];
                self.slots[touch as usize] = line.len() as u32;
                line.push(touch);
            }
        }
        let stays = Move { node: NO_NODE, from: 0, to: 0 };
        let of_key = |key: usize| {
            let mut last = Last { version: self.initial[key], writer: NO_NODE };
            self.lines[key].iter().map(|it| self.run(*it, &mut last, stays)).sum::<i32>()
        };
        let n_misfits: i32 = (0..self.lines.len()).map(of_key).sum();
        self.n_misfits = n_misfits.unsigned_abs() as usize;
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.order.len()
    }

    /// So many reads find something else than they saw, and so many commits overwrite what they could not see.
    pub(in crate::order) fn n_misfits(&self) -> usize {
        self.n_misfits
    }

    pub(super) fn place(&self, node: Node) -> u32 {
        self.places[node as usize]
    }

    /// The first and the last place that an event can have between its neighbours.
    pub(super) fn room(&self, node: Node) -> (u32, u32) {
        let (before, after) = (self.before[node as usize], self.after[node as usize]);
        let first = if before == NO_NODE { 0 } else { self.place(before) + 1 };
        let last = if after == NO_NODE { self.order.len() as u32 } else { self.place(after) };
        (first, last - 1)
    }

    /// The events of a node's transaction, if it has two.
    pub(super) fn start_and_commit(&self, node: Node) -> Option<(Node, Node)> {
        (self.events != Events::One).then_some((node & !1, node | 1))
    }

    /// The transactions in the order of their commits.
    pub(in crate::order) fn commits(&self) -> Vec<TxnId> {
        let is_commit = |it: &&Node| self.events == Events::One || *it % 2 == 1;
        self.order.iter().filter(is_commit).map(|it| self.txns[*it as usize]).collect()
    }

    /// So many more misfit if an event moves.
    pub(super) fn change(&self, node: Node, to: u32) -> i32 {
        if to == self.place(node) {
            return 0;
        }
        let step = Move { node, from: self.place(node), to };
        let touches = self.first_touch[node as usize]..self.first_touch[node as usize + 1];
        let change: i32 = touches.map(|it| self.change_of_line(it, step)).sum();
        let is_start = self.events == Events::FirstCommitterWins && node.is_multiple_of(2);
        if is_start { change + self.change_of_conflicts(step) } else { change }
    }

    /// Those of a touch's line that the move passes, with the touch itself: first and last slot, and one more.
    fn passed(&self, touch: u32, step: Move) -> (usize, usize) {
        let line = &self.lines[self.touches[touch as usize].key as usize];
        let place = |slot: usize| self.place(self.touches[line[slot] as usize].node);
        let slot = self.slots[touch as usize] as usize;
        let (mut first, mut end) = (slot, slot + 1);
        if step.to > step.from {
            while end < line.len() && place(end) <= step.to {
                end += 1;
            }
        } else {
            while first > 0 && place(first - 1) >= step.to {
                first -= 1;
            }
        }
        (first, end)
    }

    fn change_of_line(&self, touch: u32, step: Move) -> i32 {
        let (first, end) = self.passed(touch, step);
        // Even if it passes nobody on the line, the next write may no longer come too late for it, or now does.
        if end - first == 1 && self.events != Events::FirstCommitterWins {
            return 0;
        }
        let line = &self.lines[self.touches[touch as usize].key as usize];
        let stays = Move { node: NO_NODE, ..step };
        let start = self.last_before(touch, first);
        let (mut old, mut new) = (start, start);
        let mut change = 0;
        for it in &line[first..end] {
            change -= self.run(*it, &mut old, stays);
        }
        let others = if step.to > step.from { first + 1..end } else { first..end - 1 };
        if step.to < step.from {
            change += self.run(touch, &mut new, step);
        }
        for it in &line[others] {
            change += self.run(*it, &mut new, step);
        }
        if step.to > step.from {
            change += self.run(touch, &mut new, step);
        }
        for it in &line[end..] {
            if old == new && old.writer != step.node {
                break;
            }
            change += self.run(*it, &mut new, step) - self.run(*it, &mut old, stays);
        }
        change
    }

    /// What a slot of a touch's line finds.
    fn last_before(&self, touch: u32, slot: usize) -> Last {
        let key = self.touches[touch as usize].key as usize;
        let before = self.lines[key][..slot].iter().rev().map(|it| &self.touches[*it as usize]);
        match before.into_iter().find(|it| it.write != NO_VERSION) {
            Some(touch) => Last { version: touch.write, writer: touch.node },
            None => Last { version: self.initial[key], writer: NO_NODE },
        }
    }

    /// So many misfits a touch has after this last write.
    fn run(&self, touch: u32, last: &mut Last, step: Move) -> i32 {
        let touch = &self.touches[touch as usize];
        let mut n_misfits = i32::from(touch.read != NO_VERSION && touch.read != last.version);
        if touch.write != NO_VERSION {
            if touch.since != NO_NODE && last.writer != NO_NODE {
                let since = self.place(touch.since);
                let is_late =
                    if last.writer == step.node { step.is_after(since) } else { self.place(last.writer) > since };
                n_misfits += i32::from(is_late);
            }
            *last = Last { version: touch.write, writer: touch.node };
        }
        n_misfits
    }

    /// So many more writes miss an earlier one if a start moves.
    fn change_of_conflicts(&self, step: Move) -> i32 {
        let commit = step.node as usize + 1;
        let touches = self.first_touch[commit]..self.first_touch[commit + 1];
        let change = |touch: u32| {
            let writer = self.last_before(touch, self.slots[touch as usize] as usize).writer;
            if writer == NO_NODE {
                return 0;
            }
            let place = self.place(writer);
            i32::from(!step.is_after(place)) - i32::from(place > step.from)
        };
        touches.map(change).sum()
    }

    /// Moves an event.
    pub(super) fn apply(&mut self, node: Node, to: u32, change: i32) {
        if to == self.place(node) {
            return;
        }
        let step = Move { node, from: self.place(node), to };
        for touch in self.first_touch[node as usize]..self.first_touch[node as usize + 1] {
            let (first, end) = self.passed(touch, step);
            let line = &mut self.lines[self.touches[touch as usize].key as usize];
            rotate(&mut line[first..end], step);
            for (slot, touch) in (first as u32..).zip(&line[first..end]) {
                self.slots[*touch as usize] = slot;
            }
        }
        let first = step.from.min(step.to);
        let stretch = &mut self.order[first as usize..=step.from.max(step.to) as usize];
        rotate(stretch, step);
        for (place, node) in (first..).zip(stretch) {
            self.places[*node as usize] = place;
        }
        self.n_misfits = self.n_misfits.saturating_add_signed(change as isize);
    }

    /// The number of misfits, counted anew.
    #[cfg(test)]
    pub(super) fn recount(&self) -> usize {
        let mut board = Self { lines: vec![Vec::new(); self.lines.len()], ..self.clone() };
        board.lay_out();
        board.n_misfits
    }
}

fn rotate<T>(stretch: &mut [T], step: Move) {
    if step.to > step.from {
        stretch.rotate_left(1);
    } else {
        stretch.rotate_right(1);
    }
}
