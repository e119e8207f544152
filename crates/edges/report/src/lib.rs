//! Answers for people and machines: one versioned document a verb, and its renderings as text, JSON, DOT, SVG and HTML.
//!
//! [`CheckReport`], [`SeparateReport`], [`CompareReport`], [`LatticeReport`], [`VerifyReport`], [`PredictReport`],
//! [`CollectReport`], [`HuntReport`] and [`DemoReport`] are made once; every rendering reads only the document, so a report that was saved as JSON renders again exactly as it did the first
//! time. [`Report`] is any of them.

#![allow(clippy::format_push_string, reason = "renderings are small, and writing to a string cannot fail")]

mod agreement;
mod allocate;
mod amounts;
mod annotations;
mod arrow;
mod build;
mod build_found;
mod build_predict;
mod build_surroundings;
mod check_phrases;
mod claims;
mod collect;
mod collect_phrases;
mod demo;
mod derivation;
mod document;
mod dot;
mod durability;
mod edn;
pub mod elle;
mod execution;
mod explain;
mod explain_local;
mod explain_proof;
mod findings;
mod found;
mod grounds;
mod hasse;
mod highlight;
mod html;
mod hunt;
mod hunt_phrases;
mod implication;
mod json;
mod junit;
mod mark;
mod notation;
mod origin;
mod over_time;
mod panel;
mod phrases;
mod picture;
mod predict;
mod predict_phrases;
mod promise;
mod proof_phrases;
mod replay;
mod report;
mod sarif;
mod search;
mod series;
mod store;
mod surroundings;
mod svg;
mod text;
mod v1;
mod value;
mod verify;
mod verify_phrases;
mod words;

pub use agreement::compare_transactions;
pub use allocate::{AllocateReport, AllocatedTxn, BlockedEdge, BlockedLevel};
pub use annotations::annotations;
pub use build::{Answer, Limits, Run};
pub use build_found::{AllowedBy, ForbiddenBy};
pub use build_predict::{Predicted, Rewired, shape};
pub use claims::{Breach, Claim, ClaimVerdict, claims};
pub use collect::{AbortCauses, Asserted, CollectReport, NodeSessions, Outcomes, WorkloadParameters};
pub use demo::{DemoAct, DemoReport};
pub use derivation::{CoreNumbers, SavedDerivation};
pub use document::{
    Case, Certified, CheckReport, Counts, Defect, EventKind, Evidence, Excerpt, Judgement, LevelName, LevelReport,
    Link, LinkKind, LocalRead, Outcome, Place, Premises, ReadSource, Schedule, Severity, SqlStatement, Transaction,
    TxnRef,
};
pub use dot::dot;
pub use durability::{DurabilityReport, FaultMark, LostWriteReport};
pub use edn::edn;
pub use execution::{ExecutionRelation, RelationMembers};
pub use findings::{Finding, findings, strongest_that_hold};
pub use found::{Failure, Found, KeyVersions, RelationShape, SpecRefutation, SpecWitness, WitnessRelation};
pub use grounds::SavedGrounds;
pub use html::Imprint;
pub use hunt::{HuntCounts, HuntFinding, HuntReport, HuntRound, HuntScript, RoundVerdict};
pub use implication::{
    ClosureBound, Direction, ImplicationProof, Implied, MadePart, ShownInstance, ShownPart, ShownStep,
};
pub use json::{JsonLayout, ReadError};
pub use junit::{junit, junit_of_claims};
pub use over_time::{OverTime, StandingChange, StreamStanding};
pub use predict::{
    AllowedRun, Boundary, ChangedRead, Cut, ForbiddenRun, Precision, PredictReport, PredictVerdict, PredictedLevel,
    PredictedRun, Validation, ValidationVerdict, Version,
};
pub use promise::{PromiseReport, PromiseVerdict};
pub use replay::{ReplayReport, ReplayStep};
pub use report::Report;
pub use sarif::{sarif, sarif_of_claims};
pub use search::{
    Bound, CompareReport, DecidedPairs, Effort, LatticeEdge, LatticeImplication, LatticeReport, Scope, SearchVerdict,
    SeparateReport, SessionShape, SpecName, SpecRelation, UnknownPair,
};
pub use series::{Sample, Series};
pub use store::{Ending, StoreReport, StoreStep};
pub use surroundings::{Course, CourseUnit, KeySummary, Nearby, Neighbour, SessionSummary, Surroundings};
pub use svg::{Frame, figure_svg, svg};
pub use text::{Colour, Listing, Symbols, TextOptions, store_text, text, text_so_far};
pub use value::{InitialValue, OpKind, Operation, Value};
pub use verify::{
    Access, AnyNumberReport, BadRun, Change, CodePlace, Executed, Fault, ProgramScope, RepairReport, ServerRun,
    ServerRuns, ServerStep, StepReport, StepVerdict, VerifiedLevel, VerifyReport, VerifyVerdict, Written,
};
