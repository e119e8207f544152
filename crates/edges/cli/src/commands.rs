//! One module a verb: its arguments resolved, its calls, its exit.

pub(crate) mod check;
