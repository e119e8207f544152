//! What is committed: of each key the newest version, and older ones as long as a snapshot may need them.

/// A committed value, and the number of the commit that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) commit: u32,
    pub(crate) value: u64,
}

/// The value of every key at first, written by no commit.
const INITIAL: Version = Version { commit: 0, value: 0 };

#[derive(Debug)]
pub(crate) struct Versions {
    newest: Vec<Version>,
    /// Oldest first; empty for stores that need no old versions.
    older: Vec<Vec<Version>>,
    keeps_older: bool,
}

impl Versions {
    /// Without old versions: only the newest one can be read.
    pub(crate) fn newest_only() -> Self {
        Self { newest: Vec::new(), older: Vec::new(), keeps_older: false }
    }

    /// With the old versions that a snapshot may need.
    pub(crate) fn with_older() -> Self {
        Self { keeps_older: true, ..Self::newest_only() }
    }

    pub(crate) fn newest(&self, key: u32) -> Version {
        self.newest.get(key as usize).copied().unwrap_or(INITIAL)
    }

    /// The newest version that had been committed when a snapshot was taken.
    pub(crate) fn at(&self, key: u32, snapshot: u32) -> Version {
        let newest = self.newest(key);
        if newest.commit <= snapshot {
            return newest;
        }
        let older = self.older.get(key as usize).map_or(&[][..], Vec::as_slice);
        older.iter().rev().find(|it| it.commit <= snapshot).copied().unwrap_or(INITIAL)
    }

    /// Adds a version. No snapshot before `horizon` is needed any more.
    pub(crate) fn put(&mut self, key: u32, version: Version, horizon: u32) {
        let idx = key as usize;
        if idx >= self.newest.len() {
            self.newest.resize(idx + 1, INITIAL);
        }
        let replaced = std::mem::replace(&mut self.newest[idx], version);
        // A commit that writes a key twice leaves its last value.
        if self.keeps_older && replaced.commit != version.commit {
            if idx >= self.older.len() {
                self.older.resize_with(self.newest.len(), Vec::new);
            }
            let older = &mut self.older[idx];
            older.push(replaced);
            let n_needless = older.iter().skip(1).take_while(|it| it.commit <= horizon).count();
            older.drain(..n_needless);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_see_what_was_committed_before_them() {
        let mut versions = Versions::with_older();
        for commit in 1..=9 {
            versions.put(3, Version { commit, value: u64::from(commit) * 10 }, 4);
        }
        assert_eq!(versions.at(3, 9).value, 90);
        assert_eq!(versions.at(3, 5).value, 50);
        assert_eq!(versions.at(3, 4).value, 40);
        assert_eq!(versions.at(2, 9), INITIAL);
        assert_eq!(versions.older[3].len(), 5, "versions 4 to 8 may be needed, and no others");
    }
}
