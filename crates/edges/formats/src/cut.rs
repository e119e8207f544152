//! A recording that was cut: what is missing in it must not look like an anomaly.
//!
//! Whoever recorded was killed, or had no room left. Each session's lines are there up to some point, whatever the
//! order of sessions among each other. The transactions after it are missing, and recorded ones may have read what they
//! wrote:
//!
//! ```text
//! s1: { w(x,1) }
//! s2: { r(x,2) }      # from a transaction of s1 or s2 that is not recorded
//! ```
//!
//! Each such read gets a writer of unknown outcome in a session of its own, without times. If a history with the missing
//! transactions satisfies a level, so does this one, since a missing transaction that wrote several keys may as well be
//! several in a row that write one each. So no level is found to be violated that was not. The other way round, a
//! violation that needs a missing transaction is not seen.
//!
//! A row that a scan did not return may have been deleted by a missing transaction, or changed so that it does not match. Each
//! such omission gets a writer of its own that deletes the row: what the row was instead does not matter.
//!
//! A missing transaction began after all that is recorded of its session had ended. So reads that ended before that, in
//! each session, are what they are. That needs a header that lists the sessions: otherwise some may have no line yet.

use crate::WrittenValues;
use crate::copy::{Without, copied};
use iso_history::{History, KeyId, Name, Op, Outcome, Place, TxnId, ValueId};
use rustc_hash::FxHashSet;

/// The history with writers for what may have been written by transactions that are missing, none of which began before some
/// time.
pub(crate) fn with_lost_writers_since(history: &History, values: WrittenValues, known_until: i64) -> History {
    let lost = lost_writes(history, values, known_until);
    let mut builder = copied(history, Without::Nothing);
    let nowhere = Place { source: u32::MAX, at: 0 };
    for (nth, lost) in lost.into_iter().enumerate() {
        let session = builder.session(&format!("missing {}", nth + 1));
        builder.begin(session, nowhere);
        match lost {
            Lost::Write(key, value) => builder.write(key, value),
            Lost::Append(key, value) => builder.append(key, value),
            Lost::Delete(key) => {
                let none = builder.value_named(Name::Null);
                builder.write(key, none);
            }
        }
        builder.end(Outcome::Indeterminate);
    }
    builder.finish().expect("writers in sessions of their own do not make a history invalid")
}

/// Where a history writes a value to a key for the second time, and what to say of it. Whoever promises that nobody does so
/// is believed about what is missing.
pub(crate) fn second_write(history: &History) -> Option<(u64, String)> {
    let mut written = initial_values(history);
    history.txns().find_map(|txn| {
        let mut ops = history.ops(txn).map(|it| history.op(it));
        let (key, value) = ops.find_map(|op| match op {
            Op::Write { key, value } | Op::Append { key, value } if !written.insert((key, value)) => Some((key, value)),
            _ => None,
        })?;
        let (key, value) = (history.key_name(key).shown(), history.value(value).shown());
        let message = format!(
            "writes {value} to {key}, which was there before, although the header promises that no value is written \
             twice; it must say \"recording\":\"any\""
        );
        Some((history.place(txn).at, message))
    })
}

/// What a missing transaction may have written.
enum Lost {
    Write(KeyId, ValueId),
    Append(KeyId, ValueId),
    Delete(KeyId),
}

fn lost_writes(history: &History, values: WrittenValues, known_until: i64) -> Vec<Lost> {
    let mut written = written(history);
    let mut lost = Vec::new();
    let may_see = |it: &TxnId| history.end(*it).is_none_or(|end| end >= known_until);
    for txn in history.txns().filter(may_see) {
        let mut own: FxHashSet<KeyId> = FxHashSet::default();
        let mut read: FxHashSet<KeyId> = FxHashSet::default();
        for op in history.ops(txn).map(|it| history.op(it)) {
            match op {
                Op::Write { key, .. } => drop(own.insert(key)),
                Op::Append { .. } => {}
                Op::Read { key, value } => {
                    // A value that may be written again may be from a missing writer each time.
                    let is_lost = match values {
                        WrittenValues::Unique => written.insert((key, value)),
                        WrittenValues::Any => !own.contains(&key) && read.insert(key),
                    };
                    lost.extend(is_lost.then_some(Lost::Write(key, value)));
                }
                // Rows are deleted again and again, whatever the values are.
                Op::Omit { key, .. } => lost.extend((!own.contains(&key)).then_some(Lost::Delete(key))),
                Op::ReadList { key, values } => {
                    let unknown = values.iter().filter(|it| written.insert((key, **it)));
                    lost.extend(unknown.map(|it| Lost::Append(key, *it)));
                }
            }
        }
    }
    lost
}

fn initial_values(history: &History) -> FxHashSet<(KeyId, ValueId)> {
    history.keys().filter(|it| !history.is_list(*it)).map(|key| (key, history.initial_value(key))).collect()
}

/// Everything that is recorded to be written, initial values included.
fn written(history: &History) -> FxHashSet<(KeyId, ValueId)> {
    let mut written = initial_values(history);
    for op in history.txns().flat_map(|it| history.ops(it)).map(|it| history.op(it)) {
        if let Op::Write { key, value } | Op::Append { key, value } = op {
            written.insert((key, value));
        }
    }
    written
}

