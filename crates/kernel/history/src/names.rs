//! The names of keys or of values: numbered in the order in which they come, each stored once.
//!
//! Most names are integers and take a byte or two, because neighbours are alike. Texts lie one after the other in one
//! string. The index from names to
//! their numbers stores numbers only and compares with the column: small integers have a table by position, because
//! most histories number their keys and values; the rest is hashed (open addressing, linear probing, at most half full,
//! with the hash next to the number, so that hardly ever a wrong name is looked at).

use crate::Name;
use crate::packed::Packed;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::hint::black_box;
use std::ops::Range;

/// Names by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// What they are: kinds as numbers.
    kinds: Packed,
    /// The integer, or where the text stands.
    payloads: Packed,
    texts: String,
    /// Where those texts stand that are too long for a payload.
    long_texts: Vec<Range<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Null,
    Int,
    Number,
    Text,
    Record,
}

impl Kind {
    /// The kind of this number.
    fn of(number: i64) -> Self {
        let all = [Self::Null, Self::Int, Self::Number, Self::Text, Self::Record];
        all.into_iter().find(|it| *it as i64 == number).expect("only kinds are kept")
    }
}

/// So many bits of the place of a text are its length; the others are where it begins.
const LENGTH_BITS: u32 = 24;
/// The length of a text that is too long to say.
const LONG: i64 = (1 << LENGTH_BITS) - 1;

impl Names {
    pub(crate) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Another number of the same name.
    pub(crate) fn again(&mut self, number: usize) -> usize {
        self.kinds.extend(self.kinds.get(number));
        self.payloads.extend(self.payloads.get(number));
        self.kinds.len() - 1
    }

    pub(crate) fn get(&self, number: usize) -> Name<'_> {
        let (kind, payload) = (self.kinds.get(number), self.payloads.get(number));
        let (kind, payload) = kind.zip(payload).expect("names are numbered");
        match Kind::of(kind) {
            Kind::Null => Name::Null,
            Kind::Int => Name::Int(payload),
            Kind::Number => Name::Number(self.text(payload)),
            Kind::Text => Name::Text(self.text(payload)),
            Kind::Record => Name::Record(self.text(payload)),
        }
    }

    fn text(&self, payload: i64) -> &str {
        let (start, length) = (payload >> LENGTH_BITS, payload & LONG);
        let start = usize::try_from(start).expect("a text stands somewhere");
        if length == LONG {
            return &self.texts[self.long_texts[start].clone()];
        }
        let length = usize::try_from(length).expect("a text has a length");
        &self.texts[start..start + length]
    }

    fn push(&mut self, name: Name<'_>) {
        let (kind, payload) = match name {
            Name::Null => (Kind::Null, 0),
            Name::Int(integer) => (Kind::Int, integer),
            Name::Number(text) => (Kind::Number, self.push_text(text)),
            Name::Text(text) => (Kind::Text, self.push_text(text)),
            Name::Record(text) => (Kind::Record, self.push_text(text)),
        };
        self.kinds.push(kind as i64);
        self.payloads.push(payload);
    }

    fn push_text(&mut self, text: &str) -> i64 {
        let start = self.texts.len();
        self.texts.push_str(text);
        let length = i64::try_from(text.len()).ok().filter(|it| *it < LONG);
        let (start, length) = length.map_or_else(
            || {
                self.long_texts.push(start..self.texts.len());
                (self.long_texts.len() - 1, LONG)
            },
            |length| (start, length),
        );
        i64::try_from(start).expect("memory is not that large") << LENGTH_BITS | length
    }

    fn bytes(&self) -> usize {
        let columns = self.kinds.bytes() + self.payloads.bytes();
        columns + self.long_texts.len() * size_of::<Range<usize>>() + self.texts.len()
    }
}

/// Finds the numbers of names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interner {
    /// Numbers of small integers, by position.
    small: Vec<u32>,
    integers: Index,
    texts: Index,
    null: Option<u32>,
}

const NONE: u32 = u32::MAX;
/// The table of small integers may be so many times longer than the number of names.
const SPARSENESS: usize = 8;
/// It may always have so many names more.
const HEADSTART: usize = 512;

