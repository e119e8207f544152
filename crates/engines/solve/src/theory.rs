//! What a theory answers while a SAT solver searches: the solver side of CDCL(T), without naming a solver.
//!
//! Source: Fazekas et al. 2023, "IPASIR-UP: User Propagators for CDCL". We differ: theories here find conflicts and
//! take decisions, but propagate nothing, and they may end the search early with a model of their own.

use crate::sat::Lit;

/// A theory that follows the assignments of a search and objects to those that it cannot extend.
pub(crate) trait Theory {
    /// `lit` became true on the current level. Root-level literals may be reported again.
    fn assign(&mut self, lit: Lit);

    /// A new decision level opened.
    fn open_level(&mut self);

    /// All levels above `level` are gone, and their assignments with them.
    fn backtrack(&mut self, level: usize);

    /// Fills `clause` with a clause that every model of the theory satisfies and the current assignment falsifies.
    /// Returns false if the theory has no objection.
    fn conflict(&mut self, clause: &mut Vec<Lit>) -> bool;

    /// The next literal to decide, unassigned; `None` leaves the choice to the solver.
    fn decide(&mut self) -> Option<Lit>;

    /// The solver has assigned all variables, and [`Theory::conflict`] had no objection.
    fn accept(&mut self);
}
