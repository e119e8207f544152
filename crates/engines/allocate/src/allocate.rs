//! The weakest levels for which templates are robust.
//!
//! Whether a transaction can be split at READ COMMITTED or with a snapshot does not depend on the levels of others. So each
//! has the weakest of these at which it cannot be, and the rest is serializable. A serializable transaction can be split
//! only if the one after it or the last one is not, and no level but serializable prevents that: these are raised, until
//! nothing is left to raise.

use crate::danger::{Danger, Edges, danger_in};
use crate::slots::Slots;
use iso_evidence::{Budget, Note, StopReason};
use iso_program::{Templates, TxnLevel};

/// Levels for all templates, and what was in the way of weaker ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// By template, its level; nothing if none of the levels is enough.
    pub levels: Vec<Option<TxnLevel>>,
    /// By template, each weaker level that was tried and the split run that it leaves. A serializable template may be so
    /// because of a run in which another one is split; this run is the last then.
    pub blocked: Vec<Vec<(TxnLevel, Danger)>>,
}

/// Are the templates robust at these levels? If not, a split run.
pub fn is_robust(
    templates: &Templates,
    levels: &[TxnLevel],
    edges: Edges,
    budget: &Budget<'_>,
) -> Result<Result<(), Danger>, StopReason> {
    if levels.iter().all(|it| *it == TxnLevel::Serializable) {
        return Ok(Ok(()));
    }
    let slots = Slots::new(templates, edges);
    for split in 0..templates.templates().len() {
        if let Some(danger) = danger_in(&slots, levels, split, budget)? {
            return Ok(Err(danger));
        }
    }
    Ok(Ok(()))
}

/// Finds the weakest levels among those of the ladder, which goes from weak to strong.
pub fn allocate(templates: &Templates, ladder: &[TxnLevel], budget: &Budget<'_>) -> Result<Allocation, StopReason> {
    let slots = Slots::new(templates, Edges::AndLocks);
    let n_templates = templates.templates().len();
    let mut allocation = Allocation { levels: vec![None; n_templates], blocked: vec![Vec::new(); n_templates] };
    for template in 0..n_templates {
        budget.note(Note::Reached { n_done: template, of: n_templates });
        for level in ladder.iter().copied() {
            if level == TxnLevel::Serializable {
                allocation.levels[template] = Some(level);
                break;
            }
            let Some(danger) = danger_in(&slots, &vec![level; n_templates], template, budget)? else {
                allocation.levels[template] = Some(level);
                break;
            };
            allocation.blocked[template].push((level, danger));
        }
    }
    if ladder.contains(&TxnLevel::Serializable) {
        raise(&slots, &mut allocation, budget)?;
    }
    Ok(allocation)
}

/// Raises whoever makes a serializable transaction be split.
fn raise(slots: &Slots<'_>, allocation: &mut Allocation, budget: &Budget<'_>) -> Result<(), StopReason> {
    let serializable = TxnLevel::Serializable;
    loop {
        let levels: Vec<TxnLevel> = allocation.levels.iter().map(|it| it.unwrap_or(serializable)).collect();
        let mut found = None;
        for split in (0..levels.len()).filter(|it| levels[*it] == serializable) {
            found = danger_in(slots, &levels, split, budget)?;
            if found.is_some() {
                break;
            }
        }
        let Some(danger) = found else { return Ok(()) };
        let mut raised = vec![danger.members[1].template, danger.members[danger.members.len() - 1].template];
        if raised.iter().all(|it| levels[*it] == serializable) {
            // Locks alone join the last one to the first, which the level does not watch: only all together is safe.
            raised = (0..levels.len()).collect();
        }
        raised.sort_unstable();
        raised.dedup();
        for template in raised.into_iter().filter(|it| levels[*it] != serializable) {
            allocation.levels[template] = Some(serializable);
            allocation.blocked[template].push((levels[template], danger.clone()));
        }
        if allocation.levels.iter().all(|it| *it == Some(serializable)) {
            return Ok(());
        }
    }
}