impl Interner {
    /// The number of a name; a new one is added to `names`.
    pub(crate) fn intern(&mut self, name: Name<'_>, names: &mut Names) -> usize {
        let next = names.len() as u32;
        let number = match name {
            Name::Int(integer) => return self.intern_int(integer, names),
            Name::Null => *self.null.get_or_insert(next),
            Name::Number(_) | Name::Text(_) | Name::Record(_) => {
                self.texts.find_or_insert(hash(name), next, |it| names.get(it) == name)
            }
        };
        if number == next {
            names.push(name);
        }
        number as usize
    }

    /// The number of an integer; a new one is added to `names`.
    #[inline]
    pub(crate) fn intern_int(&mut self, integer: i64, names: &mut Names) -> usize {
        match self.small.get(place(integer)) {
            Some(number) if *number != NONE => *number as usize,
            _ => self.intern_rare(integer, names),
        }
    }

    fn intern_rare(&mut self, integer: i64, names: &mut Names) -> usize {
        let next = names.len() as u32;
        let payloads = &names.payloads;
        let is_same = |it: usize| payloads.get(it) == Some(integer);
        let place = place(integer);
        let number = if place >= (names.len() + HEADSTART) * SPARSENESS {
            self.integers.find_or_insert(hash_int(integer), next, is_same)
        } else if let Some(number) = self.integers.find(hash_int(integer), is_same) {
            // It came when it was too large for the table.
            number
        } else {
            if place >= self.small.len() {
                // Twice as long would be half empty, and a large table grows without being copied.
                let len = (place + 1).max(self.small.len() / 4 * 5).next_multiple_of(HEADSTART);
                self.small.reserve_exact(len - self.small.len());
                self.small.resize(len, NONE);
            }
            self.small[place] = next;
            next
        };
        if number == next {
            names.push(Name::Int(integer));
        }
        number as usize
    }

    /// Brings what finding these integers needs into the cache.
    ///
    /// Whether an integer is new is hard to foresee, and a processor that guessed wrong begins anew, so that it waits
    /// for one place of a large table after the other. Here nothing depends on what is found: it fetches many at once.
    pub(crate) fn fetch(&self, integers: &[i64], names: &Names) {
        let small = integers.iter().map(|it| self.small.get(place(*it)).copied().unwrap_or(0));
        black_box(small.fold(0, u32::wrapping_add));
        if !self.integers.is_empty() {
            let hashed = integers.iter().map(|it| self.integers.first(hash_int(*it)));
            let payloads = hashed.map(|it| names.payloads.get(it as usize).unwrap_or(0));
            black_box(payloads.fold(0, i64::wrapping_add));
        }
    }

