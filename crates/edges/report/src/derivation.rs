//! Derivations as a document: one short line for each atom and each inference, in the numbers of the core that is listed.
//!
//! Transactions have the numbers of the list, from 1, and the initial one is 0; `3.0` is the first operation of the third.
//! `s3` and `c3` are its start and its commit. Keys have the numbers of a list of names. Those of [grounds](crate::SavedGrounds) are
//! about histories that are not in the document, and have the numbers of operations and keys in these.

use crate::grounds::number;
use crate::value::Value;
use iso_evidence::{Atom, Axiom, Derivation, Event, Follows, Inference, Literal, Sight, Unless};
use iso_history::{History, KeyId, OpId, TxnId};
use iso_spec::Level;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Longer derivations are not in a document.
const MAX_STEPS: usize = 1 << 20;

/// Why a core is forbidden, for `certify` to replay line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDerivation {
    /// The level whose axioms it uses.
    pub level: String,
    /// The keys that are spoken of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<Value>,
    /// What is true or false of an execution.
    pub atoms: Vec<String>,
    /// What is inferred, one after the other.
    pub steps: Vec<String>,
}

/// The numbers of a core: what they are in the history that a document is read into.
#[derive(Clone, Debug)]
pub struct CoreNumbers<'h> {
    /// The history that was read.
    pub history: &'h History,
    /// Its transactions, in the order in which the document lists them.
    pub txns: Vec<TxnId>,
}

impl SavedDerivation {
    /// A derivation about a core, whose numbers it has; nothing if it is too long.
    pub(crate) fn new(core: &History, derivation: &Derivation) -> Option<Self> {
        if derivation.inferences.len() > MAX_STEPS {
            return None;
        }
        let mut writer = Writer { core: Some(core), keys: Vec::new() };
        let saved = writer.derivation(derivation);
        let keys = writer.keys.iter().map(|it| core.key_name(*it).into()).collect();
        Some(Self { keys, ..saved })
    }

    /// A derivation about a history that is not in the document.
    pub(crate) fn plain(derivation: &Derivation) -> Self {
        Writer { core: None, keys: Vec::new() }.derivation(derivation)
    }

    /// The same, read back.
    pub(crate) fn read_plain(&self) -> Result<Derivation, String> {
        self.read_with(&Reader { core: None, keys: Vec::new(), n_atoms: self.atoms.len() })
    }

    /// The derivation about a history that was read; or what is wrong with it.
    pub fn read(&self, core: &CoreNumbers<'_>) -> Result<Derivation, String> {
        let mut keys = Vec::new();
        for name in &self.keys {
            let mut all = (0..core.history.n_keys()).map(KeyId::from_index);
            let found = all.find(|it| Value::from(core.history.key_name(*it)) == *name);
            keys.push(found.ok_or_else(|| format!("there is no key {name}"))?);
        }
        self.read_with(&Reader { core: Some(core), keys, n_atoms: self.atoms.len() })
    }

    fn read_with(&self, reader: &Reader<'_, '_>) -> Result<Derivation, String> {
        let level = Level::from_name(&self.level).ok_or_else(|| format!("`{}` is no level", self.level))?;
        let atom = |line: &String| reader.atom(line).ok_or_else(|| format!("`{line}` is no atom"));
        let step = |line: &String| reader.step(line).ok_or_else(|| format!("`{line}` is no step of a derivation"));
        Ok(Derivation {
            level,
            atoms: self.atoms.iter().map(atom).collect::<Result<_, String>>()?,
            inferences: self.steps.iter().map(step).collect::<Result<_, String>>()?,
        })
    }
}

struct Writer<'h> {
    /// Nothing if that is not in the document.
    core: Option<&'h History>,
    keys: Vec<KeyId>,
}

fn event(event: Event) -> String {
    match event {
        Event::Snapshot(txn) => format!("s{}", txn.index()),
        Event::Commit(txn) => format!("c{}", txn.index()),
    }
}

fn follows(so: Follows) -> &'static str {
    match so {
        Follows::AfterOlder => "after",
        Follows::BeforeReader => "before",
        Follows::TakesPart => "part",
    }
}

fn joined(words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().fold(String::new(), |mut line, word| {
        // Writing to a string cannot fail.
        let _ = write!(line, " {word}");
        line
    })
}

