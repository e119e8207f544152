//! Makes a script smaller while it still shows what it shows: without transactions, then without single steps.

use crate::script::{Action, Script};

/// The smallest script that is found by leaving things out one after the other. `shows` says whether one still shows the
/// anomaly, and may say no for want of time.
pub(super) fn shrink(script: Script, shows: &mut dyn FnMut(&Script) -> bool) -> Script {
    let mut smallest = script;
    loop {
        let smaller = candidates(&smallest).into_iter().find(|it| shows(it));
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
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
    found
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
        smaller.steps.iter().any(|it| match &it.action {
            Action::Get { table: t, row: r }
            | Action::Put { table: t, row: r, .. }
            | Action::Append { table: t, row: r, .. } => t == table && r == row,
            Action::Scan { table: t, prefix } => t == table && row.starts_with(prefix.as_str()),
            _ => false,
        })
    };
    let rows: Vec<_> = smaller.rows.iter().filter(|it| touches(&it.0, &it.1)).cloned().collect();
    smaller.rows = rows;
    smaller
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
            text.contains("s1 put t x 1") && text.contains("s3 put t x 2")
        });
        let expected =
            "table t int\nrow t x 0\ns1 begin i\ns1 put t x 1\ns1 commit\ns3 begin i\ns3 put t x 2\ns3 commit\n";
        assert_eq!(shrunk.to_string(), expected);
        assert!(n_asked < 20, "{n_asked}");
    }
}
