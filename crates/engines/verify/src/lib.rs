//! Do these transaction programs keep their invariants under this isolation level?
//!
//! [`verify`] answers for one level, [`verify_all`] for several with few formulas, [`weakest`] names the weakest levels
//! that hold, and [`repairs`] tries which locked read, or which transaction that sees everything before it, would make a
//! program hold.
//!
//! A program is executed symbolically, all executions of its transactions become one formula over their order and
//! visibility, and a SAT solver looks for one in which something is wrong.

mod answer;
mod bounds;
mod encode;
mod execute;
mod layout;
mod level;
mod record;
mod repair;
mod term;
mod verify;

pub use answer::{Counterexample, Effort, Observed, Ran, Seen, Verdict, Verification, Wrong};
pub use execute::FailureKind;
pub use level::{Database, DatabaseLevel, Isolation, LEVELS};
pub use repair::{Repair, repairs};
pub use verify::{Weakest, verify, verify_all, verify_levels, verify_within_limits, weakest};
