//! Which history does one isolation level allow and another one forbid?
mod draft;
mod form;
mod matrix;
mod plan;
mod polarity;
mod question;
mod search;
mod separate;
mod sketch;
mod translate;
mod witness;

pub use question::{BlindWrites, Method, Question, Rereads, Scope, Sessions, Size};
pub use search::Effort;
pub use separate::{Answer, Aspects, Found, Separation, separate};
