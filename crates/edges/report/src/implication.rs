//! Why one level implies another one, as a document: the construction, and for each thing to show what contradicts its
//! negation.

use iso_evidence::{Construction, Contradictory, Implication, Instance, ResolvedFrom, Theory};
use serde::{Deserialize, Serialize};

/// Does one level imply another one?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direction {
    /// The answer.
    pub implied: Implied,
    /// Why, if it is so for every size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Box<ImplicationProof>>,
    /// Of which histories the proof speaks, if not of all, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Why there is no proof, if there is no history either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How far one level implies another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Implied {
    /// For histories of any size: there is a proof.
    EverySize,
    /// No history of the scope says otherwise.
    UpTo,
    /// A history says otherwise.
    No,
    /// Nobody knows.
    Unknown,
}

/// A proof that one level implies another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImplicationProof {
    /// Strict orders, each of which is extended to a total one: `order_1` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<String>,
    /// How each part of the weaker level's witness is made of the stronger one's.
    pub made: Vec<MadePart>,
    /// The prefixes that the weaker level asks for; none if somebody is known to be the last one of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefixes: Vec<Option<String>>,
    /// Transitive relations that contain closures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<ClosureBound>,
    /// What is shown, one after the other.
    pub shown: Vec<ShownPart>,
}

/// A part of the weaker level's witness.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadePart {
    /// Its name.
    pub name: String,
    /// What it is, in the words of the stronger level.
    pub is: String,
}

/// A transitive relation that contains a closure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosureBound {
    /// The number of the closure.
    pub closure: usize,
    /// The relation.
    pub within: String,
}

/// Something that is shown by a contradiction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPart {
    /// What it says.
    pub shows: String,
    /// What contradicts its negation.
    pub instances: Vec<ShownInstance>,
    /// How that follows by unit propagation.
    pub steps: Vec<ShownStep>,
}

/// A clause about some elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownInstance {
    /// The number of the clause.
    pub clause: usize,
    /// The elements.
    pub values: Vec<String>,
    /// What it says of them.
    pub says: String,
    /// Why it holds.
    pub because: String,
}

/// A clause that follows: atoms have numbers by their first place in the instances, from 1; negated ones are negative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownStep {
    /// The literals; none in the last one.
    pub literals: Vec<i32>,
    /// What it follows from: instances from 0, and steps after them.
    pub from: Vec<u32>,
}

impl ImplicationProof {
    /// The document of a proof in its theory; `names` are those of the weaker level's witness.
    pub fn new(theory: &Theory, proof: &Implication, names: &[String]) -> Self {
        let construction = &proof.construction;
        let made = names.iter().zip(&construction.made);
        let bounds = construction.bounds.iter();
        let shown = theory.obligations.iter().zip(&proof.refutations);
        Self {
            orders: construction.orders.clone(),
            made: made.map(|(name, is)| MadePart { name: name.clone(), is: is.clone() }).collect(),
            prefixes: construction.prefixes.clone(),
            bounds: bounds.map(|it| ClosureBound { closure: it.0, within: it.1.clone() }).collect(),
            shown: shown.map(|(of, because)| ShownPart::new(theory, &of.title, because)).collect(),
        }
    }

    /// How the weaker level's witness is made.
    pub fn construction(&self) -> Construction {
        Construction {
            orders: self.orders.clone(),
            made: self.made.iter().map(|it| it.is.clone()).collect(),
            prefixes: self.prefixes.clone(),
            bounds: self.bounds.iter().map(|it| (it.closure, it.within.clone())).collect(),
        }
    }

    /// The proof; the error names an element that the theory of its construction does not know.
    pub fn read(&self, theory: &Theory) -> Result<Implication, String> {
        let mut refutations = Vec::new();
        for part in &self.shown {
            let mut instances = Vec::new();
            for instance in &part.instances {
                let value = |it: &String| theory.read_term(it).ok_or_else(|| format!("`{it}` is no element"));
                let values = instance.values.iter().map(value).collect::<Result<Vec<_>, String>>()?;
                instances.push(Instance { clause: instance.clause, values });
            }
            let step = |it: &ShownStep| ResolvedFrom { literals: it.literals.clone(), hints: it.from.clone() };
            refutations.push(Contradictory { instances, resolvents: part.steps.iter().map(step).collect() });
        }
        Ok(Implication { construction: self.construction(), refutations })
    }

    /// How many instances there are.
    pub fn n_instances(&self) -> usize {
        self.shown.iter().map(|it| it.instances.len()).sum()
    }
}

impl ShownPart {
    fn new(theory: &Theory, title: &str, because: &Contradictory) -> Self {
        let instance = |it: &Instance| ShownInstance {
            clause: it.clause,
            values: it.values.iter().map(|it| theory.show_term(it)).collect(),
            says: theory.show_instance(it.clause, &it.values),
            because: theory.sentences[theory.clauses[it.clause].origin].clone(),
        };
        let step = |it: &ResolvedFrom| ShownStep { literals: it.literals.clone(), from: it.hints.clone() };
        Self {
            shows: title.to_owned(),
            instances: because.instances.iter().map(instance).collect(),
            steps: because.resolvents.iter().map(step).collect(),
        }
    }
}