impl Writer<'_> {
    fn derivation(&mut self, derivation: &Derivation) -> SavedDerivation {
        let atoms = derivation.atoms.iter().map(|it| self.atom(*it)).collect();
        let steps = derivation.inferences.iter().map(|it| self.step(it)).collect();
        SavedDerivation { level: derivation.level.to_string(), keys: Vec::new(), atoms, steps }
    }

    fn key(&mut self, key: KeyId) -> usize {
        if self.core.is_none() {
            return key.index();
        }
        let place = self.keys.iter().position(|it| *it == key);
        place.unwrap_or_else(|| {
            self.keys.push(key);
            self.keys.len() - 1
        })
    }

    fn op(&self, op: OpId) -> String {
        let Some(core) = self.core else { return op.index().to_string() };
        let txn = core.txn_of(op);
        let nth = core.ops(txn).position(|it| it == op).unwrap_or_default();
        format!("{}.{nth}", txn.index())
    }

    fn atom(&self, atom: Atom) -> String {
        match atom {
            Atom::Before(first, second) => format!("before {} {}", event(first), event(second)),
            Atom::Between { older, newer, reader } => {
                format!("between {} {} {}", older.index(), newer.index(), reader.index())
            }
            Atom::ReadFrom { read, writer } => format!("from {} {}", self.op(read), writer.index()),
            Atom::TakesPart(txn) => format!("part {}", txn.index()),
        }
    }

    fn step(&mut self, inference: &Inference) -> String {
        match inference {
            Inference::Axiom(axiom) => self.axiom(axiom),
            Inference::Acyclic(events) => format!("acyclic{}", joined(events.iter().map(|it| event(*it)))),
            Inference::Resolvent { clause, hints } => {
                let sign = |it: &Literal| if it.value() { '+' } else { '-' };
                let clause = joined(clause.iter().map(|it| format!("{}{}", sign(it), it.atom())));
                format!("so{clause} by{}", joined(hints.iter().map(ToString::to_string)))
            }
            Inference::Forget(numbers) => format!("forget{}", joined(numbers.iter().map(ToString::to_string))),
        }
    }

    fn axiom(&mut self, axiom: &Axiom) -> String {
        let pair = |word: &str, one: TxnId, other: TxnId| format!("{word} {} {}", one.index(), other.index());
        match axiom {
            Axiom::Session { earlier, later } => pair("session", *earlier, *later),
            Axiom::RealTime { earlier, later } => pair("time", *earlier, *later),
            Axiom::VersionOrder { key, older, newer } => pair(&format!("versions {}", self.key(*key)), *older, *newer),
            Axiom::FirstCommitter { key, one, other } => pair(&format!("first {}", self.key(*key)), *one, *other),
            Axiom::Found { read, other, unless } => {
                let unless = unless.iter().map(|(writer, unless)| match unless {
                    Unless::IsBefore => format!("{}<", writer.index()),
                    Unless::IsNotHiddenBy(hiding) => format!("{}!{}", writer.index(), hiding.index()),
                });
                format!("found {} {}{}", self.op(*read), other.index(), joined(unless))
            }
            Axiom::Between { older, newer, reader, so } => {
                format!("between {} {} {} {}", follows(*so), older.index(), newer.index(), reader.index())
            }
            Axiom::Sources { read } => format!("sources {}", self.op(*read)),
            Axiom::Source { read, writer, so } => {
                format!("source {} {} {}", follows(*so), self.op(*read), writer.index())
            }
            Axiom::Overwritten { read, writer, other, sight } => {
                let sight = sight.iter().map(|it| match it {
                    Sight::Session(from, to) => format!("s{}-{}", from.index(), to.index()),
                    Sight::Read(from, read) => format!("r{}-{}", from.index(), self.op(*read)),
                    Sight::Conflict(from, to) => format!("w{}-{}", from.index(), to.index()),
                });
                format!("overwritten {} {} {}{}", self.op(*read), writer.index(), other.index(), joined(sight))
            }
        }
    }
}

struct Reader<'c, 'h> {
    core: Option<&'c CoreNumbers<'h>>,
    keys: Vec<KeyId>,
    n_atoms: usize,
}

