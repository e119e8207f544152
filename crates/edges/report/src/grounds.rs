//! Grounds as a document: why a core is forbidden whatever its lists mean and whoever committed, case by case.
//!
//! The tree stands in lines, each before what it leads to. Each line is about the history to which the ones above it have led, and has
//! its numbers: those of transactions from 1, as listed, and 0 is the initial one; those of operations and keys from 0. Derivations
//! that cases have in common stand there once.

use crate::derivation::SavedDerivation;
use iso_evidence::{Derivation, Grounds};
use iso_history::{OpId, TxnId};
use serde::{Deserialize, Serialize};

/// With more lines and steps, they are not in a document.
const MAX_LINES: usize = 1 << 20;
/// So deep a tree is, at most: nobody has so many lists with several meanings.
const MAX_DEPTH: usize = 1 << 10;

/// Why a core is forbidden in each case, for `certify` to replay line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedGrounds {
    /// The tree.
    pub tree: Vec<String>,
    /// What it refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derivations: Vec<SavedDerivation>,
}

impl SavedGrounds {
    /// Grounds of a core, whose numbers they have; nothing if they are too long.
    pub(crate) fn new(grounds: &Grounds) -> Option<Self> {
        let mut writer = Writer { tree: Vec::new(), derivations: Vec::new(), n_left: MAX_LINES };
        writer.write(grounds, MAX_DEPTH)?;
        let derivations = writer.derivations.iter().map(|it| SavedDerivation::plain(it)).collect();
        Some(Self { tree: writer.tree, derivations })
    }

    /// The grounds, of a core whose transactions are in the order in which the document lists them; or what is wrong with them.
    pub fn read(&self) -> Result<Grounds, String> {
        let derivations = self.derivations.iter().map(SavedDerivation::read_plain).collect::<Result<_, String>>()?;
        let mut reader = Reader { lines: self.tree.iter(), derivations };
        let grounds = reader.next(MAX_DEPTH)?;
        match reader.lines.next() {
            None => Ok(grounds),
            Some(line) => Err(format!("`{line}` belongs to no case")),
        }
    }
}

struct Writer<'g> {
    tree: Vec<String>,
    derivations: Vec<&'g Derivation>,
    n_left: usize,
}

impl<'g> Writer<'g> {
    fn write(&mut self, grounds: &'g Grounds, depth: usize) -> Option<()> {
        self.n_left = self.n_left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        match grounds {
            Grounds::OneRead => self.tree.push("read".to_owned()),
            Grounds::Derivation(derivation) => {
                let number = self.derivation(derivation)?;
                self.tree.push(format!("derivation {number}"));
            }
            Grounds::Cases(cases) => {
                self.tree.push(format!("cases {}", cases.len()));
                cases.iter().try_for_each(|it| self.write(it, depth))?;
            }
            Grounds::Part { txns, ops, because } => {
                self.n_left = self.n_left.checked_sub(txns.len() + ops.len())?;
                let (mut txns, mut ops) = (txns.iter().map(|it| it.index()), ops.iter().map(|it| it.index()));
                self.tree.push(format!("part{} of{}", numbers(&mut txns), numbers(&mut ops)));
                self.write(because, depth)?;
            }
            Grounds::Outcomes { txn, committed, aborted } => {
                self.tree.push(format!("outcomes {}", txn.index()));
                self.write(committed, depth)?;
                self.write(aborted, depth)?;
            }
        }
        Some(())
    }

    fn derivation(&mut self, derivation: &'g Derivation) -> Option<usize> {
        // Neighbouring cases are alike, and others rarely.
        let recent = self.derivations.iter().rev().take(RECENT).position(|it| *it == derivation);
        if let Some(back) = recent {
            return Some(self.derivations.len() - 1 - back);
        }
        self.n_left = self.n_left.checked_sub(derivation.atoms.len() + derivation.inferences.len())?;
        self.derivations.push(derivation);
        Some(self.derivations.len() - 1)
    }
}

/// So many derivations are compared with a new one.
const RECENT: usize = 64;

fn numbers(all: &mut dyn Iterator<Item = usize>) -> String {
    let mut text = String::new();
    for it in all {
        text.push(' ');
        text.push_str(&it.to_string());
    }
    text
}

struct Reader<'s> {
    lines: std::slice::Iter<'s, String>,
    derivations: Vec<Derivation>,
}

