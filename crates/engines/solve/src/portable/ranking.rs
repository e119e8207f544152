//! Which variable to decide next: the one that was in the way most often lately.
//!
//! Source: Moskewicz et al. 2001 (VSIDS), with the decay of Eén & Sörensson 2003. Cost: logarithmic for each change.

use crate::sat::Var;

/// What a conflict counts more than the one before it.
const GROWTH: f64 = 1.0 / 0.95;
/// Counts are scaled down before they leave the range of their type.
const TOO_LARGE: f64 = 1e100;
const ABSENT: u32 = u32::MAX;

/// A binary heap of variables, the most active one first.
#[derive(Debug)]
pub(super) struct Ranking {
    heap: Vec<u32>,
    /// Where a variable stands in the heap.
    places: Vec<u32>,
    activity: Vec<f64>,
    step: f64,
}

impl Default for Ranking {
    fn default() -> Self {
        Self { heap: Vec::new(), places: Vec::new(), activity: Vec::new(), step: 1.0 }
    }
}

impl Ranking {
    pub(super) fn add(&mut self, var: Var) {
        self.places.push(ABSENT);
        self.activity.push(0.0);
        self.insert(var);
    }

    /// Puts a variable back that was taken out.
    pub(super) fn insert(&mut self, var: Var) {
        if self.places[var.index()] == ABSENT {
            self.heap.push(var.index() as u32);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Takes the most active one out.
    pub(super) fn pop(&mut self) -> Option<Var> {
        let first = *self.heap.first()?;
        self.places[first as usize] = ABSENT;
        let last = self.heap.pop()?;
        if last != first {
            self.heap[0] = last;
            self.sink(0);
        }
        Some(Var::new(first as usize))
    }

    /// A variable was in the way.
    pub(super) fn bump(&mut self, var: Var) {
        let activity = &mut self.activity[var.index()];
        *activity += self.step;
        if *activity > TOO_LARGE {
            self.activity.iter_mut().for_each(|it| *it /= TOO_LARGE);
            self.step /= TOO_LARGE;
        }
        if self.places[var.index()] != ABSENT {
            self.rise(self.places[var.index()] as usize);
        }
    }

    /// A conflict is over; the next one counts more.
    pub(super) fn grow(&mut self) {
        self.step *= GROWTH;
    }

    fn is_before(&self, one: u32, other: u32) -> bool {
        self.activity[one as usize] > self.activity[other as usize]
    }

    fn rise(&mut self, mut place: usize) {
        let var = self.heap[place];
        while place > 0 && self.is_before(var, self.heap[(place - 1) / 2]) {
            let above = (place - 1) / 2;
            self.put(place, self.heap[above]);
            place = above;
        }
        self.put(place, var);
    }

    fn sink(&mut self, mut place: usize) {
        let var = self.heap[place];
        loop {
            let left = 2 * place + 1;
            let Some(&first) = self.heap.get(left) else { break };
            let is_right = self.heap.get(left + 1).is_some_and(|it| self.is_before(*it, first));
            let below = left + usize::from(is_right);
            if !self.is_before(self.heap[below], var) {
                break;
            }
            self.put(place, self.heap[below]);
            place = below;
        }
        self.put(place, var);
    }

    fn put(&mut self, place: usize, var: u32) {
        self.heap[place] = var;
        self.places[var as usize] = place as u32;
    }
}
