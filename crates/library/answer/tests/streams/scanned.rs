//! Streams of recordings with scans, against the engine in memory.

use super::*;
use iso_history::{Column, Comparison, Predicate, ValueId};
use std::collections::BTreeMap;

/// What a run of a store may do wrong.
#[derive(Clone, Copy, Debug)]
struct Mistakes {
    /// How old a snapshot may be, in commits.
    staleness: usize,
    /// Of a hundred scans, so many do not return one of their rows.
    lost_rows: usize,
}

/// Rows by their numbers, and what each holds.
type State = BTreeMap<usize, i64>;

/// A predicate of the tables that `run_of_tables` fills, and what it asks of a row.
fn predicate(random: &mut Random, n_rows: usize) -> (Predicate, Box<dyn Fn(usize, i64) -> bool>) {
    let column = || Column::Named("v".into());
    let as_int = |it: usize| i64::try_from(it).unwrap();
    match random.below(5) {
        0 => (Predicate::All, Box::new(|_, _| true)),
        1 => {
            let low = random.below(n_rows);
            let high = low + random.below(n_rows);
            let range = Predicate::Between(Column::Key, as_int(low).into(), as_int(high).into());
            (range, Box::new(move |row, _| (low..=high).contains(&row)))
        }
        2 => {
            let limit = as_int(random.below(100));
            let predicate = Predicate::Compare(column(), Comparison::Less, limit.into());
            (predicate, Box::new(move |_, value| value % 100 < limit && value < 100))
        }
        3 => {
            let predicate = Predicate::Remainder { column: column(), divisor: 2, remainder: 1 };
            (predicate, Box::new(|_, value| value % 2 == 1))
        }
        _ => {
            let row = random.below(n_rows);
            let predicate = Predicate::Compare(Column::Key, Comparison::Equal, as_int(row).into());
            (predicate, Box::new(move |it, _| it == row))
        }
    }
}

#[allow(clippy::too_many_lines, reason = "a case for each thing that a transaction may do")]
/// Transactions of several sessions that scan, read, insert, update and delete rows, each on one snapshot.
fn run_of_tables(random: &mut Random, n_txns: usize, mistakes: Mistakes) -> History {
    let (n_sessions, n_rows) = (2 + random.below(4), 2 + random.below(8));
    let n_values = if random.percent(70) { 100_000 } else { 4 };
    let (is_timed, length) = (random.percent(70), 5 + random.below(40));
    let mut builder = HistoryBuilder::new();
    let rows: Vec<KeyId> = (0..n_rows).map(|it| builder.key(format!("t/{it}").as_str().into())).collect();
    let other = builder.key("x".into());
    let null = builder.value_named(Name::Null);
    let sessions: Vec<SessionId> = (0..n_sessions).map(|it| builder.session(&format!("s{it}"))).collect();
    let mut first = State::new();
    for (row, key) in rows.iter().enumerate() {
        if random.percent(50) {
            first.insert(row, 1);
            let one = builder.value_named(Name::Int(1));
            builder.initial(*key, one, Place::default());
        }
    }
    let mut states = vec![first];
    for nth in 0..i64::try_from(n_txns).unwrap() {
        let time = 10 * nth;
        builder.begin(sessions[random.below(n_sessions)], Place::default());
        if is_timed {
            builder.times(Some(time - i64::try_from(random.below(length)).unwrap()), Some(time));
        }
        let ago = if random.percent(15) { random.below(mistakes.staleness + 1) } else { 0 };
        let mut seen = states[states.len().saturating_sub(1 + ago)].clone();
        let mut written: BTreeMap<usize, Option<i64>> = BTreeMap::new();
        for nth_op in 0..=i64::try_from(random.below(3)).unwrap() {
            let row = random.below(n_rows);
            let new = (10 * nth + nth_op + 2) % n_values;
            match random.below(10) {
                0..4 => {
                    let (predicate, asks) = predicate(random, n_rows);
                    let mut found: Vec<(KeyId, ValueId)> = Vec::new();
                    for (row, value) in seen.iter().filter(|it| asks(*it.0, *it.1)) {
                        found.push((rows[*row], builder.value_named(Name::Int(*value))));
                    }
                    if !found.is_empty() && random.percent(mistakes.lost_rows) {
                        found.remove(random.below(found.len()));
                    }
                    builder.scan("t", predicate, found);
                }
                4 => {
                    let value = seen.get(&row).map_or(null, |it| builder.value_named(Name::Int(*it)));
                    builder.read(rows[row], value);
                }
                5..8 => {
                    seen.insert(row, new);
                    written.insert(row, Some(new));
                    let value = builder.value_named(Name::Int(new));
                    builder.write(rows[row], value);
                }
                8 if seen.contains_key(&row) => {
                    seen.remove(&row);
                    written.insert(row, None);
                    builder.write(rows[row], null);
                }
                _ => builder.write(other, null),
            }
        }
        let outcome = match random.below(100) {
            0..4 => Outcome::Aborted,
            4..6 => Outcome::Indeterminate,
            _ => Outcome::Committed,
        };
        builder.end(outcome);
        if outcome == Outcome::Committed || (outcome == Outcome::Indeterminate && random.percent(50)) {
            let mut next = states.last().unwrap().clone();
            for (row, value) in written {
                match value {
                    Some(value) => drop(next.insert(row, value)),
                    None => drop(next.remove(&row)),
                }
            }
            states.push(next);
        }
    }
    builder.finish().unwrap()
}

