//! The orders in which the steps of a script can be taken, those with the fewest changes of session first.
//!
//! A transaction begins with its first statement, and one that writes nothing commits with its last one: elsewhere these
//! steps change nothing. Who writes a row that another open transaction has written waits for its end, and takes no step
//! meanwhile, because databases with locks would make it wait.

use crate::script::{Action, Script, ScriptStep};

/// At most so many orders, the given one first.
pub(super) fn interleavings(script: &Script, at_most: usize) -> Vec<Script> {
    // Steps that are sent together have the order that they are to have.
    if script.has_together() {
        return vec![script.clone()];
    }
    let sessions = script.sessions();
    let tracks: Vec<Vec<Vec<usize>>> = sessions.iter().map(|it| units(script, it)).collect();
    let n_units: usize = tracks.iter().map(Vec::len).sum();
    let mut search =
        InterleaveSearch { script, tracks: &tracks, at_most, orders: vec![(0..script.steps.len()).collect()] };
    for n_changes in sessions.len().saturating_sub(1)..n_units.max(1) {
        search.extend(&mut Vec::new(), n_changes);
    }
    search.orders.into_iter().map(|order| reordered(script, &order)).collect()
}

fn reordered(script: &Script, order: &[usize]) -> Script {
    Script { steps: order.iter().map(|it| script.steps[*it].clone()).collect(), ..script.clone() }
}

/// What a session does, in pieces between which others may do something.
fn units(script: &Script, session: &str) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    let (mut begins, mut writes) = (false, false);
    for (idx, step) in script.steps.iter().enumerate().filter(|it| it.1.session == session) {
        let is_last = matches!(step.action, Action::Commit | Action::Abort);
        match units.last_mut() {
            Some(unit) if begins || (is_last && !writes) => unit.push(idx),
            _ => units.push(vec![idx]),
        }
        begins = matches!(step.action, Action::Begin { .. });
        writes = !begins && (writes || step.action.is_write());
    }
    units
}

/// The row that a step writes or locks, as far as the script says.
fn row_written(step: &ScriptStep) -> Option<(&str, String)> {
    step.action.row().filter(|_| step.action.is_write())
}

struct InterleaveSearch<'s> {
    script: &'s Script,
    /// By session, its pieces.
    tracks: &'s [Vec<Vec<usize>>],
    at_most: usize,
    orders: Vec<Vec<usize>>,
}

impl InterleaveSearch<'_> {
    /// Adds the orders that begin with these turns and have so many more changes of session.
    fn extend(&mut self, turns: &mut Vec<usize>, n_changes: usize) {
        if self.orders.len() >= self.at_most {
            return;
        }
        let n_taken = |session: usize| turns.iter().filter(|it| **it == session).count();
        let has_more = |session: &usize| n_taken(*session) < self.tracks[*session].len();
        let mut ready: Vec<usize> = (0..self.tracks.len()).filter(has_more).collect();
        if ready.is_empty() {
            self.add(turns, n_changes);
            return;
        }
        let waiting = waiting(self.script, &self.order(turns));
        let names = self.script.sessions();
        // Where all wait for each other, the database ends one of them.
        if ready.iter().any(|it| !waiting.contains(&names[*it])) {
            ready.retain(|it| !waiting.contains(&names[*it]));
        }
        for session in ready {
            let is_change = turns.last().is_some_and(|it| *it != session);
            if let Some(n_left) = n_changes.checked_sub(usize::from(is_change)) {
                turns.push(session);
                self.extend(turns, n_left);
                turns.pop();
            }
        }
    }

    fn add(&mut self, turns: &[usize], n_changes: usize) {
        let order = self.order(turns);
        if n_changes == 0 && order != self.orders[0] {
            self.orders.push(order);
        }
    }

    fn order(&self, turns: &[usize]) -> Vec<usize> {
        let mut next = vec![0; self.tracks.len()];
        let mut order = Vec::new();
        for session in turns {
            order.extend(&self.tracks[*session][next[*session]]);
            next[*session] += 1;
        }
        order
    }
}

/// The sessions that wait for a lock after these steps.
fn waiting<'s>(script: &'s Script, order: &[usize]) -> Vec<&'s str> {
    // Who holds or waits for a row, in the order of coming.
    let mut queues: Vec<((&str, String), Vec<&str>)> = Vec::new();
    for step in order.iter().map(|it| &script.steps[*it]) {
        let session = step.session.as_str();
        if matches!(step.action, Action::Commit | Action::Abort) {
            for (_, queue) in &mut queues {
                queue.retain(|other| *other != session);
            }
        } else if let Some(row) = row_written(step) {
            match queues.iter_mut().find(|it| it.0 == row) {
                Some((_, queue)) if queue.contains(&session) => {}
                Some((_, queue)) => queue.push(session),
                None => queues.push((row, vec![session])),
            }
        }
    }
    queues.into_iter().flat_map(|it| it.1.into_iter().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, at_most: usize) -> Vec<String> {
        let script: Script = text.parse().unwrap();
        let word = |step: &ScriptStep| {
            let action = match &step.action {
                Action::Begin { .. } => "b".to_owned(),
                Action::Get { row, .. } => format!("r{row}"),
                Action::Put { row, .. } => format!("w{row}"),
                Action::Commit => "c".to_owned(),
                other => format!("{other:?}"),
            };
            format!("{}{action}", step.session.trim_start_matches('s'))
        };
        let line = |it: &Script| it.steps.iter().map(word).collect::<Vec<_>>().join(" ");
        interleavings(&script, at_most).iter().map(line).collect()
    }

    #[test]
    fn the_given_order_comes_first_and_then_those_with_few_changes() {
        let text = "s1 begin i\ns2 begin i\ns1 get t x\ns2 put t x 1\ns2 commit\ns1 commit";
        assert_eq!(
            shown(text, 99),
            ["1b 2b 1rx 2wx 2c 1c", "1b 1rx 1c 2b 2wx 2c", "2b 2wx 2c 1b 1rx 1c", "2b 2wx 1b 1rx 1c 2c"]
        );
        assert_eq!(shown(text, 2).len(), 2);
    }

    #[test]
    fn a_session_takes_no_step_while_it_waits_for_a_lock() {
        let text = "s1 begin i\ns1 put t x 1\ns1 commit\ns2 begin i\ns2 put t x 2\ns2 commit";
        let orders = shown(text, 99);
        assert!(orders.contains(&"1b 1wx 2b 2wx 1c 2c".to_owned()), "{orders:?}");
        assert!(!orders.contains(&"1b 1wx 2b 2wx 2c 1c".to_owned()), "{orders:?}");
        // Both wait for each other, and the orders still end.
        let text =
            "s1 begin i\ns1 put t x 1\ns1 put t y 1\ns1 commit\ns2 begin i\ns2 put t y 2\ns2 put t x 2\ns2 commit";
        assert!(shown(text, 999).iter().any(|it| it.starts_with("1b 1wx 2b 2wy 1wy 2wx")), "deadlocks are tried");
    }

    #[test]
    fn each_order_is_there_once() {
        let text = "s1 begin i\ns1 get t x\ns1 put t y 1\ns1 commit\ns2 begin i\ns2 get t y\ns2 put t x 1\ns2 commit";
        let mut orders = shown(text, 999);
        let n_orders = orders.len();
        orders.sort();
        orders.dedup();
        // Three pieces each.
        assert_eq!((n_orders, orders.len()), (20, 20));
    }
}
