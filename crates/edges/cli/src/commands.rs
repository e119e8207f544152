//! One module a verb: its arguments resolved, its calls, its exit.

pub(crate) mod allocate;
pub(crate) mod certify;
mod certify_stream;
pub(crate) mod check;
pub(crate) mod check_stream;
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod driver;
pub(crate) mod generate;
pub(crate) mod hunt;
pub(crate) mod lattice;
pub(crate) mod levels;
pub(crate) mod lsp;
pub(crate) mod playground;
pub(crate) mod predict;
#[cfg(feature = "record")]
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod separate;
#[cfg(feature = "record")]
pub(crate) mod serve;
pub(crate) mod store;
pub(crate) mod verify;
