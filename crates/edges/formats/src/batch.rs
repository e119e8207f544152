//! Transactions whose keys are integers, collected until there are so many that numbering their names at once pays.

use crate::ReadError;
use crate::sink::Sink;
use iso_history::{Access, KeyId, Name, Outcome, Place, SessionId, ValueId};

/// So many operations are added at once.
const AT_ONCE: usize = 1 << 13;

/// Transactions that wait, and at their end one that is not complete.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    accesses: Vec<Access>,
    keys: Vec<i64>,
    values: Vec<i64>,
    /// What the entries of `values` are.
    kinds: Vec<Kind>,
    texts: Vec<u8>,
    txns: Vec<Txn>,
    key_ids: Vec<KeyId>,
    value_ids: Vec<ValueId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Int,
    Null,
    /// Where it ends in the texts; it begins where the one before it ends.
    Text,
}

#[derive(Clone, Copy, Debug)]
struct Txn {
    session: SessionId,
    place: Place,
    outcome: Outcome,
    /// Where its operations end in the columns.
    end: usize,
}

impl Batch {
    /// Adds an operation to the transaction that is not complete.
    #[inline]
    pub(crate) fn push(&mut self, access: Access, key: i64, value: i64) {
        self.push_kind(access, key, Kind::Int, value);
    }

    /// The same with null as its value.
    pub(crate) fn push_null(&mut self, access: Access, key: i64) {
        self.push_kind(access, key, Kind::Null, 0);
    }

    /// The same with a text as its value, made of pieces: each is a letter or more and a number.
    pub(crate) fn push_text(&mut self, access: Access, key: i64, pieces: &[(&str, i64)]) {
        for (letters, number) in pieces {
            self.texts.extend_from_slice(letters.as_bytes());
            push_number(&mut self.texts, *number);
        }
        let end = i64::try_from(self.texts.len()).expect("memory is not that large");
        self.push_kind(access, key, Kind::Text, end);
    }

    #[inline]
    fn push_kind(&mut self, access: Access, key: i64, kind: Kind, value: i64) {
        self.accesses.push(access);
        self.keys.push(key);
        self.values.push(value);
        self.kinds.push(kind);
    }

    /// Completes a transaction.
    pub(crate) fn end(
        &mut self,
        session: SessionId,
        place: Place,
        outcome: Outcome,
        sink: &mut Sink<'_>,
    ) -> Result<(), ReadError> {
        self.txns.push(Txn { session, place, outcome, end: self.keys.len() });
        if self.keys.len() >= AT_ONCE || self.txns.len() >= AT_ONCE { self.flush(sink) } else { Ok(()) }
    }

    /// What it takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() * (2 * size_of::<i64>() + size_of::<Access>() + size_of::<Kind>()) + self.texts.len()
    }

    /// Adds all complete transactions to the history, and forgets one that is not.
    pub(crate) fn flush(&mut self, sink: &mut Sink<'_>) -> Result<(), ReadError> {
        let n_ops = self.txns.last().map_or(0, |it| it.end);
        self.key_ids.clear();
        self.value_ids.clear();
        sink.int_keys(&self.keys[..n_ops], &mut self.key_ids)?;
        if self.kinds[..n_ops].iter().all(|it| *it == Kind::Int) {
            sink.int_values(&self.values[..n_ops], &mut self.value_ids)?;
        } else {
            let names = names(&self.kinds[..n_ops], &self.values, &self.texts);
            sink.values_named(&names, &mut self.value_ids)?;
        }
        let mut start = 0;
        for txn in &self.txns {
            let ops = start..txn.end;
            let columns = (&self.accesses[ops.clone()], &self.key_ids[ops.clone()], &self.value_ids[ops]);
            sink.register_txn(txn.session, txn.place, (None, None), columns, txn.outcome)?;
            start = txn.end;
        }
        self.txns.clear();
        self.forget_open();
        Ok(())
    }

    /// Forgets a transaction that is not complete.
    pub(crate) fn forget_open(&mut self) {
        let n_ops = self.txns.last().map_or(0, |it| it.end);
        if n_ops == self.keys.len() {
            return;
        }
        let last_text = self.kinds[..n_ops].iter().rposition(|it| *it == Kind::Text);
        self.texts.truncate(last_text.map_or(0, |it| place(self.values[it])));
        self.accesses.truncate(n_ops);
        self.keys.truncate(n_ops);
        self.values.truncate(n_ops);
        self.kinds.truncate(n_ops);
    }
}

fn names<'t>(kinds: &[Kind], values: &[i64], texts: &'t [u8]) -> Vec<Name<'t>> {
    let texts = std::str::from_utf8(texts).expect("texts are made of letters and digits");
    let mut start = 0;
    let name = |(kind, value): (&Kind, &i64)| match kind {
        Kind::Int => Name::Int(*value),
        Kind::Null => Name::Null,
        Kind::Text => {
            let end = place(*value);
            Name::Text(&texts[std::mem::replace(&mut start, end)..end])
        }
    };
    kinds.iter().zip(values).map(name).collect()
}

fn place(value: i64) -> usize {
    usize::try_from(value).expect("a place in the texts")
}

/// Writes a number in decimal, two digits at a time.
fn push_number(texts: &mut Vec<u8>, number: i64) {
    const LONGEST: usize = 20;
    let mut digits = [b'0'; LONGEST];
    let mut start = LONGEST;
    let mut left = number.unsigned_abs();
    while left >= 100 {
        let two = (left % 100) as u8;
        left /= 100;
        start -= 2;
        digits[start] += two / 10;
        digits[start + 1] += two % 10;
    }
    let two = left as u8;
    if two >= 10 {
        start -= 1;
        digits[start] += two % 10;
    }
    start -= 1;
    digits[start] += if two >= 10 { two / 10 } else { two };
    if number < 0 {
        texts.push(b'-');
    }
    texts.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_are_written_in_decimal(number in any::<i64>(), shift in 0..64u32) {
            for number in [number >> shift, 0, 9, 10, 99, 100, -1, i64::MIN, i64::MAX] {
                let mut bytes = Vec::new();
                push_number(&mut bytes, number);
                prop_assert_eq!(String::from_utf8(bytes).unwrap(), number.to_string());
            }
        }
    }
}
