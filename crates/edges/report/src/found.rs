//! A found history: what some levels allow and others forbid, with the evidence for both.

use crate::document::{Certified, Excerpt, Link, LocalRead, Transaction, TxnRef, certificate, is_zero};
use crate::value::{InitialValue, Value};
use serde::{Deserialize, Serialize};

/// A history that some levels allow and others forbid. Transactions are named as in `s1.2`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The history in our notation, ready to be checked.
    pub history: String,
    /// Its keys with their initial values.
    pub initial: Vec<InitialValue>,
    /// Its transactions, in their order.
    pub transactions: Vec<Transaction>,
    /// Who comes before whom besides what the sessions say: empty unless the session order is no union of chains.
    pub session_order: Vec<(String, String)>,
    /// One for each level that allows it.
    pub witnesses: Vec<SpecWitness>,
    /// One for each level that forbids it.
    pub refutations: Vec<SpecRefutation>,
}

/// What shows that a level allows the history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecWitness {
    /// The level in full: `cerone.si`.
    pub level: String,
    /// What must exist: the name of the level's framework.
    pub framework: String,
    /// The things that exist, in the order of the framework.
    pub relations: Vec<WitnessRelation>,
    /// Was it checked?
    #[serde(flatten, with = "certificate")]
    pub certified: Certified,
}

/// A thing that must exist for a history to be allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessRelation {
    /// Its name in the framework: `co`, `vis`, `vo`.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub shape: RelationShape,
}

/// What kind of thing a witness gives, and that thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelationShape {
    /// A total order: all transactions, the first one first, without the initial one, which comes before all.
    Order(Vec<String>),
    /// Any relation.
    Pairs(Vec<(TxnRef, TxnRef)>),
    /// The versions of each key.
    Versions(Vec<KeyVersions>),
}

/// Who wrote a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyVersions {
    /// The key.
    pub key: Value,
    /// Its writers, the oldest first, without the initial one, which comes before all.
    pub writers: Vec<String>,
}

/// What shows that a level forbids the history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecRefutation {
    /// The level in full: `biswas.ser`.
    pub level: String,
    /// What the field calls it, the most telling name first.
    pub anomalies: Vec<String>,
    /// One sentence about what went wrong; may be empty.
    pub summary: String,
    /// A cycle of dependencies; empty if none was looked for, or if no single one says it all.
    pub cycle: Vec<Link>,
    /// The read that nothing explains, if one is enough.
    #[serde(rename = "local_read", default, skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalRead>,
    /// What fails, for each witness that one could try.
    pub failures: Vec<Failure>,
    /// How many more witnesses fail.
    #[serde(rename = "failures_omitted", default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Are these all witnesses that one could try, or only some that come near?
    #[serde(rename = "exhaustive", default)]
    pub is_exhaustive: bool,
    /// Was it checked?
    #[serde(flatten, with = "certificate")]
    pub certified: Certified,
}

/// A witness that one could try, and why it does not do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The witness in words: `co: s1.1 < s2.1`.
    pub witness: String,
    /// What fails, as a clause.
    pub because: String,
}

impl Found {
    /// How many transactions and keys it has.
    pub fn size(&self) -> (usize, usize) {
        (self.transactions.len(), self.initial.len())
    }

    /// Its transactions, as relations refer to them.
    pub(crate) fn txns(&self) -> Vec<TxnRef> {
        self.transactions.iter().map(|it| TxnRef::Txn(it.id.clone())).collect()
    }

    /// Every certificate with the name of its level.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = (&str, &Certified)> {
        let witnesses = self.witnesses.iter().map(|it| (it.level.as_str(), &it.certified));
        witnesses.chain(self.refutations.iter().map(|it| (it.level.as_str(), &it.certified)))
    }

    /// The whole history as an excerpt, without anything that is wrong with it.
    pub(crate) fn as_excerpt(&self) -> Excerpt {
        Excerpt {
            history: self.history.clone(),
            initial: self.initial.clone(),
            transactions: self.transactions.clone(),
            ..Excerpt::default()
        }
    }
}
