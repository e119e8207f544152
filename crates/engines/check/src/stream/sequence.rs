//! Events in a row that is told apart by labels: each event has a number that is larger than those of all before it.
//!
//! Labels have gaps, so that an event moves without touching others. Where a gap is used up, the labels around it are spread
//! anew, over a stretch that doubles until there is room.
//! Source: the idea is that of Dietz & Sleator 1987, in the simple form of Bender et al. 2002.

const NONE: u32 = u32::MAX;
/// New events come so far behind the last one.
const GAP: u64 = 1 << 24;
/// Events that move stay so close to a neighbour, as long as there is room: most follow each other to the same place.
const STEP: u64 = 1 << 12;

/// A row of events.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// By event; 0 if it is not in the row.
    labels: Vec<u64>,
    links: Vec<Link>,
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

/// Where events go.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// Right before this one.
    Before(u32),
    /// Right after this one.
    After(u32),
}

impl Sequence {
    pub(super) fn new() -> Self {
        Self { labels: Vec::new(), links: Vec::new(), first: NONE, last: NONE }
    }

    pub(super) fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The label of an event; 0 if it is not here.
    #[inline]
    pub(super) fn label(&self, node: u32) -> u64 {
        self.labels.get(node as usize).copied().unwrap_or(0)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(), |it| self.next(*it))
    }

    pub(super) fn next(&self, node: u32) -> Option<u32> {
        Some(self.links[node as usize].next).filter(|it| *it != NONE)
    }

    pub(super) fn previous(&self, node: u32) -> Option<u32> {
        Some(self.links[node as usize].previous).filter(|it| *it != NONE)
    }

    /// Puts an event at the end.
    pub(super) fn push(&mut self, node: u32) {
        let idx = node as usize;
        if idx >= self.labels.len() {
            self.labels.resize(idx + 1, 0);
            self.links.resize(idx + 1, Link { previous: NONE, next: NONE });
        }
        self.labels[idx] = if self.last == NONE { GAP } else { self.labels[self.last as usize] + GAP };
        self.insert_between(node, self.last, NONE);
    }

    /// Takes an event out.
    pub(super) fn remove(&mut self, node: u32) {
        let Link { previous, next } = self.links[node as usize];
        match previous {
            NONE => self.first = next,
            previous => self.links[previous as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => self.links[next as usize].previous = previous,
        }
        self.labels[node as usize] = 0;
    }

    /// Moves events, in this order, to one place. None of them is the one that names the place.
    pub(super) fn place(&mut self, nodes: &[u32], target: Target) {
        for node in nodes {
            self.remove(*node);
        }
        let (mut previous, next) = match target {
            Target::Before(next) => (self.links[next as usize].previous, next),
            Target::After(previous) => (previous, self.links[previous as usize].next),
        };
        let n = nodes.len() as u64;
        let (mut low, mut high) = self.gap(previous, next, n);
        if high - low <= n {
            self.spread(previous, next, n);
            (low, high) = self.gap(previous, next, n);
        }
        let step = ((high - low) / (n + 1)).clamp(1, STEP);
        let start = match target {
            Target::Before(_) => low + step,
            Target::After(_) => high - step * n,
        };
        for (node, nth) in nodes.iter().zip(0..) {
            self.labels[*node as usize] = start + step * nth;
            self.insert_between(*node, previous, next);
            previous = *node;
        }
    }

    /// The labels that are free between two neighbours are those between these two.
    fn gap(&self, previous: u32, next: u32, n: u64) -> (u64, u64) {
        let low = if previous == NONE { 0 } else { self.labels[previous as usize] };
        let high = if next == NONE { low + GAP * (n + 1) } else { self.labels[next as usize] };
        (low, high)
    }

    fn insert_between(&mut self, node: u32, previous: u32, next: u32) {
        self.links[node as usize] = Link { previous, next };
        match previous {
            NONE => self.first = node,
            previous => self.links[previous as usize].next = node,
        }
        match next {
            NONE => self.last = node,
            next => self.links[next as usize].previous = node,
        }
    }

    /// Makes room for some events between two neighbours.
    fn spread(&mut self, previous: u32, next: u32, n_new: u64) {
        let (mut low, mut high) = (previous, next);
        let (mut n, mut n_more) = (n_new, 8);
        loop {
            for _ in 0..n_more {
                if low != NONE {
                    low = self.links[low as usize].previous;
                    n += 1;
                }
                if high != NONE {
                    high = self.links[high as usize].next;
                    n += 1;
                }
            }
            let (from, to) = self.gap(low, high, n);
            let step = (to - from) / (n + 1);
            if step >= STEP || (low == NONE && high == NONE) {
                return self.relabel((low, high), (previous, n_new), (from, step));
            }
            n_more *= 2;
        }
    }

    /// Labels everybody between two events anew, and leaves room behind one of them.
    fn relabel(&mut self, (low, high): (u32, u32), (previous, n_new): (u32, u64), (from, step): (u64, u64)) {
        let mut label = if low == previous { from + step * n_new } else { from };
        let mut node = if low == NONE { self.first } else { self.links[low as usize].next };
        while node != high {
            label += step;
            self.labels[node as usize] = label;
            if node == previous {
                label += step * n_new;
            }
            node = self.links[node as usize].next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that are always the same.
    fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        }
    }

    fn assert_same(row: &Sequence, model: &[u32]) {
        assert_eq!(row.iter().collect::<Vec<_>>(), model);
        assert!(model.is_sorted_by_key(|it| row.label(*it)) && model.iter().all(|it| row.label(*it) > 0));
        let labels: std::collections::BTreeSet<u64> = model.iter().map(|it| row.label(*it)).collect();
        assert_eq!(labels.len(), model.len());
    }

    #[test]
    fn labels_follow_the_row_however_often_the_same_gap_is_asked_for() {
        let mut row = Sequence::new();
        let mut model: Vec<u32> = Vec::new();
        for node in 0..3 {
            row.push(node);
            model.push(node);
        }
        for node in 3..20_000 {
            row.push(node);
            // Between 0 and 1, at the middle of what came there before.
            row.place(&[node], if node % 2 == 0 { Target::Before(node - 1) } else { Target::After(node - 1) });
            let at = model.iter().position(|it| *it == node - 1).unwrap();
            model.insert(if node % 2 == 0 { at } else { at + 1 }, node);
        }
        assert_same(&row, &model);
    }

    #[test]
    fn any_moves_give_the_row_that_a_list_would_have() {
        for seed in 0..20 {
            let mut number = numbers(seed);
            let (mut row, mut model) = (Sequence::new(), Vec::new());
            for node in 0..400_u32 {
                row.push(node);
                model.push(node);
                if number(5) == 0 && model.len() > 4 {
                    row.remove(model.remove(0));
                }
                let hot = model.len() / 2;
                let place = model[if number(3) == 0 { number(model.len() as u64) as usize } else { hot }];
                let mut moved: Vec<u32> = model.iter().copied().filter(|it| *it != place && number(6) == 0).collect();
                if number(2) == 0 {
                    moved.truncate(1);
                }
                model.retain(|it| !moved.contains(it));
                let at = model.iter().position(|it| *it == place).unwrap();
                if number(2) == 0 {
                    row.place(&moved, Target::Before(place));
                    model.splice(at..at, moved);
                } else {
                    row.place(&moved, Target::After(place));
                    model.splice((at + 1)..=at, moved);
                }
                assert_same(&row, &model);
            }
        }
    }
}
