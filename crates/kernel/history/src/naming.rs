//! Numbers for many names at once, of keys and of values apart: whoever has two threads can do both at the same time.

use crate::builder::KeyUse;
use crate::names::{Interner, Names};
use crate::{KeyId, Name, ValueId};

/// So many names are looked up at once: what that needs fits in the nearest cache.
const AT_ONCE: usize = 256;

/// Names of keys, as a builder has them.
#[derive(Debug)]
pub struct KeyNaming<'b> {
    pub(crate) ids: &'b mut Interner,
    pub(crate) names: &'b mut Names,
    pub(crate) uses: &'b mut Vec<KeyUse>,
    pub(crate) initial: &'b mut Vec<Option<ValueId>>,
}

impl KeyNaming<'_> {
    /// The key of that name, made at its first mention.
    pub fn named(&mut self, name: Name<'_>) -> KeyId {
        let number = self.ids.intern(name, self.names);
        self.noted(number)
    }

    /// The keys of these names, one after the other, put into `ids`.
    pub fn all_named(&mut self, names: &[Name<'_>], ids: &mut Vec<KeyId>) {
        for some in names.chunks(AT_ONCE) {
            self.ids.fetch_names(some, self.names);
            ids.extend(some.iter().map(|it| self.named(*it)));
        }
    }

    /// The keys with these integers as names, one after the other, put into `ids`.
    pub fn ints(&mut self, integers: &[i64], ids: &mut Vec<KeyId>) {
        for some in integers.chunks(AT_ONCE) {
            self.ids.fetch(some, self.names);
            for integer in some {
                let number = self.ids.intern_int(*integer, self.names);
                ids.push(self.noted(number));
            }
        }
    }

    fn noted(&mut self, number: usize) -> KeyId {
        if number == self.uses.len() {
            self.uses.push(KeyUse::Untouched);
            self.initial.push(None);
        }
        KeyId::from_index(number)
    }
}

/// Names of values, as a builder has them.
#[derive(Debug)]
pub struct ValueNaming<'b> {
    pub(crate) ids: &'b mut Interner,
    pub(crate) names: &'b mut Names,
}

impl ValueNaming<'_> {
    /// The value of that name, made at its first mention.
    pub fn named(&mut self, name: Name<'_>) -> ValueId {
        ValueId::from_index(self.ids.intern(name, self.names))
    }

    /// The values of these names, one after the other, put into `ids`.
    pub fn all_named(&mut self, names: &[Name<'_>], ids: &mut Vec<ValueId>) {
        for some in names.chunks(AT_ONCE) {
            self.ids.fetch_names(some, self.names);
            ids.extend(some.iter().map(|it| self.named(*it)));
        }
    }

    /// The values with these integers as names, one after the other, put into `ids`.
    pub fn ints(&mut self, integers: &[i64], ids: &mut Vec<ValueId>) {
        for some in integers.chunks(AT_ONCE) {
            self.ids.fetch(some, self.names);
            ids.extend(some.iter().map(|it| ValueId::from_index(self.ids.intern_int(*it, self.names))));
        }
    }
}
