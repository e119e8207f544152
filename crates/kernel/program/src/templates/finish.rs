//! What a walk leaves: equal keys become one, and what names no row is dropped.

use super::walk::Walk;
use super::{Constant, RowKey, Template, Variable, Way};

impl Walk<'_, '_> {
    /// The way that was gone; nothing if its conditions contradict each other, or if it does nothing.
    pub(super) fn way(self) -> Option<Way> {
        let mut stands_for: Vec<RowKey> = (0..self.variables.len()).map(RowKey::Variable).collect();
        for (left, right) in &self.equal {
            let (left, right) = (resolved(&stands_for, left), resolved(&stands_for, right));
            match (left, right) {
                (left, right) if left == right => {}
                (RowKey::Variable(from), to) | (to, RowKey::Variable(from)) => stands_for[from] = to,
                _ => return None,
            }
        }
        let mut different: Vec<(RowKey, RowKey)> =
            self.different.iter().map(|it| (resolved(&stands_for, &it.0), resolved(&stands_for, &it.1))).collect();
        if different.iter().any(|it| it.0 == it.1) || self.accesses.is_empty() {
            return None;
        }
        let mut accesses = self.accesses;
        for access in &mut accesses {
            access.key = resolved(&stands_for, &access.key);
        }
        let mut used: Vec<usize> = accesses.iter().filter_map(|it| variable(&it.key)).collect();
        used.sort_unstable();
        used.dedup();
        let renamed = |key: &RowKey| match key {
            RowKey::Variable(old) => used.binary_search(old).map(RowKey::Variable).ok(),
            other => Some(other.clone()),
        };
        for access in &mut accesses {
            access.key = renamed(&access.key).unwrap_or(RowKey::All);
        }
        different = different.iter().filter_map(|it| Some((renamed(&it.0)?, renamed(&it.1)?))).collect();
        different.retain(|it| variable(&it.0).is_some() || variable(&it.1).is_some());
        different.sort_unstable();
        different.dedup();
        let variables: Vec<Variable> = used.iter().map(|it| self.variables[*it].clone()).collect();
        Some(Way { variables, different, accesses })
    }
}

fn variable(key: &RowKey) -> Option<usize> {
    match key {
        RowKey::Variable(idx) => Some(*idx),
        RowKey::Constant(_) | RowKey::All => None,
    }
}

fn resolved(stands_for: &[RowKey], key: &RowKey) -> RowKey {
    match key {
        RowKey::Variable(idx) if stands_for[*idx] != *key => resolved(stands_for, &stands_for[*idx]),
        other => other.clone(),
    }
}

/// How many constants are told apart. Where there are more, each may be any row, in each way on its own.
const MAX_CONSTANTS: usize = 6;

/// Makes variables of constants if there are too many of them.
pub(super) fn generalize(templates: &mut [Template]) {
    let ways = || templates.iter().flat_map(|it| &it.ways);
    let named = |it: &RowKey| matches!(it, RowKey::Constant(constant) if *constant != Constant::Only);
    let mut constants: Vec<RowKey> =
        ways().flat_map(|it| &it.accesses).map(|it| it.key.clone()).filter(named).collect();
    constants.sort_unstable();
    constants.dedup();
    if constants.len() <= MAX_CONSTANTS {
        return;
    }
    for way in templates.iter_mut().flat_map(|it| &mut it.ways) {
        for constant in &constants {
            let mut variable = None;
            for access in way.accesses.iter_mut().filter(|it| it.key == *constant) {
                access.key = RowKey::Variable(*variable.get_or_insert_with(|| {
                    way.variables.push(Variable { name: shown(constant), param: None });
                    way.variables.len() - 1
                }));
            }
        }
        way.different.retain(|it| !named(&it.0) && !named(&it.1));
    }
}

fn shown(key: &RowKey) -> String {
    match key {
        RowKey::Constant(Constant::Int(number)) => number.to_string(),
        RowKey::Constant(Constant::Text(text)) => text.clone(),
        _ => String::new(),
    }
}
