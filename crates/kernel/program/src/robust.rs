//! Checks that templates are robust: that no run of any number of them, each at its level, is unserializable.
//!
//! Whoever claims it has searched for split runs; here all of them are gone through again, from the text of the program,
//! plainly and with nothing in common with the search. A split run has one transaction that executes up to a read, others
//! that execute one after the other, each in conflict with the next, and the rest of the first; the second overwrites what
//! was read, and the last comes before the first. If there is none, every run is serializable: docs/decisions/0030 has the
//! proof.
//!
//! Who is split, after which read, and which of its rows are the same is chosen in every way. Then every transaction that
//! can follow is collected, as the row by which it was reached, until nothing new is found; none of them may lead back.

use crate::templates::{Access, AccessKind, Constant, RowKey, Templates, Way};
use crate::txn_level::TxnLevel;
use std::collections::BTreeSet;

/// More accesses than this are not gone through.
const MAX_ACCESSES: usize = 160;

/// What was gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RobustnessCheck {
    /// Pairs of accesses of templates that are in conflict, if they are about one row.
    pub conflicts: usize,
    /// Ways to split a transaction.
    pub splits: usize,
    /// Rows by which transactions were reached, in all of them.
    pub reached: usize,
}

/// Why templates are not known to be robust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRobust {
    /// A transaction of this template can be split at its level.
    Split {
        /// Its name.
        template: String,
        /// The statement after which it is split.
        line: u32,
    },
    /// There is too much to go through.
    TooLarge,
}

/// Goes through all split runs of the transactions of a text, each at its level, in the order of the text.
pub fn check_robust(text: &str, levels: &[TxnLevel]) -> Result<RobustnessCheck, NotRobust> {
    let Ok(templates) = Templates::parse(text, "") else { return Err(NotRobust::TooLarge) };
    let mut ways = Vec::new();
    for (template, level) in templates.templates().iter().zip(levels) {
        ways.extend(template.ways.iter().map(|way| Known { way, level: *level, name: &template.name }));
    }
    let accesses = || ways.iter().flat_map(|it| &it.way.accesses);
    if accesses().count() > MAX_ACCESSES || levels.len() != templates.templates().len() {
        return Err(NotRobust::TooLarge);
    }
    let named = |it: &Access| match &it.key {
        RowKey::Constant(constant) if *constant != Constant::Only => Some(constant.clone()),
        _ => None,
    };
    let constants: BTreeSet<Constant> = accesses().filter_map(named).collect();
    let world = World { templates: &templates, ways, constants: constants.into_iter().collect() };
    world.check()
}

/// A way with the level of its template.
struct Known<'t> {
    way: &'t Way,
    level: TxnLevel,
    name: &'t str,
}

/// The value that names a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Val {
    /// That of a variable of the split transaction.
    Own(usize),
    Constant(Constant),
    /// Another one. Two transactions that follow each other share it where they are in conflict.
    Other,
}

/// A transaction that was reached: its way, and the row by which it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reached {
    way: usize,
    key: RowKey,
    val: Val,
    is_second: bool,
}

struct World<'t> {
    templates: &'t Templates,
    ways: Vec<Known<'t>>,
    constants: Vec<Constant>,
}

/// A transaction that is split, with the values of its variables.
struct Split<'w> {
    way: &'w Way,
    level: TxnLevel,
    read: usize,
    vals: Vec<Val>,
    /// Is the second transaction serializable? Asked only if this one is.
    second_is_serializable: Option<bool>,
}