#[test]
fn random_runs_with_scans_are_judged_as_in_memory_whatever_the_window() {
    let mut tally = Tally::default();
    for seed in seeds(300) {
        let mut random = Random::new(seed);
        let lost_rows = if random.percent(40) { 10 } else { 0 };
        let mistakes = Mistakes { staleness: random.below(4), lost_rows };
        let n_txns = 2 + random.below(14);
        let history = run_of_tables(&mut random, n_txns, mistakes);
        for window in [1, 2 + random.below(4), 100] {
            tally.compare(&history, window);
        }
    }
    assert!(tally.held > 1000 && tally.violated > 1000, "{tally:?}");
}

/// The levels whose scans are streamed.
const STRONG: [Level; 5] = [
    Level::StrictSerializable,
    Level::Serializable,
    Level::StrongSnapshotIsolation,
    Level::SnapshotIsolation,
    Level::PrefixConsistency,
];

#[test]
fn long_runs_with_scans_are_judged_as_in_memory_and_hardly_anything_is_left_open() {
    let (mut n_decided, mut n_open) = (0, 0);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let staleness = if random.percent(50) { 0 } else { 2 };
        let history = run_of_tables(&mut random, 150, Mistakes { staleness, lost_rows: 0 });
        let told = Told::new(&history).unwrap();
        let window = 10 + random.below(40);
        let mut saved = Saved::default();
        let streamed = told.check(&STRONG, window, &mut saved, &Budget::unlimited()).unwrap();
        for (level, standing) in streamed.standings() {
            if let Standing::Refused(wrong) = standing {
                panic!("{wrong}\n{}", show(&history));
            }
            match streamed.is_allowed(level) {
                Some(found) => {
                    n_decided += 1;
                    let expected = check(&history, level, &Budget::unlimited()).is_allowed();
                    assert_eq!(Some(found), expected, "{level}, seed {seed}:\n{}", show(&history));
                    if found {
                        saved.replay(&told, level, window);
                    }
                }
                None => n_open += 1,
            }
        }
    }
    assert!(n_open < n_decided, "{n_open} open, {n_decided} decided");
}

/// A session, what a scan returned there, and the row that was written after that.
type ScanAndWrite = (&'static str, Vec<(String, i64)>, &'static str, Option<i64>);

