//! Makes a script smaller while it still shows what it shows: without transactions, then without single steps.

use crate::Value;
use crate::script::{Action, Script};

/// The smallest script that is found by leaving things out one after the other. `shows` has the script, perhaps in
/// another order, if it still shows the anomaly, and may have none for want of time.
pub(super) fn shrink(script: Script, shows: &mut dyn FnMut(&Script) -> Option<Script>) -> Script {
    let mut smallest = script;
    while let Some(smaller) = candidates(&smallest).iter().find_map(&mut *shows) {
        smallest = smaller;
    }
    smallest
}

/// The script with one thing less, large things first.
fn candidates(script: &Script) -> Vec<Script> {
    let txns = transactions(script);
    let mut found: Vec<Script> = Vec::new();
    if txns.len() > 1 {
        found.extend(txns.iter().map(|txn| without(script, txn)));
    }
    for txn in &txns {
        let ops = txn.iter().filter(|it| is_operation(&script.steps[**it].action));
        // A transaction without an operation is none.
        if ops.clone().count() > 1 {
            found.extend(ops.map(|it| without(script, &[*it])));
        }
    }
    if !is_plain(script) {
        found.extend((0..script.rows.len()).map(|idx| {
            let mut smaller = script.clone();
            smaller.rows.remove(idx);
            smaller
        }));
    }
    found
}

/// Does it read and write single rows only? Then their names and values can be any.
fn is_plain(script: &Script) -> bool {
    let is_plain = |it: &Action| it.predicate().is_none() && !matches!(it, Action::Insert { .. });
    script.steps.iter().all(|it| is_plain(&it.action))
}

fn is_operation(action: &Action) -> bool {
    !matches!(action, Action::Begin { .. } | Action::Commit | Action::Abort)
}

/// The steps of each transaction.
pub(super) fn transactions(script: &Script) -> Vec<Vec<usize>> {
    let mut txns: Vec<Vec<usize>> = Vec::new();
    for session in script.sessions() {
        for (idx, step) in script.steps.iter().enumerate().filter(|it| it.1.session == session) {
            match txns.last_mut() {
                Some(txn) if !matches!(step.action, Action::Begin { .. }) => txn.push(idx),
                _ => txns.push(vec![idx]),
            }
        }
    }
    txns
}

/// The script without some steps, and without what nobody touches any more.
fn without(script: &Script, dropped: &[usize]) -> Script {
    let kept = script.steps.iter().enumerate().filter(|it| !dropped.contains(&it.0));
    let mut smaller = Script { steps: kept.map(|it| it.1.clone()).collect(), ..script.clone() };
    let touches = |table: &str, row: &str| {
        smaller.steps.iter().any(|it| match (it.action.row(), it.action.predicate()) {
            (Some(touched), _) => touched == (table, row.to_owned()),
            (None, Some((scanned, _))) => scanned == table,
            (None, None) => false,
        })
    };
    let rows: Vec<_> = smaller.rows.iter().filter(|it| touches(&it.0, &it.1)).cloned().collect();
    smaller.rows = rows;
    smaller
}

/// The same script with the names that people use: sessions from `s1`, rows from `x`, values from 0 in their order.
pub(super) fn renamed(script: &Script) -> Script {
    const ROWS: [&str; 6] = ["x", "y", "z", "u", "v", "w"];
    let is_plain = is_plain(script);
    let sessions: Vec<String> = script.sessions().iter().map(|it| (*it).to_owned()).collect();
    let mut rows: Vec<String> = script.rows.iter().map(|it| it.1.clone()).collect();
    let mut values: Vec<i64> = script.rows.iter().filter_map(|it| number(&it.2)).collect();
    for step in &script.steps {
        match &step.action {
            Action::Get { row, .. } => rows.push(row.clone()),
            Action::Put { row, value, .. } => {
                rows.push(row.clone());
                values.extend(number(value));
            }
            Action::Append { row, element, .. } => {
                rows.push(row.clone());
                values.push(*element);
            }
            _ => {}
        }
    }
    let (rows, values) = (distinct(rows), distinct(values));
    let place = |row: &mut String| {
        let idx = rows.iter().position(|it| it == row);
        // A predicate looks at the names.
        if let Some(name) = idx.and_then(|it| ROWS.get(it)).filter(|_| is_plain) {
            (*name).clone_into(row);
        }
    };
    let small = |number: &mut i64| {
        let place = values.iter().position(|it| it == number).filter(|_| is_plain);
        *number = place.map_or(*number, |it| it as i64);
    };
    let mut renamed = script.clone();
    for (_, row, value) in &mut renamed.rows {
        place(row);
        if let Value::Int(number) = value {
            small(number);
        }
    }
    for step in &mut renamed.steps {
        let idx = sessions.iter().position(|it| *it == step.session).unwrap_or_default();
        step.session = format!("s{}", idx + 1);
        match &mut step.action {
            Action::Get { row, .. } => place(row),
            Action::Put { row, value, .. } => {
                place(row);
                if let Value::Int(number) = value {
                    small(number);
                }
            }
            Action::Append { row, element, .. } => {
                place(row);
                small(element);
            }
            _ => {}
        }
    }
    renamed
}

fn number(value: &Value) -> Option<i64> {
    if let Value::Int(number) = value { Some(*number) } else { None }
}

/// Each once, in the order of coming.
fn distinct<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut found = Vec::new();
    for it in all {
        if !found.contains(&it) {
            found.push(it);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_goes() {
        let text = "table t int\nrow t x 0\nrow t y 0\ns1 begin i\ns1 get t x\ns1 get t y\ns2 begin i\ns2 put t y 1\n\
                    s1 put t x 1\ns1 commit\ns2 commit\ns3 begin i\ns3 put t x 2\ns3 commit";
        let mut n_asked = 0;
        let shrunk = shrink(text.parse().unwrap(), &mut |script| {
            n_asked += 1;
            let text = script.to_string();
            (text.contains("s1 put t x 1") && text.contains("s3 put t x 2")).then(|| script.clone())
        });
        let expected =
            "table t int\nrow t x 0\ns1 begin i\ns1 put t x 1\ns1 commit\ns3 begin i\ns3 put t x 2\ns3 commit\n";
        assert_eq!(shrunk.to_string(), expected);
        assert!(n_asked < 20, "{n_asked}");
    }

    #[test]
    fn names_are_made_short_and_equal_values_stay_equal() {
        let text = "table t int\nrow t k7 40\nrow t k9 0\ns3 begin i\ns3 get t k7\ns2 begin i\ns2 put t k9 458\n\
                    s2 commit\ns3 put t k7 458\ns3 put t k8 40\ns3 commit";
        let expected = "table t int\nrow t x 0\nrow t y 1\ns1 begin i\ns1 get t x\ns2 begin i\ns2 put t y 2\n\
                    s2 commit\ns1 put t x 2\ns1 put t z 0\ns1 commit\n";
        assert_eq!(renamed(&text.parse().unwrap()).to_string(), expected);
    }
}