impl Reader<'_, '_> {
    fn txn(&self, word: &str) -> Option<TxnId> {
        match (self.core, number(word)?) {
            (_, 0) => Some(TxnId::INITIAL),
            (Some(core), nth) => core.txns.get(nth - 1).copied(),
            (None, nth) => Some(TxnId::from_index(nth)),
        }
    }

    fn op(&self, word: &str) -> Option<OpId> {
        let Some(core) = self.core else { return number(word).map(OpId::from_index) };
        let (txn, nth) = word.split_once('.')?;
        core.history.ops(self.txn(txn)?).nth(nth.parse().ok()?)
    }

    fn event(&self, word: &str) -> Option<Event> {
        match word.split_at_checked(1)? {
            ("s", txn) => Some(Event::Snapshot(self.txn(txn)?)),
            ("c", txn) => Some(Event::Commit(self.txn(txn)?)),
            _ => None,
        }
    }

    fn key(&self, word: &str) -> Option<KeyId> {
        let number = number(word)?;
        if self.core.is_none() { Some(KeyId::from_index(number)) } else { self.keys.get(number).copied() }
    }

    fn atom(&self, line: &str) -> Option<Atom> {
        let words: Vec<&str> = line.split(' ').collect();
        Some(match words[..] {
            ["before", first, second] => Atom::Before(self.event(first)?, self.event(second)?),
            ["between", older, newer, reader] => {
                Atom::Between { older: self.txn(older)?, newer: self.txn(newer)?, reader: self.txn(reader)? }
            }
            ["from", read, writer] => Atom::ReadFrom { read: self.op(read)?, writer: self.txn(writer)? },
            ["part", txn] => Atom::TakesPart(self.txn(txn)?),
            _ => return None,
        })
    }

    fn step(&self, line: &str) -> Option<Inference> {
        let words: Vec<&str> = line.split(' ').collect();
        let (first, rest) = words.split_first()?;
        let numbers = |words: &[&str]| words.iter().map(|it| it.parse().ok()).collect::<Option<Vec<u32>>>();
        Some(match *first {
            "acyclic" => Inference::Acyclic(rest.iter().map(|it| self.event(it)).collect::<Option<_>>()?),
            "so" => {
                let by = rest.iter().position(|it| *it == "by")?;
                let clause = rest[..by].iter().map(|it| self.literal(it)).collect::<Option<_>>()?;
                Inference::Resolvent { clause, hints: numbers(&rest[by + 1..])? }
            }
            "forget" => Inference::Forget(numbers(rest)?),
            _ => Inference::Axiom(self.axiom(first, rest)?),
        })
    }

    fn literal(&self, word: &str) -> Option<Literal> {
        let (sign, atom) = word.split_at_checked(1)?;
        let atom = atom.parse::<u32>().ok().filter(|it| (*it as usize) < self.n_atoms)?;
        matches!(sign, "+" | "-").then(|| Literal::new(atom, sign == "+"))
    }

    fn axiom(&self, word: &str, rest: &[&str]) -> Option<Axiom> {
        Some(match (word, rest) {
            ("session", [earlier, later]) => Axiom::Session { earlier: self.txn(earlier)?, later: self.txn(later)? },
            ("time", [earlier, later]) => Axiom::RealTime { earlier: self.txn(earlier)?, later: self.txn(later)? },
            ("versions", [key, older, newer]) => {
                Axiom::VersionOrder { key: self.key(key)?, older: self.txn(older)?, newer: self.txn(newer)? }
            }
            ("first", [key, one, other]) => {
                Axiom::FirstCommitter { key: self.key(key)?, one: self.txn(one)?, other: self.txn(other)? }
            }
            ("found", [read, other, unless @ ..]) => {
                let unless = unless.iter().map(|it| self.unless(it)).collect::<Option<_>>()?;
                Axiom::Found { read: self.op(read)?, other: self.txn(other)?, unless }
            }
            ("between", [so, older, newer, reader]) => Axiom::Between {
                older: self.txn(older)?,
                newer: self.txn(newer)?,
                reader: self.txn(reader)?,
                so: so_of(so)?,
            },
            ("sources", [read]) => Axiom::Sources { read: self.op(read)? },
            ("source", [so, read, writer]) => {
                Axiom::Source { read: self.op(read)?, writer: self.txn(writer)?, so: so_of(so)? }
            }
            ("overwritten", [read, writer, other, sight @ ..]) => Axiom::Overwritten {
                read: self.op(read)?,
                writer: self.txn(writer)?,
                other: self.txn(other)?,
                sight: sight.iter().map(|it| self.sight(it)).collect::<Option<_>>()?,
            },
            _ => return None,
        })
    }

