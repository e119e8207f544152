//! Which clauses does a changing valuation leave open? Kept up to date by one witness per clause.
//!
//! Each clause hangs on one literal that was true when last looked at. When a literal turns false, only the clauses
//! that hang on it are looked at again, and only when somebody asks: the cost of a change is the clauses that lost
//! their witness, however many clauses there are.

use crate::sat::Lit;

/// All clauses of a formula, each either witnessed by a literal or open.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    lits: Vec<Lit>,
    /// Clause `idx` is `lits[starts[idx]..starts[idx + 1]]`, the last one up to the end.
    starts: Vec<usize>,
    witnessed_by: Vec<Vec<u32>>,
    open: Vec<u32>,
}

impl Clauses {
    /// Makes room for the two literals of one more variable.
    pub(super) fn add_var(&mut self) {
        self.witnessed_by.push(Vec::new());
        self.witnessed_by.push(Vec::new());
    }

    /// Adds a clause, open.
    pub(super) fn add(&mut self, clause: &[Lit]) {
        self.open.push(self.starts.len() as u32);
        self.starts.push(self.lits.len());
        self.lits.extend_from_slice(clause);
    }

    /// Opens the clauses that hang on `lit`. Must be called when `lit` may have turned false.
    pub(super) fn release(&mut self, lit: Lit) {
        self.open.append(&mut self.witnessed_by[lit.index()]);
    }

    /// A clause without a true literal, or `None` if `is_true` satisfies all clauses.
    pub(super) fn find_open(&mut self, is_true: impl Fn(Lit) -> bool) -> Option<&[Lit]> {
        while let Some(&clause_idx) = self.open.last() {
            let start = self.starts[clause_idx as usize];
            let end = self.starts.get(clause_idx as usize + 1).map_or(self.lits.len(), |&end| end);
            match self.lits[start..end].iter().find(|&&lit| is_true(lit)) {
                Some(witness) => {
                    self.witnessed_by[witness.index()].push(clause_idx);
                    self.open.pop();
                }
                None => return Some(&self.lits[start..end]),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sat::Var;

    #[test]
    fn a_clause_is_open_until_one_of_its_literals_is_true() {
        let (a, b) = (Var::new(0).positive(), Var::new(1).positive());
        let mut clauses = Clauses::default();
        clauses.add_var();
        clauses.add_var();
        clauses.add(&[a, b]);
        assert_eq!(clauses.find_open(|_| false), Some(&[a, b][..]));
        assert_eq!(clauses.find_open(|lit| lit == b), None);
        clauses.release(a);
        assert_eq!(clauses.find_open(|_| false), None, "the witness b was not released");
        clauses.release(b);
        assert_eq!(clauses.find_open(|lit| lit == a), None);
        clauses.release(a);
        assert_eq!(clauses.find_open(|_| false), Some(&[a, b][..]));
    }
}