/// The time before which no missing transaction began, if all sessions are known.
pub(crate) fn known_until(history: &History) -> i64 {
    let mut last_ends = vec![i64::MIN; history.n_sessions()];
    for txn in history.txns() {
        if let Some(session) = history.session_of(txn) {
            last_ends[session.index()] = history.end(txn).unwrap_or(i64::MIN);
        }
    }
    last_ends.into_iter().min().unwrap_or(i64::MIN)
}

#[cfg(test)]
mod tests {
    use crate::{Format, ReadOptions, RecordingHeader, TxnLines, WrittenValues, read_from, write};
    use iso_history::{Datum, Name, Outcome};

    fn recording(values: WrittenValues) -> Vec<u8> {
        let sessions = ["s1", "s2"].map(str::to_owned).to_vec();
        let header = RecordingHeader {
            initial: Datum::Int(0),
            init: Vec::new(),
            sessions,
            values,
            database: None,
            origin: "{}",
        };
        let x = Name::Text("x");
        let mut lines = TxnLines::default();
        let mut txn = |session: &str, is_write: bool, value: i64, begin: i64| {
            lines.begin(session);
            if is_write {
                lines.write(x, Name::Int(value));
            } else {
                lines.read(x, Name::Int(value));
            }
            lines.end(Outcome::Committed, begin, Some(begin + 9));
        };
        txn("s1", true, 1, 0);
        txn("s2", false, 3, 0);
        txn("s1", false, 1, 20);
        txn("s2", false, 2, 20);
        [&header.line(), lines.bytes()].concat()
    }

    /// What is read, in our notation, and how many defects there are.
    fn read(bytes: &[u8]) -> (String, usize) {
        let reading = read_from("cut", bytes, &ReadOptions::default()).unwrap();
        let n_defects = reading.defects.len();
        let mut text = Vec::new();
        write(&reading.into_history().unwrap(), Format::Text, &mut text).unwrap();
        (String::from_utf8(text).unwrap(), n_defects)
    }

    #[test]
    fn a_read_of_a_missing_write_gets_a_writer_of_unknown_outcome() {
        let (text, n_defects) = read(&recording(WrittenValues::Unique));
        // Nobody wrote 3 in time: that is an anomaly, cut or not.
        let added: Vec<&str> = text.lines().filter(|it| it.contains("missing")).collect();
        assert_eq!(added, [r#""missing 1": { w(x,2) } unknown"#], "{text}");
        assert_eq!(n_defects, 1);
    }

    #[test]
    fn lines_of_the_file_are_known_and_missing_writers_have_none() {
        let bytes = recording(WrittenValues::Unique);
        let history = read_from("cut", bytes.as_slice(), &ReadOptions::default()).unwrap().into_history().unwrap();
        let place = |txn| history.source(history.place(txn)).map(|it| (it.0, history.place(txn).at));
        let places: Vec<_> = history.txns().filter(|it| !it.is_initial()).map(place).collect();
        assert_eq!(places, [Some(("cut", 2)), Some(("cut", 3)), Some(("cut", 4)), Some(("cut", 5)), None]);
    }

    #[test]
    fn a_value_that_may_be_written_again_may_come_from_a_missing_writer() {
        let (text, _) = read(&recording(WrittenValues::Any));
        assert_eq!(text.matches("unknown").count(), 2, "{text}");
    }

    #[test]
    fn a_row_that_was_not_returned_may_have_been_deleted_by_a_missing_writer() {
        let header = r#"{"isoscope":1,"init":[["t/1",5],["t/2",6]],"recording":"unique"}"#;
        let scan =
            r#"{"s":1,"ops":[["scan","t","all",[["t/2",7]]],["w","t/2",8],["scan","t","all",[["t/2",8],["t/1",5]]]]}"#;
        let deleted = r#"{"s":1,"ops":[["del","t/1"],["scan","t","all",[["t/2",8]]]]}"#;
        let (text, _) = read(format!("{header}\n{scan}\n{deleted}\n").as_bytes());
        let added: Vec<&str> = text.lines().filter(|it| it.contains("missing")).collect();
        assert_eq!(added, [r#""missing 1": { w(t/2,7) } unknown"#, r#""missing 2": { w(t/1,-) } unknown"#], "{text}");
        assert!(text.contains("scan(t, all, {t/2=7}) w(t/2,8) scan(t, all, {t/2=8, t/1=5})"), "{text}");
    }

    #[test]
    fn a_complete_recording_is_as_it_is() {
        let mut bytes = recording(WrittenValues::Any);
        bytes.extend_from_slice(crate::RECORDING_END);
        let (text, n_defects) = read(&bytes);
        assert!(!text.contains("unknown"), "{text}");
        assert_eq!(n_defects, 0);
    }

    #[test]
    fn every_cut_of_a_recording_can_be_read() {
        let bytes = recording(WrittenValues::Unique);
        let header = bytes.iter().position(|it| *it == b'\n').unwrap();
        for length in header + 1..bytes.len() {
            assert_eq!(read(&bytes[..length]).1, 1, "{length}");
        }
    }
}