impl World<'_> {
    fn check(&self) -> Result<RobustnessCheck, NotRobust> {
        let mut check = RobustnessCheck { conflicts: self.n_conflicts(), ..RobustnessCheck::default() };
        if self.ways.iter().all(|it| it.level == TxnLevel::Serializable) {
            return Ok(check);
        }
        for known in &self.ways {
            for (read, access) in known.way.accesses.iter().enumerate() {
                // What is read and locked at once is not overwritten before the end.
                let is_safe = access.reads.is_empty() || access.locks && access.is_certain;
                for vals in self.all_vals(known.way, read).into_iter().filter(|_| !is_safe) {
                    let is_watched = known.level == TxnLevel::Serializable;
                    let seconds: &[Option<bool>] = if is_watched { &[Some(true), Some(false)] } else { &[None] };
                    for second_is_serializable in seconds.iter().copied() {
                        let (way, level, vals) = (known.way, known.level, vals.clone());
                        let split = Split { way, level, read, vals, second_is_serializable };
                        check.splits += 1;
                        let Some(n_reached) = self.all_reached(&split) else {
                            let line = access.span.place(self.templates.text()).line;
                            return Err(NotRobust::Split { template: known.name.to_owned(), line });
                        };
                        check.reached += n_reached;
                    }
                }
            }
        }
        Ok(check)
    }

    fn n_conflicts(&self) -> usize {
        let accesses: Vec<&Access> = self.ways.iter().flat_map(|it| &it.way.accesses).collect();
        let pairs =
            accesses.iter().enumerate().flat_map(|(idx, one)| accesses[idx..].iter().map(move |other| (one, other)));
        pairs.filter(|it| self.in_conflict(it.0, it.1)).count()
    }

    /// The values that rows of the split transaction may have. Only two of its rows are in a cycle: that of the read, and one
    /// by which the last transaction comes before it; the others may be different from everything.
    fn all_vals(&self, way: &Way, read: usize) -> Vec<Vec<Val>> {
        let different: Vec<Val> = (0..way.variables.len()).map(Val::Own).collect();
        let constants = || self.constants.iter().cloned().map(Val::Constant);
        let mut all = BTreeSet::from([different.clone()]);
        let reads: Vec<Option<usize>> = match way.accesses[read].key {
            RowKey::Variable(variable) => vec![Some(variable)],
            _ => vec![None],
        };
        for of_read in reads {
            let mut firsts = vec![different.clone()];
            if let Some(variable) = of_read {
                firsts.extend(constants().map(|it| with(&different, variable, it)));
            }
            for first in firsts {
                for last in 0..way.variables.len() {
                    let mut choices: Vec<Val> = constants().collect();
                    choices.extend(of_read.map(|it| first[it].clone()));
                    choices.push(first[last].clone());
                    all.extend(choices.into_iter().map(|it| with(&first, last, it)));
                }
                all.insert(first);
            }
        }
        let val = |vals: &[Val], key: &RowKey| match key {
            RowKey::Variable(variable) => vals[*variable].clone(),
            RowKey::Constant(constant) => Val::Constant(constant.clone()),
            RowKey::All => Val::Other,
        };
        all.into_iter().filter(|vals| way.different.iter().all(|it| val(vals, &it.0) != val(vals, &it.1))).collect()
    }

    /// How many transactions can be reached; nothing if one of them leads back.
    fn all_reached(&self, split: &Split<'_>) -> Option<usize> {
        let mut reached: BTreeSet<Reached> = BTreeSet::new();
        let mut open: Vec<Reached> = Vec::new();
        let read = &split.way.accesses[split.read];
        for (way, known) in self.ways.iter().enumerate() {
            let is_serializable = known.level == TxnLevel::Serializable;
            if split.second_is_serializable.is_some_and(|it| it != is_serializable) {
                continue;
            }
            for access in &known.way.accesses {
                for val in self.vals_of(split, &access.key) {
                    let overwrites = self.may_follow(read, access) && access.writes.meets(read.reads);
                    if overwrites && split.is_same_row(read, access, &val) {
                        open.push(Reached { way, key: access.key.clone(), val, is_second: true });
                    }
                }
            }
        }
        while let Some(next) = open.pop() {
            if !self.is_possible(split, &next) || !reached.insert(next.clone()) {
                continue;
            }
            for (key, val) in self.exits(split, &next) {
                if self.leads_back(split, &next, &key, &val) {
                    return None;
                }
                if self.may_go_on(split, &next, &key, &val) {
                    open.extend(self.following(split, next.way, &key, &val));
                }
            }
        }
        Some(reached.len())
    }

    /// Every transaction that is in conflict with this one at this row.
    fn following(&self, split: &Split<'_>, way: usize, key: &RowKey, val: &Val) -> Vec<Reached> {
        let mut all = Vec::new();
        for access in self.ways[way].way.accesses.iter().filter(|it| it.key == *key) {
            for (next, known) in self.ways.iter().enumerate() {
                for other in known.way.accesses.iter().filter(|it| self.may_follow(access, it)) {
                    let is_any = *key == RowKey::All || other.key == RowKey::All;
                    let vals = self.vals_of(split, &other.key).into_iter().filter(|it| is_any || it == val);
                    let reached = |val| Reached { way: next, key: other.key.clone(), val, is_second: false };
                    all.extend(vals.map(reached));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The values that a key of a transaction other than the split one may have.
    fn vals_of(&self, split: &Split<'_>, key: &RowKey) -> Vec<Val> {
        match key {
            RowKey::Constant(constant) => vec![Val::Constant(constant.clone())],
            RowKey::All => vec![Val::Other],
            RowKey::Variable(_) => {
                let mut vals: Vec<Val> = split.vals.clone();
                vals.extend(self.constants.iter().cloned().map(Val::Constant));
                vals.push(Val::Other);
                vals.sort_unstable();
                vals.dedup();
                vals
            }
        }
    }

    /// The rows by which a transaction that was reached can be left.
    fn exits(&self, split: &Split<'_>, at: &Reached) -> Vec<(RowKey, Val)> {
        let way = self.ways[at.way].way;
        let keys: BTreeSet<&RowKey> = way.accesses.iter().map(|it| &it.key).collect();
        let mut exits = vec![(at.key.clone(), at.val.clone())];
        for key in keys.into_iter().filter(|it| **it != at.key) {
            for val in self.vals_of(split, key) {
                let are_different =
                    way.different.iter().any(|it| [&it.0, &it.1] == [key, &at.key] || [&it.1, &it.0] == [key, &at.key]);
                if (!are_different || val != at.val || val == Val::Other) && self.is_free(split, way, key, &val) {
                    exits.push((key.clone(), val));
                }
            }
        }
        exits
    }

    /// Can the transaction execute between the halves of the split one?
    fn is_possible(&self, split: &Split<'_>, at: &Reached) -> bool {
        let way = self.ways[at.way].way;
        let keys: BTreeSet<&RowKey> = way.accesses.iter().map(|it| &it.key).collect();
        keys.into_iter().all(|key| {
            let val = if *key == at.key { at.val.clone() } else { default_val(key) };
            self.is_free(split, way, key, &val)
        })
    }

    /// Do locks let it touch the row?
    fn is_free(&self, split: &Split<'_>, way: &Way, key: &RowKey, val: &Val) -> bool {
        if let (Val::Constant(constant), RowKey::Variable(_)) = (val, key) {
            let constant = RowKey::Constant(constant.clone());
            if way.different.iter().any(|it| [&it.0, &it.1] == [key, &constant] || [&it.1, &it.0] == [key, &constant]) {
                return false;
            }
        }
        let pairs = pairs(split, way, key, val);
        !pairs.iter().any(|(place, own, other)| {
            own.is_certain && other.is_certain && (self.make_one(own, other) || split.excludes(*place, own, other))
        })
    }

    /// Is the split transaction after this one?
    fn leads_back(&self, split: &Split<'_>, at: &Reached, key: &RowKey, val: &Val) -> bool {
        let known = &self.ways[at.way];
        let is_watched = split.second_is_serializable == Some(true) && known.level == TxnLevel::Serializable;
        // A last one that overwrites what a serializable transaction reads would be a second one, in a shorter cycle.
        let is_short_cut = split.level == TxnLevel::Serializable
            && !at.is_second
            && self.touches(split, at, key, val, &|own, other| other.writes.meets(own.reads));
        !is_short_cut
            && pairs(split, known.way, key, val).iter().any(|(place, own, other)| {
                let is_anti_dependency = other.reads.meets(own.writes);
                let comes_back = if is_anti_dependency { !is_watched } else { split.sees(*place, own, other) };
                self.may_follow(other, own) && comes_back
            })
    }

    /// May others follow it? In the shortest cycle nobody but its neighbours is in conflict with the split transaction.
    fn may_go_on(&self, split: &Split<'_>, at: &Reached, key: &RowKey, val: &Val) -> bool {
        if at.is_second {
            let is_watched = split.level == TxnLevel::Serializable;
            return !(is_watched && self.touches(split, at, key, val, &|own, other| other.reads.meets(own.writes)));
        }
        !self.touches(split, at, key, val, &|own, other| self.in_conflict(own, other))
    }

    /// Is there a certain pair of accesses of the split transaction and of this one for which that is true?
    fn touches(
        &self,
        split: &Split<'_>,
        at: &Reached,
        key: &RowKey,
        val: &Val,
        is_so: &dyn Fn(&Access, &Access) -> bool,
    ) -> bool {
        let way = self.ways[at.way].way;
        let keys: BTreeSet<&RowKey> = way.accesses.iter().map(|it| &it.key).collect();
        keys.into_iter().any(|each| {
            let of_each = match each {
                _ if each == key => val.clone(),
                _ if *each == at.key => at.val.clone(),
                _ => default_val(each),
            };
            let pairs = pairs(split, way, each, &of_each);
            pairs.iter().any(|(_, own, other)| own.is_certain && other.is_certain && is_so(own, other))
        })
    }

    /// Must one of the two come before the other, if they are about one row?
    fn in_conflict(&self, one: &Access, other: &Access) -> bool {
        let data = one.writes.meets(other.reads.with(other.writes)) || one.reads.meets(other.writes);
        one.relation == other.relation && (data || one.locks && other.locks) && !self.make_one(one, other)
    }

    /// Can one be what the other comes after, if they are about one row?
    fn may_follow(&self, one: &Access, other: &Access) -> bool {
        self.in_conflict(one, other) && !one.never_precedes(other, self.templates.relations())
    }

    /// Do both make one row that nobody removes, so that they cannot both commit?
    fn make_one(&self, one: &Access, other: &Access) -> bool {
        one.relation == other.relation
            && (one.kind, other.kind) == (AccessKind::Insert, AccessKind::Insert)
            && !self.templates.relations()[one.relation].shrinks
    }
}

fn with(vals: &[Val], place: usize, val: Val) -> Vec<Val> {
    let mut vals = vals.to_vec();
    vals[place] = val;
    vals
}

fn default_val(key: &RowKey) -> Val {
    match key {
        RowKey::Constant(constant) => Val::Constant(constant.clone()),
        RowKey::Variable(_) | RowKey::All => Val::Other,
    }
}

/// Accesses of the split transaction, with their places, and of another one at a key, that are about one row.
fn pairs<'a>(split: &Split<'a>, way: &'a Way, key: &RowKey, val: &Val) -> Vec<(usize, &'a Access, &'a Access)> {
    let mut pairs = Vec::new();
    for (place, own) in split.way.accesses.iter().enumerate() {
        for other in way.accesses.iter().filter(|it| it.key == *key) {
            if own.relation == other.relation && split.is_same_row(own, other, val) {
                pairs.push((place, own, other));
            }
        }
    }
    pairs
}

impl Split<'_> {
    /// Is the access of another transaction, whose key has the value, about the row of this one's?
    fn is_same_row(&self, own: &Access, other: &Access, val: &Val) -> bool {
        match (&own.key, &other.key) {
            (RowKey::All, _) | (_, RowKey::All) => true,
            (RowKey::Variable(variable), _) => self.vals[*variable] == *val,
            (RowKey::Constant(constant), _) => *val == Val::Constant(constant.clone()),
        }
    }

    /// Would one of the two wait until the other's end, or abort?
    fn excludes(&self, place: usize, own: &Access, other: &Access) -> bool {
        let is_made_anew = (own.kind, other.kind) == (AccessKind::Insert, AccessKind::Delete);
        match self.level {
            TxnLevel::ReadCommitted => place <= self.read && own.locks && other.locks,
            TxnLevel::SnapshotIsolation => own.locks && other.locks,
            TxnLevel::RepeatableRead | TxnLevel::Serializable => own.locks && !other.writes.is_empty() && !is_made_anew,
        }
    }

    /// Does the access find what the other transaction left, though that had not committed when the first half ended?
    fn sees(&self, place: usize, own: &Access, other: &Access) -> bool {
        let is_made_anew = (own.kind, other.kind) == (AccessKind::Insert, AccessKind::Delete);
        match self.level {
            TxnLevel::ReadCommitted => place > self.read,
            TxnLevel::SnapshotIsolation => false,
            TxnLevel::RepeatableRead | TxnLevel::Serializable => {
                own.locks && other.locks && (other.writes.is_empty() || is_made_anew)
            }
        }
    }
}
