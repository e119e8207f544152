//! What would repair a program, found by trying: the smallest changes first.

use crate::answer::Verdict;
use crate::level::{DatabaseLevel, Isolation};
use crate::verify::Verifier;
use iso_evidence::{Budget, StopReason};
use iso_program::{InstanceId, Program, ReadMode, Span};
use iso_spec::Level;

/// A change that makes a program keep its promises under a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Lock what these places of the text read (`for update`).
    Lock(Vec<Span>),
    /// Run these transactions, by their names, so that they see everything before them, as under serializability.
    Raise(Vec<String>),
    /// Let these statements compute from the row itself, as `+=` does, instead of from what was read before.
    Update(Vec<Span>),
    /// Run everything at this level of the same database.
    Stronger(DatabaseLevel),
}

/// More than this many places or transactions at once are not tried.
const MAX_TOGETHER: usize = 2;

/// Tries which changes make the program keep its promises under the level; of each kind only the smallest are returned.
///
/// What a database does anyway is not suggested: an update locks its row, whether anybody asks for it or not.
pub fn repairs(program: &Program, isolation: Isolation, budget: &Budget<'_>) -> Result<Vec<Repair>, StopReason> {
    match isolation {
        Isolation::Paper(level) => {
            let mut repairs = locks(program, isolation, budget)?;
            repairs.extend(raises(program, level, budget)?);
            Ok(repairs)
        }
        Isolation::Database(of) => {
            let mut repairs = updates(program, isolation, budget)?;
            repairs.extend(locks(program, isolation, budget)?);
            repairs.extend(stronger(program, of, budget)?);
            Ok(repairs)
        }
    }
}

fn updates(program: &Program, isolation: Isolation, budget: &Budget<'_>) -> Result<Vec<Repair>, StopReason> {
    smallest(&program.updatable(), &mut |chosen| {
        let updating = program.updating(chosen);
        holds(&mut Verifier::new(&updating), isolation, &[], budget)
    })
    .map(|found| found.into_iter().map(Repair::Update).collect())
}

/// The weakest one that is enough.
fn stronger(program: &Program, than: DatabaseLevel, budget: &Budget<'_>) -> Result<Option<Repair>, StopReason> {
    let mut verifier = Verifier::new(program);
    for level in than.database.levels().iter().skip_while(|it| **it != than).skip(1) {
        if holds(&mut verifier, (*level).into(), &[], budget)? {
            return Ok(Some(Repair::Stronger(*level)));
        }
    }
    Ok(None)
}

fn locks(program: &Program, level: Isolation, budget: &Budget<'_>) -> Result<Vec<Repair>, StopReason> {
    let is_open = |mode: ReadMode| match level {
        Isolation::Paper(_) => !matches!(mode, ReadMode::ForUpdate | ReadMode::Search),
        Isolation::Database(_) => mode == ReadMode::Plain,
    };
    let mut places: Vec<Span> = Vec::new();
    for read in program.instances().iter().flat_map(|it| &it.reads) {
        if is_open(read.mode) && !places.contains(&read.span) {
            places.push(read.span);
        }
    }
    smallest(&places, &mut |chosen| {
        let locked = program.locking(chosen);
        holds(&mut Verifier::new(&locked), level, &[], budget)
    })
    .map(|found| found.into_iter().map(Repair::Lock).collect())
}

fn raises(program: &Program, level: Level, budget: &Budget<'_>) -> Result<Vec<Repair>, StopReason> {
    // With a source for each read nobody sees transactions as a whole.
    if level == Level::ReadCommitted {
        return Ok(Vec::new());
    }
    let mut names: Vec<String> = Vec::new();
    for instance in program.instances() {
        if !names.contains(&instance.txn) {
            names.push(instance.txn.clone());
        }
    }
    let mut verifier = Verifier::new(program);
    smallest(&names, &mut |chosen| {
        let is_raised = |it: &InstanceId| chosen.contains(&program.instance(*it).txn);
        let raised: Vec<InstanceId> = program.instance_ids().filter(is_raised).collect();
        holds(&mut verifier, level.into(), &raised, budget)
    })
    .map(|found| found.into_iter().map(Repair::Raise).collect())
}

fn holds(
    verifier: &mut Verifier<'_>,
    level: Isolation,
    raised: &[InstanceId],
    budget: &Budget<'_>,
) -> Result<bool, StopReason> {
    match verifier.verify(level, raised, budget).verdict {
        Verdict::Holds => Ok(true),
        Verdict::Violated(_) => Ok(false),
        Verdict::Unknown(reason) => Err(reason),
    }
}

/// All smallest selections that do, one element or a few.
fn smallest<T: Clone>(
    of: &[T],
    does: &mut dyn FnMut(&[T]) -> Result<bool, StopReason>,
) -> Result<Vec<Vec<T>>, StopReason> {
    for size in 1..=MAX_TOGETHER.min(of.len()) {
        let mut found = Vec::new();
        for chosen in selections(of, size) {
            if does(&chosen)? {
                found.push(chosen);
            }
        }
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

fn selections<T: Clone>(of: &[T], size: usize) -> Vec<Vec<T>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let with = |idx: usize| {
        let first = of[idx].clone();
        selections(&of[idx + 1..], size - 1).into_iter().map(move |rest| [vec![first.clone()], rest].concat())
    };
    (0..of.len()).flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_all_subsets_of_a_size() {
        assert_eq!(selections(&[1, 2, 3], 2), [[1, 2], [1, 3], [2, 3]]);
        assert_eq!(smallest(&[1, 2, 3], &mut |it| Ok(it.iter().sum::<i32>() == 5)), Ok(vec![vec![2, 3]]));
    }
}
