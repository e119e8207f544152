//! The form in which a search wants the text of a level: shared by the engines that read such texts.

mod form;
mod initial;
mod polarity;
mod signed;

pub use form::{Conjunct, Form, Rule, Source, mentions, mentions_real_time};
pub use polarity::{Polarity, of_formula, of_relation};
pub use signed::{Signed, conjuncts, formula_variables, relation_variables};
