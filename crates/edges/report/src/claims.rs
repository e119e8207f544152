//! A document as claims that held, broke or stayed open: what services that run tests want to know.
//!
//! Where something was promised or expected, that is the claim. Otherwise each level that was asked is one.

use crate::document::{CheckReport, Defect, Excerpt, Judgement, LevelName, LevelReport, Place, Severity};
use crate::hunt::{HuntFinding, HuntReport};
use crate::predict::{PredictReport, PredictVerdict, PredictedLevel};
use crate::promise::PromiseVerdict;
use crate::replay::ReplayReport;
use crate::report::Report;
use crate::search::{SearchVerdict, SpecRelation};
use crate::text::{TextOptions, within};
use crate::verify::{VerifiedLevel, VerifyReport, VerifyVerdict};

/// Texts of claims are as wide as lines of logs.
const COLUMNS: usize = 100;

/// One thing that a document says, as a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What it is about: a file, a program or a database.
    pub subject: String,
    /// What should hold: `serializable (ser)`.
    pub name: String,
    /// Did it?
    pub verdict: ClaimVerdict,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimVerdict {
    /// It holds.
    Held,
    /// It does not.
    Broken(Breach),
    /// Nobody knows, for that reason.
    Open(String),
    /// It could not be asked.
    Unasked {
        /// What is wrong with the input.
        message: String,
        /// Where.
        place: Place,
    },
}

/// Why a claim does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// What the field calls it, the most telling name first; may be empty.
    pub anomalies: Vec<String>,
    /// In a line.
    pub message: String,
    /// All of it, as text.
    pub text: String,
    /// Where it shows, the most telling place first.
    pub places: Vec<Place>,
}

impl Breach {
    /// The name under which such breaches are grouped.
    pub fn rule(&self) -> &str {
        self.anomalies.first().map_or("violated", String::as_str)
    }
}

/// The claims of a document.
#[allow(
    clippy::match_wildcard_for_single_variants,
    reason = "a verb that is new has no claims until somebody says which"
)]
pub fn claims(report: &Report) -> Vec<Claim> {
    match report {
        Report::Check(report) => of_check(report),
        Report::Verify(report) => of_verify(report),
        Report::Hunt(report) => of_hunt(report),
        Report::Replay(report) => vec![of_replay(report)],
        Report::Predict(report) => of_predict(report),
        Report::Collect(it) => of_assertions(&it.database, &it.assertions),
        Report::Store(it) => of_assertions(&it.application, &it.assertions),
        Report::Separate(it) => {
            let verdict = match &it.verdict {
                SearchVerdict::Found => ClaimVerdict::Broken(told(report, "a history separates them")),
                SearchVerdict::None => ClaimVerdict::Held,
                SearchVerdict::Unknown { reason } => ClaimVerdict::Open(reason.clone()),
            };
            let names = |of: &[crate::SpecName]| of.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ");
            let name = format!("nothing that {} allows is forbidden by {}", names(&it.allowed), names(&it.forbidden));
            vec![Claim { subject: "levels".to_owned(), name, verdict }]
        }
        Report::Compare(it) => {
            let verdict = match &it.relation {
                SpecRelation::Equivalent => ClaimVerdict::Held,
                SpecRelation::Unknown { reason } => ClaimVerdict::Open(reason.clone()),
                _ => ClaimVerdict::Broken(told(report, "they are not equivalent")),
            };
            let name = format!("{} and {} are equivalent", it.left.name, it.right.name);
            vec![Claim { subject: "levels".to_owned(), name, verdict }]
        }
        Report::Lattice(it) => {
            let open = it.unknown.first().map(|it| ClaimVerdict::Open(it.reason.clone()));
            let name = "all pairs of levels are decided".to_owned();
            vec![Claim { subject: "levels".to_owned(), name, verdict: open.unwrap_or(ClaimVerdict::Held) }]
        }
        Report::Allocate(it) => {
            let verdict = match it.verdict() {
                "robust" => ClaimVerdict::Held,
                "not-robust" => ClaimVerdict::Broken(told(report, "some run is not serializable")),
                _ => ClaimVerdict::Open(it.unknown.clone().unwrap_or_default()),
            };
            vec![Claim { subject: it.inputs.join(", "), name: "every run is serializable".to_owned(), verdict }]
        }
        // The rest answers no question that can be broken.
        _ => Vec::new(),
    }
}

