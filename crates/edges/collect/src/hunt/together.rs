//! The same script with commits that are sent at the same time: some anomalies show only in a race.

use crate::script::{Action, Script, ScriptStep};
use crate::{Table, Value};

/// Scripts in which transactions commit together that ran at the same time: all of these at the end, and neighbours where they
/// are. None if there are none.
pub(super) fn together(script: &Script) -> Vec<Script> {
    let mut found: Vec<Script> = Vec::new();
    for variant in [at_the_end(script), neighbours(script)].into_iter().flatten() {
        if variant.has_together() && !found.contains(&variant) {
            found.push(variant);
        }
    }
    found
}

/// The last commits of all sessions come last, together.
fn at_the_end(script: &Script) -> Option<Script> {
    if script.has_together() {
        return None;
    }
    let last_of = |session: &str| script.steps.iter().rposition(|it| it.session == session);
    let commits: Vec<usize> = script
        .sessions()
        .into_iter()
        .filter_map(last_of)
        .filter(|it| script.steps[*it].action == Action::Commit)
        .collect();
    Some(grouped(script, &[commits]))
}

/// Commits of transactions that overlap are sent together, when the last of them is.
fn neighbours(script: &Script) -> Option<Script> {
    if script.has_together() {
        return None;
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (idx, step) in script.steps.iter().enumerate().filter(|it| it.1.action == Action::Commit) {
        let begin = script.steps[..idx]
            .iter()
            .rposition(|it| it.session == step.session && matches!(it.action, Action::Begin { .. }));
        let fits = |group: &Vec<usize>| {
            let last = group.last().copied().unwrap_or_default();
            // It began before the others committed, and none of them has done anything since.
            begin.is_some_and(|begin| begin < last)
                && !script.steps[group[0] + 1..idx].iter().any(|later| {
                    later.action != Action::Commit && group.iter().any(|it| script.steps[*it].session == later.session)
                })
                && !group.iter().any(|it| script.steps[*it].session == step.session)
        };
        match groups.last_mut() {
            Some(group) if fits(group) => group.push(idx),
            _ => groups.push(vec![idx]),
        }
    }
    Some(grouped(script, &groups))
}

/// The script with these steps moved to the last one of their group, and sent together.
fn grouped(script: &Script, groups: &[Vec<usize>]) -> Script {
    let mut steps = Vec::new();
    for (idx, step) in script.steps.iter().enumerate() {
        match groups.iter().position(|it| it.contains(&idx)) {
            None => steps.push(step.clone()),
            Some(nth) if groups[nth].iter().max() == Some(&idx) => {
                for member in &groups[nth] {
                    let mut member = script.steps[*member].clone();
                    member.together = (groups[nth].len() > 1).then_some(nth + 1);
                    steps.push(member);
                }
            }
            Some(_) => {}
        }
    }
    Script { steps, ..script.clone() }
}

/// So many sessions race where nobody knows who must: the fewer, the closer together they are.
const RACERS: usize = 2;

/// Scripts in which two sessions change one row at the same time, and each reads it afterwards: one of a list, and one of a
/// register. What is lost then is missed by its own session.
pub(super) fn races(isolation: &str) -> Vec<Script> {
    let race = |table: &str, change: &dyn Fn(usize) -> Vec<Action>| {
        let (table, row) = (table.to_owned(), "x".to_owned());
        let begin = || Action::Begin { isolation: isolation.to_owned() };
        let session = |nth: usize| format!("s{}", nth + 1);
        let mut steps = Vec::new();
        for nth in 0..RACERS {
            steps.push(ScriptStep::alone(session(nth), begin()));
            steps.extend(change(nth).into_iter().map(|it| ScriptStep::alone(session(nth), it)));
        }
        steps.extend(
            (0..RACERS).map(|nth| ScriptStep { together: Some(1), ..ScriptStep::alone(session(nth), Action::Commit) }),
        );
        for nth in 0..RACERS {
            let get = Action::Get { table: table.clone(), row: row.clone() };
            steps.extend([begin(), get, Action::Commit].map(|it| ScriptStep::alone(session(nth), it)));
        }
        steps
    };
    let (list, register) = ("lists".to_owned(), "kv".to_owned());
    let row = || "x".to_owned();
    let append = |nth: usize| vec![Action::Append { table: list.clone(), row: row(), element: nth as i64 + 1 }];
    let update = |nth: usize| {
        let get = Action::Get { table: register.clone(), row: row() };
        vec![get, Action::Put { table: register.clone(), row: row(), value: Value::Int(nth as i64 + 1) }]
    };
    vec![
        Script {
            tables: vec![Table::of_texts(list.clone())],
            rows: vec![(list.clone(), row(), Value::Text(String::new()))],
            steps: race(&list, &append),
        },
        Script {
            tables: vec![Table::of_ints(register.clone())],
            rows: vec![(register.clone(), row(), Value::Int(0))],
            steps: race(&register, &update),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let script: Script = text.parse().unwrap();
        let last =
            |it: &Script| it.to_string().lines().skip_while(|it| !it.contains("begin")).collect::<Vec<_>>().join(" / ");
        together(&script).iter().map(last).collect()
    }

    #[test]
    fn commits_of_transactions_that_overlap_are_sent_together() {
        let skew = "s1 begin i\ns2 begin i\ns1 put t x 1\ns2 put t y 1\ns1 commit\ns2 commit";
        let expected = "s1 begin i / s2 begin i / s1 put t x 1 / s2 put t y 1 / together { s1 commit; s2 commit }";
        assert_eq!(shown(skew), [expected]);
    }

    #[test]
    fn who_comes_later_stays_later() {
        let text = "s1 begin i\ns2 begin i\ns1 commit\ns2 commit\ns3 begin i\ns3 get t x\ns3 commit";
        let expected = [
            "s1 begin i / s2 begin i / s3 begin i / s3 get t x / together { s1 commit; s2 commit; s3 commit }",
            "s1 begin i / s2 begin i / together { s1 commit; s2 commit } / s3 begin i / s3 get t x / s3 commit",
        ];
        assert_eq!(shown(text), expected);
        assert!(shown("s1 begin i\ns1 commit\ns1 begin i\ns1 commit").is_empty());
    }
}