#[test]
fn the_smallest_histories_with_scans_are_decided_in_a_window() {
    let scan = |rows: &[(&str, i64)]| rows.iter().map(|it| (it.0.to_owned(), it.1)).collect::<Vec<_>>();
    let cases: [(&str, [ScanAndWrite; 2], [bool; 3]); 4] = [
        // Phantoms: each inserts what the scan of the other one would have returned.
        ("phantom", [("a", scan(&[]), "t/1", Some(1)), ("b", scan(&[]), "t/2", Some(1))], [false, true, true]),
        (
            "one sees the other",
            [("a", scan(&[]), "t/1", Some(1)), ("b", scan(&[("t/1", 1)]), "t/2", Some(1))],
            [true; 3],
        ),
        // Both make the row that neither saw.
        ("lost insert", [("a", scan(&[]), "t/1", Some(1)), ("b", scan(&[]), "t/1", Some(2))], [false, false, true]),
        // A session does not see its own row.
        ("own row", [("a", scan(&[]), "t/1", Some(1)), ("a", scan(&[]), "t/2", Some(1))], [false; 3]),
    ];
    for (name, txns, expected) in cases {
        let mut builder = HistoryBuilder::new();
        for (session, rows, row, value) in txns {
            let session = builder.session(session);
            builder.begin(session, Place::default());
            let rows: Vec<_> = rows
                .iter()
                .map(|it| (builder.key(it.0.as_str().into()), builder.value_named(Name::Int(it.1))))
                .collect();
            builder.scan("t", Predicate::All, rows);
            let (row, value) = (builder.key(row.into()), builder.value_named(value.map_or(Name::Null, Name::Int)));
            builder.write(row, value);
            builder.end(Outcome::Committed);
        }
        let history = builder.finish().unwrap();
        let told = Told::new(&history).unwrap();
        let levels = [Level::Serializable, Level::SnapshotIsolation, Level::PrefixConsistency];
        let streamed = told.check(&levels, 100, &mut (), &Budget::unlimited()).unwrap();
        let found: Vec<Option<bool>> = levels.iter().map(|it| streamed.is_allowed(*it)).collect();
        assert_eq!(found, expected.map(Some), "{name}");
    }
}

#[test]
fn a_check_with_scans_goes_on_after_a_saved_schedule_and_a_wrong_one_is_refused() {
    let (mut n_resumed, mut n_refused, mut n_changed) = (0, 0, 0);
    for seed in seeds(60) {
        let mut random = Random::new(seed);
        let history = run_of_tables(&mut random, 60, Mistakes { staleness: 0, lost_rows: 0 });
        let told = Told::new(&history).unwrap();
        let window = 5 + random.below(20);
        for level in STRONG {
            let mut saved = Saved::default();
            let whole = told.check(&[level], window, &mut saved, &Budget::unlimited()).unwrap();
            let steps: Vec<_> = saved.steps.into_iter().map(|(_, txn, step, sources)| (txn, step, sources)).collect();
            let cuts = cuts(&steps);
            let cut = cuts[random.below(cuts.len())];
            let mut more = Saved::default();
            let goes_on = told.check_after((level, window), &steps[..cut], &mut more, &Budget::unlimited()).unwrap();
            let expected = check(&history, level, &Budget::unlimited()).is_allowed();
            for check in [&whole, &goes_on.unwrap()] {
                let found = check.is_allowed(level);
                assert!(found.is_none() || found == expected, "{level}, seed {seed}:\n{}", show(&history));
                n_resumed += usize::from(found == Some(true));
            }
            if whole.is_allowed(level) != Some(true) {
                continue;
            }
            // The kernel takes another order only if it explains every scan as well.
            let (one, other) = (random.below(steps.len()), random.below(steps.len()));
            let mut changed = steps.clone();
            changed.swap(one, other);
            let mut replay = told.replay(level, window);
            let accepted = changed.iter().all(|it| replay.step(it.1, it.0, &it.2).is_ok()) && replay.finish().is_ok();
            n_refused += usize::from(!accepted);
            n_changed += usize::from(one != other);
        }
    }
    assert!(n_resumed > 20 && 2 * n_refused > n_changed, "{n_resumed} resumed, {n_refused} of {n_changed} refused");
}

#[test]
fn weak_levels_with_scans_are_streamed_as_prefix_consistency() {
    let weak = [Level::CausalConsistency, Level::ReadAtomic, Level::ReadCommitted];
    let (mut n_held, mut n_scanned) = (0, 0);
    for seed in seeds(40) {
        let mut random = Random::new(seed);
        let history = run_of_tables(&mut random, 100, Mistakes { staleness: 0, lost_rows: 0 });
        let told = Told::new(&history).unwrap();
        let window = 20 + random.below(40);
        let mut saved = Saved::default();
        let streamed = told.check(&weak, window, &mut saved, &Budget::unlimited()).unwrap();
        for level in weak {
            let found = streamed.is_allowed(level);
            let expected = check(&history, level, &Budget::unlimited()).is_allowed();
            assert!(found.is_none() || found == expected, "{level}, seed {seed}:\n{}", show(&history));
            n_held += usize::from(found == Some(true));
            n_scanned += usize::from(streamed.streamed(level) == Level::PrefixConsistency);
            if found == Some(true) {
                saved.replay_as(&told, (level, streamed.streamed(level)), window);
            }
        }
    }
    assert!(n_held > 60 && n_scanned > 100, "{n_held} held, {n_scanned} with scans");
}