fn titled(level: &LevelName) -> String {
    if level.short == level.full { level.full.clone() } else { format!("{} ({})", level.full, level.short) }
}

fn text_of(report: &Report) -> String {
    // Whoever reads it beside other tests has no command at hand.
    within(&report.text(TextOptions { columns: Some(COLUMNS), ..TextOptions::default() }))
}

fn told(report: &Report, message: &str) -> Breach {
    Breach { anomalies: Vec::new(), message: message.to_owned(), text: text_of(report), places: Vec::new() }
}

fn of_check(report: &CheckReport) -> Vec<Claim> {
    let subject = report.inputs.join(", ");
    let is_error = |it: &&Defect| it.severity == Severity::Error;
    let unasked = report.defects.iter().filter(is_error).map(|it| Claim {
        subject: subject.clone(),
        name: "the history can be read".to_owned(),
        verdict: ClaimVerdict::Unasked { message: it.message.clone(), place: it.place.clone() },
    });
    let mut claims: Vec<Claim> = unasked.collect();
    let asked: Vec<(String, &LevelReport)> = match &report.promise {
        Some(promise) => {
            let found = report.levels.iter().find(|it| it.level == promise.level);
            found
                .map(|it| (format!("{} promises {}", promise.database, titled(&promise.level)), it))
                .into_iter()
                .collect()
        }
        None => report.levels.iter().map(|it| (titled(&it.level), it)).collect(),
    };
    for (name, level) in asked {
        let is_kept = report.promise.as_ref().is_some_and(|it| it.verdict == PromiseVerdict::Kept);
        let verdict = match &level.judgement {
            Judgement::Holds { .. } => ClaimVerdict::Held,
            _ if is_kept => ClaimVerdict::Held,
            Judgement::Violated { anomalies, core } => ClaimVerdict::Broken(Breach {
                anomalies: anomalies.clone(),
                message: message(&name, anomalies, core),
                text: text_of(&only(report, level).into()),
                places: places(core),
            }),
            Judgement::Unknown { reason } => ClaimVerdict::Open(reason.clone()),
        };
        claims.push(Claim { subject: subject.clone(), name, verdict });
    }
    claims
}

/// The same report with one level, and nothing of what it took.
fn only(report: &CheckReport, level: &LevelReport) -> CheckReport {
    CheckReport { levels: vec![level.clone()], promise: None, surroundings: None, ..report.clone() }
}

fn message(name: &str, anomalies: &[String], core: &Excerpt) -> String {
    let names = if anomalies.is_empty() { String::new() } else { format!(" ({})", anomalies.join(", ")) };
    let summary = if core.summary.is_empty() { String::new() } else { format!(": {}", core.summary) };
    format!("{name} is violated{names}{summary}")
}

/// Where the transactions of a core stand.
fn places(core: &Excerpt) -> Vec<Place> {
    core.transactions.iter().filter_map(|it| it.place.clone()).filter(|it| !it.is_unknown()).collect()
}

fn of_verify(report: &VerifyReport) -> Vec<Claim> {
    let subject = report.inputs.join(", ");
    let mut claims: Vec<Claim> = report.levels.iter().map(|it| of_level(report, it, &subject)).collect();
    if let Some(server) = &report.server {
        let verdict = match &server.first {
            Some(run) => ClaimVerdict::Broken(told(&Report::Verify(report.clone()), &run.wrong.join("; "))),
            None => ClaimVerdict::Held,
        };
        let name = format!("on {} under {}", server.database, server.isolation);
        claims.push(Claim { subject, name, verdict });
    }
    claims
}

fn of_level(report: &VerifyReport, level: &VerifiedLevel, subject: &str) -> Claim {
    let name = format!("invariants under {}", titled(&level.level));
    let verdict = match &level.verdict {
        VerifyVerdict::Holds => ClaimVerdict::Held,
        VerifyVerdict::Unknown { reason } => ClaimVerdict::Open(reason.clone()),
        VerifyVerdict::Violated { counterexample } => {
            let wrong: Vec<&str> = counterexample.wrong.iter().map(|it| it.words.as_str()).collect();
            let place =
                |line: u64| Place { file: report.inputs.first().cloned(), line: Some(line), byte: None, txn: None };
            let alone = VerifyReport {
                levels: vec![level.clone()],
                weakest: None,
                server: None,
                hint: None,
                repairs: Vec::new(),
                ..report.clone()
            };
            ClaimVerdict::Broken(Breach {
                anomalies: counterexample.anomalies.clone(),
                message: format!("{} under {}", wrong.join("; "), titled(&level.level)),
                text: text_of(&alone.into()),
                places: counterexample.wrong.iter().map(|it| place(it.place.line)).collect(),
            })
        }
    };
    Claim { subject: subject.to_owned(), name, verdict }
}

