//! The rows that ways touch, and which of them are in conflict.
//!
//! A *slot* is a row of a way: all accesses of it that have one key. Slots of two ways are joined if accesses of them are in
//! conflict once they are about one row.

use crate::danger::Edges;
use iso_program::{Access, AccessKind, Constant, RowKey, Templates, Way};

/// Rows of one way with one key.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The way, by its place in [`Slots::ways`].
    pub(crate) way: usize,
    pub(crate) key: RowKey,
    /// What the way does there, by place in the way.
    pub(crate) accesses: Vec<usize>,
}

/// A way and the template that it is of.
#[derive(Clone, Debug)]
pub(crate) struct WayOf<'t> {
    pub(crate) template: usize,
    /// Its place in the template.
    pub(crate) place: usize,
    pub(crate) way: &'t Way,
    pub(crate) slots: Vec<usize>,
}

/// All slots of some templates.
#[derive(Clone, Debug)]
pub(crate) struct Slots<'t> {
    pub(crate) ways: Vec<WayOf<'t>>,
    pub(crate) all: Vec<Slot>,
    /// By slot, those that may come after it.
    pub(crate) joined: Vec<Vec<usize>>,
    /// Constants that name rows of tables, in order.
    pub(crate) constants: Vec<Constant>,
    pub(crate) edges: Edges,
    templates: &'t Templates,
}

impl<'t> Slots<'t> {
    pub(crate) fn new(templates: &'t Templates, edges: Edges) -> Self {
        let (ways, all, joined, constants) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut built = Self { ways, all, joined, constants, edges, templates };
        for (template, of) in templates.templates().iter().enumerate() {
            for (place, way) in of.ways.iter().enumerate() {
                let slots = built.slots_of(way);
                built.ways.push(WayOf { template, place, way, slots });
            }
        }
        let mut constants: Vec<Constant> = built.all.iter().filter_map(|it| named(&it.key)).collect();
        constants.sort_unstable();
        constants.dedup();
        built.constants = constants;
        built.joined = (0..built.all.len()).map(|it| built.after(it)).collect();
        built
    }

    fn slots_of(&mut self, way: &Way) -> Vec<usize> {
        let mut slots: Vec<usize> = Vec::new();
        for (place, access) in way.accesses.iter().enumerate() {
            // The one row of a variable is a slot of each variable, whatever they have in common.
            let is_same = |it: &&usize| {
                let slot = &self.all[**it];
                let of = &way.accesses[slot.accesses[0]];
                slot.key == access.key && (matches!(access.key, RowKey::Variable(_)) || of.relation == access.relation)
            };
            if let Some(known) = slots.iter().find(is_same) {
                self.all[*known].accesses.push(place);
            } else {
                slots.push(self.all.len());
                self.all.push(Slot { way: self.ways.len(), key: access.key.clone(), accesses: vec![place] });
            }
        }
        slots
    }

    fn after(&self, slot: usize) -> Vec<usize> {
        let others = 0..self.all.len();
        others.filter(|other| self.conflicting(slot, *other).is_some()).collect()
    }

    /// Two accesses of two slots of which the second may come after the first, if their rows are the same.
    pub(crate) fn conflicting(&self, left: usize, right: usize) -> Option<(usize, usize)> {
        if let (RowKey::Constant(left), RowKey::Constant(right)) = (&self.all[left].key, &self.all[right].key)
            && left != right
        {
            return None;
        }
        self.accesses(left).find_map(|(place, access)| {
            let found = self.accesses(right).find(|it| self.may_follow(access, it.1));
            found.map(|it| (place, it.0))
        })
    }

    /// Is one of the two an access that the other one must come before or after, if they are about one row?
    pub(crate) fn conflict(&self, left: &Access, right: &Access) -> bool {
        let data = left.writes.meets(right.reads) || left.reads.meets(right.writes) || left.writes.meets(right.writes);
        let is_edge = data || self.edges == Edges::AndLocks && left.locks && right.locks;
        left.relation == right.relation && is_edge && !self.make_one_row(left, right)
    }

    /// Can the second be in conflict with the first and come after it?
    pub(crate) fn may_follow(&self, first: &Access, second: &Access) -> bool {
        self.conflict(first, second) && !first.never_precedes(second, self.templates.relations())
    }

    /// Do both make the row, so that only one of them commits?
    pub(crate) fn make_one_row(&self, left: &Access, right: &Access) -> bool {
        let both = [left, right].iter().all(|it| it.kind == AccessKind::Insert);
        both && left.relation == right.relation && !self.templates.relations()[left.relation].shrinks
    }

    /// What a slot's way does there.
    pub(crate) fn accesses(&self, slot: usize) -> impl Iterator<Item = (usize, &'t Access)> {
        let Slot { way, accesses, .. } = &self.all[slot];
        let way: &'t Way = self.ways[*way].way;
        accesses.iter().map(move |it| (*it, &way.accesses[*it]))
    }
}

/// The constant that names a row of a table.
fn named(key: &RowKey) -> Option<Constant> {
    match key {
        RowKey::Constant(Constant::Only) | RowKey::Variable(_) | RowKey::All => None,
        RowKey::Constant(constant) => Some(constant.clone()),
    }
}
