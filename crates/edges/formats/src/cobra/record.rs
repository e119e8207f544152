//! The records of a log, as they lie in memory.

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    Start { txn: i64 },
    Write { write_id: i64, key: i64, value: i64 },
    Read { writer: i64, write_id: i64, key: i64, value: i64 },
    Commit { txn: i64 },
}

impl Record {
    /// How many numbers follow a tag; none if it is no tag of a record.
    pub(super) fn n_numbers(tag: u8) -> Option<usize> {
        match tag {
            b'S' | b'C' => Some(1),
            b'W' => Some(3),
            b'R' => Some(4),
            _ => None,
        }
    }

    /// The record at the beginning of some bytes and its length; none if it is not there as a whole.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, usize)> {
        let (tag, rest) = bytes.split_first()?;
        let record = match tag {
            b'S' => Self::Start { txn: numbers::<1>(rest)?[0] },
            b'W' => {
                let [write_id, key, value] = numbers(rest)?;
                Self::Write { write_id, key, value }
            }
            b'R' => {
                let [writer, write_id, key, value] = numbers(rest)?;
                Self::Read { writer, write_id, key, value }
            }
            b'C' => Self::Commit { txn: numbers::<1>(rest)?[0] },
            _ => return None,
        };
        Some((record, 1 + Self::n_numbers(*tag)? * size_of::<i64>()))
    }
}

#[inline]
fn numbers<const N: usize>(bytes: &[u8]) -> Option<[i64; N]> {
    let chunks = bytes.as_chunks().0.first_chunk::<N>()?;
    Some(chunks.map(i64::from_be_bytes))
}
