//! Documents as JSON, and back. What the members are is said by the types of the documents.

use crate::allocate::AllocateReport;
use crate::collect::CollectReport;
use crate::demo::DemoReport;
use crate::document::{CheckReport, Link};
use crate::found::SpecWitness;
use crate::hunt::HuntReport;
use crate::predict::{ChangedRead, PredictReport};
use crate::replay::ReplayReport;
use crate::report::Report;
use crate::search::{CompareReport, LatticeReport, SeparateReport};
use crate::store::StoreReport;
use crate::v1;
use crate::verify::VerifyReport;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The version of the document that is written.
const VERSION: u64 = 2;

/// How the JSON text is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JsonLayout {
    /// One line.
    #[default]
    Compact,
    /// A line a member, indented.
    Pretty,
}

/// Why a text is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("a report is JSON, and this is not: {message}")]
    NotJson {
        /// What the parser says, with line and column.
        message: String,
    },
    /// Another version of the document.
    #[error("a report has \"isoscope\": {VERSION} or an earlier version, and this one has {found}")]
    Version {
        /// What was found instead.
        found: String,
    },
    /// Another verb's document.
    #[error("this is a report of {found:?}, and only those of {expected} are read here")]
    Verb {
        /// The other verb.
        found: String,
        /// The verbs whose documents are read.
        expected: &'static str,
    },
    /// A member is missing, or is something else than it should be.
    #[error("this report is damaged: {message}")]
    Member {
        /// What is wrong, with the member's name.
        message: String,
    },
}

/// The document of one verb.
pub(crate) trait Document: Serialize + DeserializeOwned {
    const VERB: &'static str;

    /// What scripts want most, at the top.
    fn shortcuts(&self) -> Shortcuts<'_> {
        Shortcuts::default()
    }

    /// Is there something that renderings rely on and that is not so?
    fn defect(&self) -> Option<String> {
        None
    }
}

/// Members that say again what stands deeper in the document. They are not read.
#[derive(Default, Serialize)]
pub(crate) struct Shortcuts<'d> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<&'static str>,
    /// What is wrong with the inputs: nothing, where they are refused otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) defects: Option<[(); 0]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) witnesses: Option<&'d [SpecWitness]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) changed_reads: Option<&'d [ChangedRead]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cycle: Option<&'d [Link]>,
}

/// A document with what all of them start with.
#[derive(Serialize)]
struct Headed<'d, D> {
    isoscope: u64,
    verb: &'static str,
    #[serde(flatten)]
    shortcuts: Shortcuts<'d>,
    #[serde(flatten)]
    document: &'d D,
}

/// Writes a document inside another one, so that it can be cut out and read by itself.
pub(crate) fn headed<D: Document, S: Serializer>(document: &D, serializer: S) -> Result<S::Ok, S::Error> {
    Headed { isoscope: VERSION, verb: D::VERB, shortcuts: document.shortcuts(), document }.serialize(serializer)
}

/// A document as text; equal documents give equal bytes.
fn written<D: Document>(document: &D, layout: JsonLayout) -> String {
    let headed = Headed { isoscope: VERSION, verb: D::VERB, shortcuts: document.shortcuts(), document };
    let text = match layout {
        JsonLayout::Compact => serde_json::to_string(&headed),
        JsonLayout::Pretty => serde_json::to_string_pretty(&headed),
    };
    // Writing strings and numbers to memory cannot fail.
    text.unwrap_or_default()
}

