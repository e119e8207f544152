//! Versions by their values, for keys that have many of them in the window: whoever read an old one does not walk to it.

use iso_history::StreamedValue;
use rustc_hash::FxHashMap;

/// The versions of some keys, without the one before the window. A key is here from the first time that somebody had to walk far,
/// as long as it has some.
#[derive(Clone, Debug, Default)]
pub(super) struct ByValue {
    keys: FxHashMap<u32, FxHashMap<StreamedValue, Found>>,
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
        let of_key = self.keys.entry(key).or_default();
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
            of_key.entry(value.clone()).and_modify(|it| it.push(version)).or_insert(Found::One(version));
        }
    }

    /// A key has one less, if it is here.
    #[inline]
    pub(super) fn remove(&mut self, key: u32, value: &StreamedValue, version: u32) {
        if self.keys.is_empty() {
            return;
        }
        let Some(of_key) = self.keys.get_mut(&key) else { return };
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
    pub(super) fn find(&self, key: u32, value: &StreamedValue) -> &[u32] {
        self.keys.get(&key).and_then(|it| it.get(value)).map_or(&[], Found::as_slice)
    }
}
