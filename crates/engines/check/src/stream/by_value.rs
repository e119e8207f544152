//! Versions by their values, for keys that have many of them in the window: whoever read an old one does not walk to it.
//!
//! A table costs something at each version that comes or goes, so that one for which nobody asks is dropped.

use iso_history::StreamedValue;
use rustc_hash::FxHashMap;

/// So many versions come before a table is dropped, beside those that are in it: then it has cost as much as to make it anew.
const PATIENCE: usize = 64;

/// The versions of some keys, without the one before the window. A key is here from the first time that somebody had to walk far,
/// as long as it has some and somebody asks for them.
#[derive(Clone, Debug, Default)]
pub(super) struct ByValue {
    keys: FxHashMap<u32, OfKey>,
}

#[derive(Clone, Debug, Default)]
struct OfKey {
    versions: FxHashMap<StreamedValue, Found>,
    /// How many versions have come since somebody asked.
    n_unasked: usize,
}

/// Versions with one value; most often there is one, and it takes no memory of its own.
#[derive(Clone, Debug)]
enum Found {
    One(u32),
    Many(Vec<u32>),
}

impl Found {
    fn push(&mut self, version: u32) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, version]),
            Self::Many(all) => all.push(version),
        }
    }

    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(version) => std::slice::from_ref(version),
            Self::Many(all) => all,
        }
    }
}

impl ByValue {
    /// Has this key its versions here?
    #[inline]
    pub(super) fn has(&self, key: u32) -> bool {
        !self.keys.is_empty() && self.keys.contains_key(&key)
    }

    /// A key has these versions.
    pub(super) fn begin<'v>(&mut self, key: u32, versions: impl Iterator<Item = (u32, &'v StreamedValue)>) {
        let of_key = &mut self.keys.entry(key).or_default().versions;
        for (version, value) in versions {
            of_key.entry(value.clone()).and_modify(|it| it.push(version)).or_insert(Found::One(version));
        }
    }

    /// A key has one more, if it is here.
    #[inline]
    pub(super) fn add(&mut self, key: u32, value: &StreamedValue, version: u32) {
        if !self.keys.is_empty()
            && let Some(of_key) = self.keys.get_mut(&key)
        {
            of_key.n_unasked += 1;
            if of_key.n_unasked > of_key.versions.len() + PATIENCE {
                self.keys.remove(&key);
                return;
            }
            of_key.versions.entry(value.clone()).and_modify(|it| it.push(version)).or_insert(Found::One(version));
        }
    }

    /// A key has one less, if it is here.
    #[inline]
    pub(super) fn remove(&mut self, key: u32, value: &StreamedValue, version: u32) {
        if self.keys.is_empty() {
            return;
        }
        let Some(of_key) = self.keys.get_mut(&key).map(|it| &mut it.versions) else { return };
        let is_gone = match of_key.get_mut(value) {
            Some(Found::One(it)) => *it == version,
            Some(Found::Many(all)) => {
                all.retain(|it| *it != version);
                all.is_empty()
            }
            None => false,
        };
        if is_gone {
            of_key.remove(value);
        }
        if of_key.is_empty() {
            self.keys.remove(&key);
        }
    }

    /// The versions with a value, in no order.
    pub(super) fn find(&mut self, key: u32, value: &StreamedValue) -> &[u32] {
        let Some(of_key) = self.keys.get_mut(&key) else { return &[] };
        of_key.n_unasked = 0;
        of_key.versions.get(value).map_or(&[], Found::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_for_which_nobody_asks_is_dropped() {
        let value = |it: i64| StreamedValue::Int(it);
        let mut tables = ByValue::default();
        let versions: Vec<(u32, StreamedValue)> = (0..100).map(|it| (it, value(i64::from(it)))).collect();
        tables.begin(7, versions.iter().map(|it| (it.0, &it.1)));
        // As long as somebody asks for old versions now and then, it stays.
        for version in 100..2000 {
            tables.add(7, &value(i64::from(version)), version);
            tables.remove(7, &value(i64::from(version) - 100), version - 100);
            if version % 100 == 0 {
                assert_eq!(tables.find(7, &value(i64::from(version) - 50)), [version - 50]);
            }
        }
        assert!(tables.has(7));
        for version in 2000..2200 {
            tables.add(7, &value(i64::from(version)), version);
            tables.remove(7, &value(i64::from(version) - 100), version - 100);
        }
        assert!(!tables.has(7));
        tables.remove(7, &value(2199), 2199);
        assert!(tables.find(7, &value(2199)).is_empty());
    }
}