    fn unless(&self, word: &str) -> Option<(TxnId, Unless)> {
        if let Some(writer) = word.strip_suffix('<') {
            return Some((self.txn(writer)?, Unless::IsBefore));
        }
        let (writer, hiding) = word.split_once('!')?;
        Some((self.txn(writer)?, Unless::IsNotHiddenBy(self.txn(hiding)?)))
    }

    fn sight(&self, word: &str) -> Option<Sight> {
        let (kind, ends) = word.split_at_checked(1)?;
        let (from, to) = ends.split_once('-')?;
        let from = self.txn(from)?;
        Some(match kind {
            "s" => Sight::Session(from, self.txn(to)?),
            "r" => Sight::Read(from, self.op(to)?),
            "w" => Sight::Conflict(from, self.txn(to)?),
            _ => return None,
        })
    }
}

fn so_of(word: &str) -> Option<Follows> {
    [Follows::AfterOlder, Follows::BeforeReader, Follows::TakesPart].into_iter().find(|it| follows(*it) == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_evidence::{Budget, Grounds, Verdict};
    use iso_history::{HistoryBuilder, Outcome, Place};

    /// Each x has two writers that saw the x before it, so that the last reader comes after the one of y=1.
    fn chain(n_links: i64) -> History {
        let (read, write) = (false, true);
        let name = |it: i64| format!("x{it}");
        let mut txns = vec![
            ("s".to_owned(), vec![("y".to_owned(), write, 2)]),
            ("t".to_owned(), vec![("y".to_owned(), write, 2), ("z".to_owned(), write, 1)]),
            ("s".to_owned(), vec![("z".to_owned(), read, 1), ("y".to_owned(), write, 1), (name(0), write, 1)]),
        ];
        for link in 0..n_links {
            for who in ["a", "b"] {
                txns.push((format!("{who}{link}"), vec![(name(link), read, 1), (name(link + 1), write, 1)]));
            }
        }
        txns.push(("r".to_owned(), vec![(name(n_links), read, 1), ("y".to_owned(), read, 2)]));
        let mut builder = HistoryBuilder::new();
        let zero = builder.value(0.into());
        builder.default_initial(zero);
        for (session, ops) in txns {
            let session = builder.session(&session);
            builder.begin(session, Place::default());
            for (key, is_write, value) in ops {
                let (key, value) = (builder.key(key.as_str().into()), builder.value(value.into()));
                if is_write {
                    builder.write(key, value);
                } else {
                    builder.read(key, value);
                }
            }
            builder.end(Outcome::Committed);
        }
        builder.finish().unwrap()
    }

    #[test]
    fn derivations_are_read_back_and_changed_ones_are_refused() {
        let history = chain(8);
        for level in [Level::CausalConsistency, Level::SnapshotIsolation, Level::Serializable] {
            let Verdict::Forbidden(refutation) = iso_check::check(&history, level, &Budget::unlimited()) else {
                panic!("{level} allows it");
            };
            let Some(Grounds::Derivation(derivation)) = refutation.grounds.as_deref() else { panic!("{level}") };
            assert_eq!(refutation.txns.len(), history.n_txns() - 1);
            let saved = SavedDerivation::new(&history, derivation).unwrap();
            let numbers = CoreNumbers { history: &history, txns: refutation.txns.clone() };
            assert_eq!(saved.read(&numbers).as_ref(), Ok(derivation), "{level}");
            for (nth, line) in ["so +99999 by", "found 1.7 0", "session 1", "acyclic x1", ""].into_iter().enumerate() {
                let mut changed = saved.clone();
                changed.steps[nth] = line.to_owned();
                assert!(changed.read(&numbers).is_err(), "{line}");
            }
        }
    }
}
