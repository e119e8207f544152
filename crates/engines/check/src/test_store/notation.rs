//! Small histories by hand.

use iso_history::{History, HistoryBuilder, Outcome, Place, TxnId};

/// One line per transaction: session, operations and, if known, the times of its begin and its end.
///
/// Keys are letters, values digits, and 0 is the initial one: `a wx1 ry0 @3-7`. Of a list, `ax1` appends and `lx12`
/// reads. A session with a question mark is indeterminate, with an exclamation mark it aborted: `a? wx1`.
pub(crate) fn history(lines: &[&str]) -> History {
    let mut builder = HistoryBuilder::new();
    let initial = builder.value(0.into());
    builder.default_initial(initial);
    for line in lines {
        let mut words = line.split_whitespace();
        let session = words.next().unwrap();
        let outcome = match session.as_bytes() {
            [.., b'?'] => Outcome::Indeterminate,
            [.., b'!'] => Outcome::Aborted,
            _ => Outcome::Committed,
        };
        let session = builder.session(session.trim_end_matches(['?', '!']));
        builder.begin(session, Place::default());
        for word in words {
            match word.strip_prefix('@') {
                Some(times) => {
                    let (begin, end) = times.split_once('-').unwrap();
                    builder.times(begin.parse().ok(), end.parse().ok());
                }
                None => op(&mut builder, word),
            }
        }
        builder.end(outcome);
    }
    builder.finish().unwrap()
}

/// Transactions by their numbers: that of the first line is 1.
pub(crate) fn txns(numbers: &[usize]) -> Vec<TxnId> {
    numbers.iter().map(|it| TxnId::from_index(*it)).collect()
}

fn op(builder: &mut HistoryBuilder, word: &str) {
    let key = builder.key(word[1..2].into());
    let values: Vec<_> = word[2..].bytes().map(|it| builder.value(i64::from(it - b'0').into())).collect();
    match &word[..1] {
        "r" => builder.read(key, values[0]),
        "w" => builder.write(key, values[0]),
        "a" => builder.append(key, values[0]),
        _ => builder.read_list(key, values),
    }
}