    /// The same for any names.
    pub(crate) fn fetch_names(&self, wanted: &[Name<'_>], names: &Names) {
        if !self.texts.is_empty() {
            let found = wanted.iter().map(|it| self.texts.first(hash(*it)) as usize);
            let payloads = found.map(|it| names.payloads.get(it).unwrap_or(0));
            // Where texts begin is a place in memory, too.
            let places = payloads.map(|it| usize::try_from(it >> LENGTH_BITS).unwrap_or(usize::MAX));
            let bytes = places.map(|it| names.texts.as_bytes().get(it).copied().unwrap_or(0));
            black_box(bytes.fold(0, u8::wrapping_add));
        }
    }

    /// About what it takes in memory, with the names.
    pub(crate) fn bytes(&self, names: &Names) -> usize {
        let n_slots = self.integers.slots.len() + self.texts.slots.len();
        self.small.len() * size_of::<u32>() + n_slots * size_of::<u64>() + names.bytes()
    }
}

/// Negative integers have no place in any table.
fn place(integer: i64) -> usize {
    usize::try_from(integer).unwrap_or(usize::MAX)
}

fn hash_int(integer: i64) -> u64 {
    integer.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn hash(name: Name<'_>) -> u64 {
    let mut hasher = FxHasher::default();
    match name {
        Name::Null => {}
        Name::Int(integer) => return hash_int(integer),
        Name::Number(text) | Name::Record(text) => hasher.write(text.as_bytes()),
        Name::Text(text) => {
            hasher.write(text.as_bytes());
            hasher.write_u8(0xff);
        }
    }
    hasher.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A hash table of numbers, which are compared by what they stand for.
#[derive(Clone, Debug, Default)]
struct Index {
    /// A power of two of them, or none. The upper half is that of the hash, the lower half is the number.
    slots: Vec<u64>,
    n_used: usize,
}

const LOWER: u64 = u32::MAX as u64;
const FREE: u64 = u64::MAX;

impl Index {
    fn is_empty(&self) -> bool {
        self.n_used == 0
    }

    /// Where the search begins. The high bits of a hash depend on all bits of what was hashed.
    fn home(&self, hash: u64) -> usize {
        (hash >> (64 - self.slots.len().trailing_zeros())) as usize
    }

    /// The number that stands where the search begins.
    fn first(&self, hash: u64) -> u32 {
        (self.slots[self.home(hash)] & LOWER) as u32
    }

    /// The slot of what has this hash and is the same, or a free one for it.
    fn slot(&self, hash: u64, is_same: impl Fn(usize) -> bool) -> usize {
        let mut slot = self.home(hash);
        loop {
            let found = self.slots[slot];
            if found == FREE || (found ^ hash) <= LOWER && is_same((found & LOWER) as usize) {
                return slot;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    fn find(&self, hash: u64, is_same: impl Fn(usize) -> bool) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let found = self.slots[self.slot(hash, is_same)];
        (found != FREE).then_some((found & LOWER) as u32)
    }

    /// The number that has this hash and is the same, or `next`, which is then in the table.
    fn find_or_insert(&mut self, hash: u64, next: u32, is_same: impl Fn(usize) -> bool) -> u32 {
        if self.n_used * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot(hash, is_same);
        if self.slots[slot] == FREE {
            self.slots[slot] = (hash & !LOWER) | u64::from(next);
            self.n_used += 1;
        }
        (self.slots[slot] & LOWER) as u32
    }

    fn grow(&mut self) {
        const SMALLEST: usize = 64;
        let n_slots = (self.slots.len() * 2).max(SMALLEST);
        let old = std::mem::replace(&mut self.slots, vec![FREE; n_slots]);
        for found in old.into_iter().filter(|it| *it != FREE) {
            let slot = self.slot(found, |_| false);
            self.slots[slot] = found;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Datum;
    use std::collections::BTreeMap;

    /// Interns some names, and compares with a plain map.
    fn compare(data: impl Iterator<Item = Datum>) {
        let (mut interner, mut names) = (Interner::default(), Names::default());
        let mut expected: BTreeMap<Datum, usize> = BTreeMap::new();
        for datum in data {
            let next = expected.len();
            let number = *expected.entry(datum.clone()).or_insert(next);
            if let Datum::Int(integer) = datum {
                interner.fetch(&[integer], &names);
            }
            assert_eq!(interner.intern(datum.as_name(), &mut names), number, "{datum:?}");
            assert_eq!(names.get(number), datum.as_name());
            assert_eq!(names.len(), expected.len());
        }
    }

    #[test]
    fn long_texts_are_names_too() {
        let long = |n: usize| Datum::text("x".repeat((1 << LENGTH_BITS) - 2 + n));
        compare((0..3).chain(0..3).flat_map(|it| [long(it), Datum::text("y")]));
    }

    #[test]
    fn names_are_numbered_in_their_order() {
        let integers = (0..5000i64).flat_map(|it| [it, it * it, -it, it << 40, i64::MAX - it / 2, it]);
        compare(integers.map(Datum::Int));
        // Large ones come first, before the table of small ones reaches them.
        compare((0..5000i64).rev().chain(0..5000).map(|it| Datum::Int(it * 8)));
        let mixed = (0..3000i64).flat_map(|it| {
            let word = (it % 700).to_string();
            [Datum::text(word.as_str()), Datum::Number(word.as_str().into()), Datum::Int(it % 900), Datum::Null]
        });
        compare(mixed.chain([Datum::text(""), Datum::Number("".into()), Datum::text("")]));
    }
}
