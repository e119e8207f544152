//! Answers for people and machines: one versioned document, and its renderings as text, JSON, DOT, SVG and HTML.
//!
//! [`CheckReport`] is made from the kernel's types once; every rendering reads only the document, so a report that was
//! saved as JSON renders again exactly as it did the first time.

#![allow(clippy::format_push_string, reason = "renderings are small, and writing to a string cannot fail")]

mod build;
mod document;
mod dot;
mod explain;
mod explain_local;
mod findings;
mod html;
mod json;
mod notation;
mod picture;
mod svg;
mod text;
mod words;

pub use build::{Answer, Limits, Run};
pub use document::{
    CheckReport, Counts, Defect, Evidence, Judgement, LevelName, LevelReport, Link, LocalRead, Moment, Outcome, Part,
    Place, Transaction,
};
pub use dot::dot;
pub use findings::{Finding, findings, strongest_that_hold};
pub use html::html;
pub use json::{JsonLayout, ReadError};
pub use svg::{Frame, figure_svg, svg};
pub use text::{Colour, TextOptions, text};