fn of_hunt(report: &HuntReport) -> Vec<Claim> {
    let subject = format!("{} under {}", report.database, report.isolation);
    let name = titled(&report.expect);
    let broken = |finding: &HuntFinding| {
        let script = finding.script.as_ref().map(|it| format!("\n{}", it.listing())).unwrap_or_default();
        let names = finding.anomalies.join(", ");
        ClaimVerdict::Broken(Breach {
            anomalies: finding.anomalies.clone(),
            message: format!("{subject} is not {name}: {names}, seen in {}", finding.origin),
            text: text_of(&finding.check.clone().into()) + &script,
            places: Vec::new(),
        })
    };
    let mut verdicts: Vec<ClaimVerdict> = report.findings.iter().map(broken).collect();
    if verdicts.is_empty() {
        verdicts.push(match (&report.failure, &report.reason) {
            (Some(failure), _) => ClaimVerdict::Open(failure.clone()),
            (None, Some(reason)) if report.tally.undecided > 0 => ClaimVerdict::Open(reason.clone()),
            _ => ClaimVerdict::Held,
        });
    }
    verdicts.into_iter().map(|verdict| Claim { subject: subject.clone(), name: name.clone(), verdict }).collect()
}

fn of_replay(report: &ReplayReport) -> Claim {
    let verdict = match report.verdict() {
        "shown" => {
            let names = report.anomalies.join(", ");
            let text = text_of(&report.clone().into());
            let message = format!("{} shows {names} again on {}", report.script, report.database);
            let place = Place { file: Some(report.script.clone()), line: Some(1), byte: None, txn: None };
            ClaimVerdict::Broken(Breach { anomalies: report.anomalies.clone(), message, text, places: vec![place] })
        }
        "not-shown" => ClaimVerdict::Held,
        _ => ClaimVerdict::Open(report.reason.clone().unwrap_or_default()),
    };
    Claim { subject: report.script.clone(), name: titled(&report.expect), verdict }
}

fn of_predict(report: &PredictReport) -> Vec<Claim> {
    let subject = report.inputs.join(", ");
    let of_level = |level: &PredictedLevel| {
        let verdict = match &level.verdict {
            PredictVerdict::None => ClaimVerdict::Held,
            PredictVerdict::Unknown { reason } => ClaimVerdict::Open(reason.clone()),
            PredictVerdict::Predicted { runs, .. } => {
                let anomalies = runs.first().map(|it| it.anomalies().to_vec()).unwrap_or_default();
                let names = if anomalies.is_empty() { String::new() } else { format!(" ({})", anomalies.join(", ")) };
                let alone = PredictReport { levels: vec![level.clone()], strongest: None, ..report.clone() };
                let places = runs.iter().flat_map(|it| &it.changed).filter_map(|it| it.place.clone()).collect();
                ClaimVerdict::Broken(Breach {
                    message: format!(
                        "under {}, a run was possible that is not {}{names}",
                        titled(&level.level),
                        titled(&report.target)
                    ),
                    anomalies,
                    text: text_of(&alone.into()),
                    places,
                })
            }
        };
        let name = format!("every run under {} is {}", titled(&level.level), titled(&report.target));
        Claim { subject: subject.clone(), name, verdict }
    };
    report.levels.iter().map(of_level).collect()
}

fn of_assertions(subject: &str, assertions: &[crate::Asserted]) -> Vec<Claim> {
    let of_one = |it: &crate::Asserted| {
        let breach = || Breach {
            anomalies: Vec::new(),
            message: format!("{}: {}", it.name, it.detail),
            text: it.detail.clone(),
            places: Vec::new(),
        };
        let verdict = if it.holds { ClaimVerdict::Held } else { ClaimVerdict::Broken(breach()) };
        Claim { subject: subject.to_owned(), name: it.name.clone(), verdict }
    };
    assertions.iter().map(of_one).collect()
}
