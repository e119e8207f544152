//! Split runs that are not serializable, as found.

use crate::question::{Question, values_of};
use crate::search::search;
use crate::slots::Slots;
use iso_evidence::{Budget, StopReason};
use iso_program::{Constant, Templates, TxnLevel};

/// What makes one transaction come before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edges {
    /// One writes what the other one reads or writes: what serializability is about.
    Data,
    /// Also that both lock a row. If there is no split run with these edges, there is no unserializable run.
    AndLocks,
}

/// The value of a variable that names rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowValue {
    /// A constant of the program.
    Constant(Constant),
    /// Any value that is different from all others.
    Symbol(usize),
}

/// A transaction of a split run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Its template, by place.
    pub template: usize,
    /// Its way, by place in the template.
    pub way: usize,
    /// By variable of the way, its value.
    pub values: Vec<RowValue>,
}

/// An access of a member that comes before one of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// Whose access comes before, by place in [`Danger::members`].
    pub from: usize,
    /// The access, by place in its way.
    pub before: usize,
    /// Whose comes after.
    pub to: usize,
    /// The access.
    pub after: usize,
}

/// A run that is not serializable: the first member executes up to a read, the others follow one by one, and the first
/// goes on to its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Danger {
    /// The transactions; the first is split.
    pub members: Vec<Member>,
    /// The read after which it is split, by place in its way.
    pub read: usize,
    /// Each member before the next, and the last before the first.
    pub cycle: Vec<Edge>,
}

/// The shortest split run in which a transaction of this template is split, at the level that it has in `levels`.
///
/// Levels of other transactions matter only if it is serializable.
pub fn danger(
    templates: &Templates,
    levels: &[TxnLevel],
    split: usize,
    edges: Edges,
    budget: &Budget<'_>,
) -> Result<Option<Danger>, StopReason> {
    danger_in(&Slots::new(templates, edges), levels, split, budget)
}

/// The shortest split run after each read of each way of this template, the shortest of all first.
pub fn dangers(
    templates: &Templates,
    levels: &[TxnLevel],
    split: usize,
    edges: Edges,
    budget: &Budget<'_>,
) -> Result<Vec<Danger>, StopReason> {
    let mut found = dangers_in(&Slots::new(templates, edges), levels, split, Wanted::AfterEachRead, budget)?;
    found.sort_by_key(|it| it.members.len());
    Ok(found)
}

pub(crate) fn danger_in(
    slots: &Slots<'_>,
    levels: &[TxnLevel],
    split: usize,
    budget: &Budget<'_>,
) -> Result<Option<Danger>, StopReason> {
    // The last one is the shortest.
    dangers_in(slots, levels, split, Wanted::Shortest, budget).map(|mut it| it.pop())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Shortest,
    AfterEachRead,
}

fn dangers_in(
    slots: &Slots<'_>,
    levels: &[TxnLevel],
    split: usize,
    wanted: Wanted,
    budget: &Budget<'_>,
) -> Result<Vec<Danger>, StopReason> {
    let mut found: Vec<Danger> = Vec::new();
    let mut limit = usize::MAX;
    for (idx, of) in slots.ways.iter().enumerate().filter(|it| it.1.template == split) {
        for (read, access) in of.way.accesses.iter().enumerate() {
            if access.reads.is_empty() || access.locks && access.is_certain {
                continue;
            }
            if wanted == Wanted::AfterEachRead {
                limit = usize::MAX;
            }
            let mut after_read = None;
            for values in values_of(slots, idx, read) {
                budget.check()?;
                let question = Question::new(slots, levels, idx, read, values);
                if let Some(danger) = search(&question, limit) {
                    limit = danger.members.len();
                    after_read = Some(danger);
                }
            }
            found.extend(after_read);
        }
    }
    Ok(found)
}