impl Reader<'_> {
    /// The grounds that begin with the next line.
    fn next(&mut self, depth: usize) -> Result<Grounds, String> {
        let Some(line) = self.lines.next() else { return Err("a case has no grounds".to_owned()) };
        let depth = depth.checked_sub(1).ok_or("there are cases within cases without end")?;
        let wrong = || format!("`{line}` is no ground");
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words[..] {
            ["read"] => Grounds::OneRead,
            ["derivation", number] => {
                let number = number.parse::<usize>().map_err(|_| wrong())?;
                Grounds::Derivation(self.derivations.get(number).ok_or_else(wrong)?.clone())
            }
            ["cases", n] => {
                let n = n.parse::<usize>().map_err(|_| wrong())?;
                if n > self.lines.len() {
                    return Err("a case has no grounds".to_owned());
                }
                Grounds::Cases((0..n).map(|_| self.next(depth)).collect::<Result<_, String>>()?)
            }
            ["outcomes", txn] => Grounds::Outcomes {
                txn: TxnId::from_index(number(txn).ok_or_else(wrong)?),
                committed: Box::new(self.next(depth)?),
                aborted: Box::new(self.next(depth)?),
            },
            ["part", ref rest @ ..] => {
                let of = rest.iter().position(|it| *it == "of").ok_or_else(wrong)?;
                let all = |words: &[&str]| words.iter().map(|it| number(it)).collect::<Option<Vec<usize>>>();
                let (txns, ops) = (all(&rest[..of]).ok_or_else(wrong)?, all(&rest[of + 1..]).ok_or_else(wrong)?);
                Grounds::Part {
                    txns: txns.into_iter().map(TxnId::from_index).collect(),
                    ops: ops.into_iter().map(OpId::from_index).collect(),
                    because: Box::new(self.next(depth)?),
                }
            }
            _ => return Err(wrong()),
        })
    }
}

/// A number that something of a history can have.
pub(crate) fn number(word: &str) -> Option<usize> {
    word.parse::<u32>().ok().filter(|it| *it < u32::MAX / 2).map(|it| it as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_evidence::{Atom, Axiom, Event, Inference, Literal};
    use iso_history::KeyId;
    use iso_spec::Level;

    fn txn(nth: usize) -> TxnId {
        TxnId::from_index(nth)
    }

    fn derivation(nth: usize) -> Grounds {
        let (one, other) = (Event::Commit(txn(nth)), Event::Snapshot(txn(2)));
        Grounds::Derivation(Derivation {
            level: Level::Serializable,
            atoms: vec![Atom::Before(one, other), Atom::ReadFrom { read: OpId::from_index(7), writer: TxnId::INITIAL }],
            inferences: vec![
                Inference::Axiom(Axiom::VersionOrder { key: KeyId::from_index(3), older: txn(1), newer: txn(2) }),
                Inference::Resolvent { clause: vec![Literal::new(1, false)], hints: vec![0] },
            ],
        })
    }

    fn grounds() -> Grounds {
        let part = Grounds::Part {
            txns: vec![txn(1), txn(3)],
            ops: vec![OpId::from_index(0), OpId::from_index(4)],
            because: Box::new(derivation(1)),
        };
        let either =
            Grounds::Outcomes { txn: txn(2), committed: Box::new(derivation(2)), aborted: Box::new(Grounds::OneRead) };
        Grounds::Cases(vec![derivation(1), part, either, Grounds::Cases(vec![derivation(1)])])
    }

    #[test]
    fn grounds_are_read_back() {
        let saved = SavedGrounds::new(&grounds()).unwrap();
        assert_eq!(saved.read().as_ref(), Ok(&grounds()));
        assert_eq!(saved.derivations.len(), 2, "what cases have in common stands there once");
        let tree = ["cases 4", "derivation 0", "part 1 3 of 0 4", "derivation 0", "outcomes 2", "derivation 1", "read"];
        assert_eq!(saved.tree[..7], tree);
    }

    #[test]
    fn trees_that_are_none_are_refused() {
        let saved = SavedGrounds::new(&grounds()).unwrap();
        let lines = ["", "cases", "cases 5", "cases -1", "cases 99999999999", "part 1", "part x of 1", "outcomes"];
        for line in lines.into_iter().chain(["derivation 7", "outcomes 4294967295", "reads", "read"]) {
            let mut changed = saved.clone();
            changed.tree[0] = line.to_owned();
            assert!(changed.read().is_err(), "{line}");
        }
        let deep = SavedGrounds { tree: vec!["cases 1".to_owned(); 100_000], derivations: Vec::new() };
        assert!(deep.read().is_err());
    }
}