/// A text that has what every document starts with.
pub(crate) struct Source<'t> {
    text: &'t str,
    is_old: bool,
    verb: String,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self, ReadError> {
        let no_json = |it: serde_json::Error| ReadError::NotJson { message: it.to_string() };
        let value: Value = serde_json::from_str(text).map_err(no_json)?;
        let is_old = match value["isoscope"].as_u64() {
            Some(VERSION) => false,
            Some(v1::VERSION) => true,
            _ => return Err(ReadError::Version { found: value["isoscope"].to_string() }),
        };
        Ok(Self { text, is_old, verb: value["verb"].as_str().unwrap_or_default().to_owned() })
    }

    pub(crate) fn verb(&self) -> &str {
        &self.verb
    }

    pub(crate) fn read<D: Document>(&self) -> Result<D, ReadError> {
        let damaged = |it: serde_json::Error| ReadError::Member { message: it.to_string() };
        let document: D = if self.is_old {
            let value = serde_json::from_str(self.text).map_err(damaged)?;
            serde_json::from_value(v1::upgraded(value)).map_err(damaged)?
        } else {
            serde_json::from_str(self.text).map_err(damaged)?
        };
        document.defect().map_or(Ok(document), |message| Err(ReadError::Member { message }))
    }
}

impl CheckReport {
    /// Reads what [`CheckReport::to_json`] wrote. Members that are not known are skipped.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let source = Source::new(text)?;
        if source.verb() != Self::VERB {
            return Err(ReadError::Verb { found: source.verb().to_owned(), expected: "\"check\"" });
        }
        source.read()
    }
}

/// Documents, each with its place in [`Report`] and its verb.
macro_rules! documents {
    ($($document:ident is $variant:ident, written by $verb:literal $({ $($special:item)* })?;)*) => {$(
        impl Document for $document {
            const VERB: &'static str = $verb;
            $($($special)*)?
        }

        impl $document {
            /// The document as JSON; equal documents give equal bytes.
            pub fn to_json(&self, layout: JsonLayout) -> String {
                written(self, layout)
            }
        }

        impl From<$document> for Report {
            fn from(document: $document) -> Self {
                Self::$variant(document)
            }
        }
    )*};
}

documents! {
    CheckReport is Check, written by "check";
    SeparateReport is Separate, written by "separate" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            let first = self.found.first();
            Shortcuts {
                defects: Some([]),
                history: first.map(|it| it.history.as_str()),
                witnesses: first.map(|it| it.witnesses.as_slice()),
                ..Shortcuts::default()
            }
        }
    };
    CompareReport is Compare, written by "compare" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { defects: Some([]), ..Shortcuts::default() }
        }
    };
    LatticeReport is Lattice, written by "lattice" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { defects: Some([]), ..Shortcuts::default() }
        }

        fn defect(&self) -> Option<String> {
            let is_class = |it: usize| it < self.classes.len();
            let is_good = self.edges.iter().all(|it| is_class(it.stronger) && is_class(it.weaker));
            if self.classes.iter().any(Vec::is_empty) {
                return Some("a class of \"classes\" has no level".to_owned());
            }
            (!is_good).then(|| "\"stronger\" and \"weaker\" should be places of classes".to_owned())
        }
    };
    VerifyReport is Verify, written by "verify" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { defects: Some([]), ..Shortcuts::default() }
        }
    };
    AllocateReport is Allocate, written by "allocate" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { verdict: Some(self.verdict()), ..Shortcuts::default() }
        }
    };
    PredictReport is Predict, written by "predict" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            let best = self.runs().first().map(|it| it.1);
            Shortcuts {
                verdict: Some(self.verdict()),
                history: best.map(|it| it.history.as_str()),
                changed_reads: best.map(|it| it.changed.as_slice()),
                cycle: best.map(|it| it.predicted().cycle.as_slice()),
                ..Shortcuts::default()
            }
        }
    };
    CollectReport is Collect, written by "collect";
    HuntReport is Hunt, written by "hunt" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { verdict: Some(self.verdict()), ..Shortcuts::default() }
        }

        fn defect(&self) -> Option<String> {
            let is_good = self.rounds.iter().filter_map(|it| it.finding).all(|it| it < self.findings.len());
            (!is_good).then(|| "\"finding\" of a round should be the place of a finding".to_owned())
        }
    };
    ReplayReport is Replay, written by "replay" {
        fn shortcuts(&self) -> Shortcuts<'_> {
            Shortcuts { verdict: Some(self.verdict()), ..Shortcuts::default() }
        }
    };
    DemoReport is Demo, written by "demo";
    StoreReport is Store, written by "store";
}
