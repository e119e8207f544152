//! Types of expressions, and unification over what is not known yet.

use crate::formula::Sort;

/// What a checked definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Formula,
    Elem(Sort),
    Set(Sort),
    Relation(Sort, Sort),
}

/// What a definition takes and gives.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub(crate) params: Vec<Type>,
    pub(crate) result: Type,
}

/// A type under construction; sorts are places in [`Unifier`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ty {
    /// Something is wrong and was reported.
    Wrong,
    Open(usize),
    Formula,
    Elem(usize),
    Set(usize),
    Rel(usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum SortCell {
    Unknown,
    Same(usize),
    Known(Sort),
}

/// What is known about the sorts of elements and about parameters.
#[derive(Debug)]
pub(crate) struct Unifier {
    cells: Vec<SortCell>,
    params: Vec<Option<Ty>>,
}

impl Unifier {
    /// The first places are the sorts themselves.
    pub(crate) fn new() -> Self {
        let cells = [Sort::Txn, Sort::Key, Sort::Read].map(SortCell::Known).to_vec();
        Self { cells, params: Vec::new() }
    }

    /// Something of which nothing is known.
    pub(crate) fn fresh_type(&mut self) -> Ty {
        self.params.push(None);
        Ty::Open(self.params.len() - 1)
    }

    /// A relation or set about whose sorts nothing is known is one of transactions.
    pub(crate) fn default_to_txns(&mut self, ty: Ty) {
        let txn = Sort::Txn as usize;
        match self.resolve(ty) {
            Ty::Set(cell) if self.sort(cell).is_none() => {
                self.unify_sorts(cell, txn);
            }
            Ty::Rel(left, right) => {
                for cell in [left, right] {
                    if self.sort(cell).is_none() {
                        self.unify_sorts(cell, txn);
                    }
                }
            }
            _ => {}
        }
    }

    /// The sort at that place, if it is known.
    pub(crate) fn sort(&self, cell: usize) -> Option<Sort> {
        match self.cells[self.root(cell)] {
            SortCell::Known(sort) => Some(sort),
            _ => None,
        }
    }

    /// A finished type. A relation or set about which nothing is known is one of transactions.
    pub(crate) fn closed(&self, ty: Ty) -> Type {
        let sort = |cell| self.sort(cell).unwrap_or(Sort::Txn);
        match ty {
            Ty::Wrong | Ty::Open(_) | Ty::Formula => Type::Formula,
            Ty::Elem(cell) => Type::Elem(sort(cell)),
            Ty::Set(cell) => Type::Set(sort(cell)),
            Ty::Rel(left, right) => Type::Relation(sort(left), sort(right)),
        }
    }

    pub(crate) fn fresh(&mut self) -> usize {
        self.cells.push(SortCell::Unknown);
        self.cells.len() - 1
    }

    fn root(&self, mut cell: usize) -> usize {
        while let SortCell::Same(next) = self.cells[cell] {
            cell = next;
        }
        cell
    }

    pub(crate) fn resolve(&self, mut ty: Ty) -> Ty {
        while let Ty::Open(var) = ty {
            match self.params[var] {
                Some(next) => ty = next,
                None => return ty,
            }
        }
        ty
    }

    fn unify_sorts(&mut self, left: usize, right: usize) -> bool {
        let (left, right) = (self.root(left), self.root(right));
        match (self.cells[left], self.cells[right]) {
            _ if left == right => true,
            (SortCell::Known(a), SortCell::Known(b)) => a == b,
            (SortCell::Known(_), _) => {
                self.cells[right] = SortCell::Same(left);
                true
            }
            _ => {
                self.cells[left] = SortCell::Same(right);
                true
            }
        }
    }

    pub(crate) fn unify(&mut self, left: Ty, right: Ty) -> bool {
        match (self.resolve(left), self.resolve(right)) {
            (Ty::Wrong, _) | (_, Ty::Wrong) | (Ty::Formula, Ty::Formula) => true,
            (Ty::Open(a), Ty::Open(b)) if a == b => true,
            (Ty::Open(var), other) | (other, Ty::Open(var)) => {
                self.params[var] = Some(other);
                true
            }
            (Ty::Elem(a), Ty::Elem(b)) | (Ty::Set(a), Ty::Set(b)) => self.unify_sorts(a, b),
            (Ty::Rel(a, b), Ty::Rel(c, d)) => self.unify_sorts(a, c) && self.unify_sorts(b, d),
            _ => false,
        }
    }

    pub(crate) fn describe(&self, ty: Ty) -> String {
        let sort = |cell| match self.sort(cell) {
            Some(Sort::Txn) => "transaction",
            Some(Sort::Key) => "key",
            Some(Sort::Read) => "read",
            None => "element",
        };
        match self.resolve(ty) {
            Ty::Wrong | Ty::Open(_) => "something unknown".to_owned(),
            Ty::Formula => "a formula".to_owned(),
            Ty::Elem(cell) => format!("a {}", sort(cell)).replace("a element", "an element"),
            Ty::Set(cell) => format!("a set of {}s", sort(cell)),
            Ty::Rel(left, right) => format!("a relation from {}s to {}s", sort(left), sort(right)),
        }
    }

    pub(crate) fn conversion_hint(&self, found: Ty, wanted: Ty) -> &'static str {
        match (self.resolve(found), self.resolve(wanted)) {
            (Ty::Set(_), Ty::Rel(..)) => "`[S]` makes a relation of a set S",
            (Ty::Rel(..), Ty::Formula) => "apply it, as in `R(t1, t2)`, or say `acyclic(R)`, `empty(R)` or `R in S`",
            (Ty::Set(_), Ty::Formula) => "apply it, as in `S(t)`, or say `empty(S)`",
            (Ty::Elem(_), Ty::Formula) => "a variable alone says nothing; compare it or apply a relation to it",
            (Ty::Formula, Ty::Rel(..) | Ty::Set(_)) => "`{ a, b | formula }` makes a relation, `{ a | formula }` a set",
            (Ty::Rel(..), Ty::Rel(..)) => "the sorts of the two sides differ; `^-1` turns a relation around",
            (Ty::Elem(_), Ty::Elem(_)) => "the same name stands for two sorts, or the arguments are in the wrong order",
            _ => "look at the definition of what is used here",
        }
    }
}

pub(crate) fn open(ty: Type) -> Ty {
    match ty {
        Type::Formula => Ty::Formula,
        Type::Elem(sort) => Ty::Elem(sort as usize),
        Type::Set(sort) => Ty::Set(sort as usize),
        Type::Relation(left, right) => Ty::Rel(left as usize, right as usize),
    }
}
