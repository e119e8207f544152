//! Any of our documents, so that whoever renders a saved one need not know which verb wrote it.

use crate::allocate::AllocateReport;
use crate::collect::CollectReport;
use crate::demo::DemoReport;
use crate::document::CheckReport;
use crate::dot::{
    allocate_dot, collect_dot, compare_dot, demo_dot, dot, hunt_dot, lattice_dot, predict_dot, replay_dot,
    separate_dot, store_dot, verify_dot,
};
use crate::edn::edn;
use crate::html::{
    Imprint, allocate_html, check_html, collect_html, compare_html, demo_html, hunt_html, lattice_html, predict_html,
    replay_html, separate_html, store_html, verify_html,
};
use crate::hunt::HuntReport;
use crate::json::{JsonLayout, ReadError, Source};
use crate::predict::PredictReport;
use crate::replay::ReplayReport;
use crate::search::{CompareReport, LatticeReport, SeparateReport};
use crate::store::StoreReport;
use crate::svg::{
    allocate_svg, collect_svg, compare_svg, demo_svg, hunt_svg, lattice_svg, predict_svg, replay_svg, separate_svg,
    store_svg, svg, verify_svg,
};
use crate::text::{
    Listing, TextOptions, allocate, collect, compare, demo, hunt, lattice, predict, replay, separate, store_text, text,
    verify,
};
use crate::verify::VerifyReport;

/// The document of one verb.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
    /// What `check` found out about a history.
    Check(CheckReport),
    /// What `separate` found between levels.
    Separate(SeparateReport),
    /// How two levels relate.
    Compare(CompareReport),
    /// How many levels relate.
    Lattice(LatticeReport),
    /// Whether a program keeps its promises.
    Verify(VerifyReport),
    /// Which levels transactions need.
    Allocate(AllocateReport),
    /// What could have happened instead of an observed run.
    Predict(PredictReport),
    /// What a database did while its history was recorded.
    Collect(CollectReport),
    /// What a database did that it should not.
    Hunt(HuntReport),
    /// What a script showed.
    Replay(ReplayReport),
    /// What the demo shows.
    Demo(DemoReport),
    /// What an application did on the weak store.
    Store(StoreReport),
}

impl Report {
    /// Reads what [`Report::to_json`] wrote. Members that are not known are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let source = Source::new(text)?;
        match source.verb() {
            "check" => source.read().map(Self::Check),
            "separate" => source.read().map(Self::Separate),
            "compare" => source.read().map(Self::Compare),
            "lattice" => source.read().map(Self::Lattice),
            "verify" => source.read().map(Self::Verify),
            "allocate" => source.read().map(Self::Allocate),
            "predict" => source.read().map(Self::Predict),
            "collect" => source.read().map(Self::Collect),
            "hunt" => source.read().map(Self::Hunt),
            "replay" => source.read().map(Self::Replay),
            "demo" => source.read().map(Self::Demo),
            "store" => source.read().map(Self::Store),
            other => Err(ReadError::Verb {
                found: other.to_owned(),
                expected: "\"check\", \"separate\", \"compare\", \"lattice\", \"verify\", \"allocate\", \"predict\", \"collect\", \"hunt\", \"replay\", \
                           \"demo\" and \"store\"",
            }),
        }
    }

    /// The document as JSON; equal documents give equal bytes.
    pub fn to_json(&self, layout: JsonLayout) -> String {
        match self {
            Self::Check(report) => report.to_json(layout),
            Self::Separate(report) => report.to_json(layout),
            Self::Compare(report) => report.to_json(layout),
            Self::Lattice(report) => report.to_json(layout),
            Self::Verify(report) => report.to_json(layout),
            Self::Allocate(report) => report.to_json(layout),
            Self::Predict(report) => report.to_json(layout),
            Self::Collect(report) => report.to_json(layout),
            Self::Hunt(report) => report.to_json(layout),
            Self::Replay(report) => report.to_json(layout),
            Self::Demo(report) => report.to_json(layout),
            Self::Store(report) => report.to_json(layout),
        }
    }

    /// The document for a terminal.
    pub fn text(&self, options: TextOptions) -> String {
        options.spelled(match self {
            Self::Check(report) => text(report, options),
            Self::Separate(report) => separate(report, options),
            Self::Compare(report) => compare(report, options),
            Self::Lattice(report) => lattice(report, options),
            Self::Verify(report) => verify(report, options),
            Self::Allocate(report) => allocate(report, options),
            Self::Predict(report) => predict(report, options),
            Self::Collect(report) => collect(report, options),
            Self::Hunt(report) => hunt(report, options),
            Self::Replay(report) => replay(report, options),
            Self::Demo(report) => demo(report, options),
            Self::Store(report) => store_text(report, options, Listing::No),
        })
    }

    /// The document as one self-contained page, with the JSON of the document inside.
    pub fn html(&self, imprint: &Imprint) -> String {
        let page = match self {
            Self::Check(report) => check_html(report),
            Self::Separate(report) => separate_html(report),
            Self::Compare(report) => compare_html(report),
            Self::Lattice(report) => lattice_html(report),
            Self::Verify(report) => verify_html(report),
            Self::Allocate(report) => allocate_html(report),
            Self::Predict(report) => predict_html(report),
            Self::Collect(report) => collect_html(report),
            Self::Hunt(report) => hunt_html(report),
            Self::Replay(report) => replay_html(report),
            Self::Demo(report) => demo_html(report),
            Self::Store(report) => store_html(report),
        };
        page.html(imprint)
    }

    /// The document as one picture.
    pub fn svg(&self) -> String {
        match self {
            Self::Check(report) => svg(report),
            Self::Separate(report) => separate_svg(report),
            Self::Compare(report) => compare_svg(report),
            Self::Lattice(report) => lattice_svg(report),
            Self::Verify(report) => verify_svg(report),
            Self::Allocate(report) => allocate_svg(report),
            Self::Predict(report) => predict_svg(report),
            Self::Collect(report) => collect_svg(report),
            Self::Hunt(report) => hunt_svg(report),
            Self::Replay(report) => replay_svg(report),
            Self::Demo(report) => demo_svg(report),
            Self::Store(report) => store_svg(report),
        }
    }

    /// The document for Graphviz.
    pub fn dot(&self) -> String {
        match self {
            Self::Check(report) => dot(report),
            Self::Separate(report) => separate_dot(report),
            Self::Compare(report) => compare_dot(report),
            Self::Lattice(report) => lattice_dot(report),
            Self::Verify(report) => verify_dot(report),
            Self::Allocate(report) => allocate_dot(report),
            Self::Predict(report) => predict_dot(report),
            Self::Collect(report) => collect_dot(report),
            Self::Hunt(report) => hunt_dot(report),
            Self::Replay(report) => replay_dot(report),
            Self::Demo(report) => demo_dot(report),
            Self::Store(report) => store_dot(report),
        }
    }

    /// The answer of `check` as EDN, in the words of Jepsen's Elle; other verbs have none.
    pub fn edn(&self) -> Option<String> {
        match self {
            Self::Check(report) => Some(edn(report)),
            _ => None,
        }
    }

    /// The verb that wrote it.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Check(_) => "check",
            Self::Separate(_) => "separate",
            Self::Compare(_) => "compare",
            Self::Lattice(_) => "lattice",
            Self::Verify(_) => "verify",
            Self::Allocate(_) => "allocate",
            Self::Predict(_) => "predict",
            Self::Collect(_) => "collect",
            Self::Hunt(_) => "hunt",
            Self::Replay(_) => "replay",
            Self::Demo(_) => "demo",
            Self::Store(_) => "store",
        }
    }
}
