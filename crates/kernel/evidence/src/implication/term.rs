//! Clauses: what is true of every execution that the stronger level allows, in the words of first-order logic.

use iso_spec::{Given, Sort};

/// What an atom says of its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Predicate {
    /// They are the same element.
    Equal(Sort),
    /// There is an element of this sort; a history may have no keys and no reads.
    Some(Sort),
    /// The pair is in a relation of the history or of the stronger level's witness.
    Given(Given),
    /// The same for one key, which comes first: `wr[x]`, `listed[x]`, or versions.
    At(Given),
    /// The pair is in the transitive closure of that number.
    Closure(usize),
    /// The pair is in the total order of that number, which extends a relation.
    Order(usize),
    /// The first is in a prefix of an order that the others have; see `sentence.rs`.
    Prefix(usize),
    /// A part of a sentence holds, with this number, for these elements.
    Case(usize),
}

/// A function: a name for an element that must exist, given others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is given.
    pub parameters: Vec<Sort>,
    /// What it is.
    pub sort: Sort,
}

/// An element, without variables. The function with number 0 is the initial transaction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    /// The number of the function.
    pub function: usize,
    /// What it is given.
    pub arguments: Vec<Term>,
}

impl Term {
    /// The initial transaction.
    pub fn initial() -> Self {
        Self { function: 0, arguments: Vec::new() }
    }

    /// How deep functions are nested.
    pub fn depth(&self) -> usize {
        self.arguments.iter().map(|it| it.depth() + 1).max().unwrap_or(0)
    }
}

/// An element, with variables of a clause.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Open {
    /// The variable of that number.
    Variable(usize),
    /// A function of others.
    Apply(usize, Vec<Open>),
}

impl Open {
    /// The element, with these values of the variables.
    pub fn filled(&self, values: &[Term]) -> Term {
        match self {
            Self::Variable(number) => values[*number].clone(),
            Self::Apply(function, arguments) => {
                Term { function: *function, arguments: arguments.iter().map(|it| it.filled(values)).collect() }
            }
        }
    }
}

/// An atom or its negation, with arguments of some kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Says<T> {
    /// What it says.
    pub predicate: Predicate,
    /// Of whom.
    pub arguments: Vec<T>,
    /// Is it so, or not?
    pub is_true: bool,
}

/// A disjunction that holds for all values of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// The sorts of the variables.
    pub variables: Vec<Sort>,
    /// One of these holds.
    pub literals: Vec<Says<Open>>,
    /// Which sentence it is a part of.
    pub origin: usize,
}

impl Clause {
    /// What the clause says of these elements; nothing if it says nothing.
    ///
    /// An element is itself, and that two are the same is said in one order only.
    pub fn instance(&self, values: &[Term]) -> Option<Vec<Says<Term>>> {
        let mut literals: Vec<Says<Term>> = Vec::new();
        for literal in &self.literals {
            let mut arguments: Vec<Term> = literal.arguments.iter().map(|it| it.filled(values)).collect();
            if let Predicate::Equal(_) = literal.predicate {
                if arguments[0] == arguments[1] {
                    if literal.is_true {
                        return None;
                    }
                    continue;
                }
                arguments.sort();
            }
            let ground = Says { predicate: literal.predicate, arguments, is_true: literal.is_true };
            let opposite = Says { is_true: !ground.is_true, ..ground.clone() };
            if literals.contains(&opposite) {
                return None;
            }
            if !literals.contains(&ground) {
                literals.push(ground);
            }
        }
        Some(literals)
    }
}

/// The laws of equality for a predicate: whoever is the same can take the place of the other.
pub(super) fn congruence(predicate: Predicate, sorts: &[Sort], origin: usize) -> Vec<Clause> {
    let replaced = |place: usize| {
        let mut variables = sorts.to_vec();
        variables.push(sorts[place]);
        let arguments: Vec<Open> = (0..sorts.len()).map(Open::Variable).collect();
        let mut others = arguments.clone();
        others[place] = Open::Variable(sorts.len());
        let same = vec![Open::Variable(place), Open::Variable(sorts.len())];
        let literals = vec![
            Says { predicate: Predicate::Equal(sorts[place]), arguments: same, is_true: false },
            Says { predicate, arguments, is_true: false },
            Says { predicate, arguments: others, is_true: true },
        ];
        Clause { variables, literals, origin }
    };
    (0..sorts.len()).map(replaced).collect()
}

/// Who is the same as one who is the same as a third is the same as that.
pub(super) fn transitivity(sort: Sort, origin: usize) -> Clause {
    let equal = |a: usize, b: usize, is_true: bool| Says {
        predicate: Predicate::Equal(sort),
        arguments: vec![Open::Variable(a), Open::Variable(b)],
        is_true,
    };
    Clause {
        variables: vec![sort; 3],
        literals: vec![equal(0, 1, false), equal(1, 2, false), equal(0, 2, true)],
        origin,
    }
}

/// The same arguments give the same element.
pub(super) fn function_congruence(number: usize, function: &Function, origin: usize) -> Vec<Clause> {
    let replaced = |place: usize| {
        let sorts = &function.parameters;
        let mut variables = sorts.clone();
        variables.push(sorts[place]);
        let arguments: Vec<Open> = (0..sorts.len()).map(Open::Variable).collect();
        let mut others = arguments.clone();
        others[place] = Open::Variable(sorts.len());
        let same = vec![Open::Variable(place), Open::Variable(sorts.len())];
        let results = vec![Open::Apply(number, arguments), Open::Apply(number, others)];
        let literals = vec![
            Says { predicate: Predicate::Equal(sorts[place]), arguments: same, is_true: false },
            Says { predicate: Predicate::Equal(function.sort), arguments: results, is_true: true },
        ];
        Clause { variables, literals, origin }
    };
    (0..function.parameters.len()).map(replaced).collect()
}
