//! Which levels allow which histories, and what separates them.

use super::{Abstract, Scope, each};
use iso_history::Facts;
use iso_spec::{Prepared, Spec, Steps};

/// Every history of some scopes with the levels that allow it, by the reference evaluator.
pub(crate) struct Classified {
    pub(crate) specs: Vec<&'static Spec>,
    pub(crate) entries: Vec<Entry>,
}

/// A history, and a bit for each level that allows it.
pub(crate) struct Entry {
    pub(crate) history: Abstract,
    pub(crate) allowed: u128,
}

/// Asks every level about every history. The scopes should differ in the number of transactions only, as those of
/// [`Scope::and_smaller`] do: what is irreducible depends on the smaller ones.
pub(crate) fn classify(scopes: &[Scope], specs: &[&'static Spec]) -> Classified {
    assert!(specs.len() <= 128, "levels are bits");
    let mut entries = Vec::new();
    for scope in scopes {
        each(*scope, &mut |history| {
            let allowed = allowed_by(&history, specs);
            entries.push(Entry { history, allowed });
        });
    }
    entries.sort_by(|a, b| (a.history.size(), &a.history).cmp(&(b.history.size(), &b.history)));
    Classified { specs: specs.to_vec(), entries }
}

/// A bit for each level that allows the history.
pub(crate) fn allowed_by(history: &Abstract, specs: &[&Spec]) -> u128 {
    let (history, pairs) = history.to_history();
    let facts = Facts::new(&history);
    let prepared = match pairs {
        Some(pairs) => Prepared::with_session_order(&facts, &pairs),
        None => Prepared::new(&facts),
    };
    let allows = |it: &&Spec| prepared.evaluate(it, &mut Steps::unlimited()).is_allowed().expect("no limit");
    specs.iter().enumerate().filter(|it| allows(it.1)).map(|it| 1 << it.0).sum()
}

impl Classified {
    /// The histories that all of the first levels allow and all of the others forbid, those of small size first.
    pub(crate) fn separating(&self, allowing: &[&str], forbidding: &[&str]) -> Vec<&Abstract> {
        let (wanted, unwanted) = (self.bits(allowing), self.bits(forbidding));
        let separates = |it: &&Entry| it.allowed & wanted == wanted && it.allowed & unwanted == 0;
        self.entries.iter().filter(separates).map(|it| &it.history).collect()
    }

    /// The least numbers of transactions and, with so many, of keys of a separating history.
    pub(crate) fn smallest(&self, allowing: &[&str], forbidding: &[&str]) -> Option<(usize, usize)> {
        self.separating(allowing, forbidding).iter().map(|it| (it.n, it.k)).min()
    }

    /// The separating histories that contain no other separating one.
    pub(crate) fn irreducible(&self, allowing: &[&str], forbidding: &[&str]) -> Vec<&Abstract> {
        let mut found: Vec<&Abstract> = Vec::new();
        // What is contained is smaller, so it came before; and whatever separates contains something irreducible.
        for history in self.separating(allowing, forbidding) {
            if !found.iter().any(|it| history.contains(it)) {
                found.push(history);
            }
        }
        found
    }

    /// The levels that allow a history, which is in its canonical form; nothing if it is not in the scope.
    pub(crate) fn allowed(&self, history: &Abstract) -> Option<Vec<&'static str>> {
        let place =
            self.entries.binary_search_by(|it| (it.history.size(), &it.history).cmp(&(history.size(), history)));
        let allowed = self.entries[place.ok()?].allowed;
        Some(self.specs.iter().enumerate().filter(|it| allowed >> it.0 & 1 == 1).map(|it| it.1.name()).collect())
    }

    fn bits(&self, names: &[&str]) -> u128 {
        let bit = |name: &&str| {
            let place = self.specs.iter().position(|it| it.name() == *name);
            1 << place.unwrap_or_else(|| panic!("{name} was not asked"))
        };
        names.iter().map(bit).fold(0, |all, it: u128| all | it)
    }
}
