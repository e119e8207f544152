//! Saved answers: what they claim, and whether the evidence that they have shows it. No engine is asked.
//!
//! A claim whose evidence is not in the document is recomputed by the kernel if that is possible, and otherwise said to
//! have none. What a document says of its inputs cannot be seen from it.

mod allocations;
mod any_number;
mod histories;
mod implications;
mod levels;
mod order;
mod runs;

use crate::commands::verify::{level, scope};
use crate::spec_file::OwnLevels;
use histories::{Claims, Problem, SavedHistory};
use iso_answer::verify::Isolation;
use iso_program::{Program, parse};
use iso_report::{
    BadRun, CheckReport, CompareReport, Found, Implied, LatticeReport, PredictReport, PredictVerdict, Report,
    SearchVerdict, SeparateReport, SpecRelation, VerifyReport, VerifyVerdict,
};
use levels::Levels;

/// Something that an answer says, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// As a sentence.
    pub(crate) words: String,
    pub(crate) outcome: Outcome,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Its evidence shows it.
    Certified,
    /// Its evidence does not show it.
    Refused(String),
    /// There is no evidence to look at, or it is too large.
    Missing(String),
}

impl Outcome {
    /// The word in JSON.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Refused(_) => "refused",
            Self::Missing(_) => "missing",
        }
    }

    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Certified => None,
            Self::Refused(reason) | Self::Missing(reason) => Some(reason),
        }
    }
}

/// What `certify` thinks of a document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    pub(crate) claims: Vec<Claim>,
    /// What cannot be seen from the document.
    pub(crate) unseen: Vec<&'static str>,
}

impl Findings {
    fn add(&mut self, words: impl Into<String>, outcome: Outcome) {
        self.claims.push(Claim { words: words.into(), outcome });
    }

    fn missing(&mut self, words: impl Into<String>, reason: &str) {
        self.add(words, Outcome::Missing(reason.to_owned()));
    }
}

const BY_SEARCH: &str = "it rests on the search itself";

/// What a document claims, each claim with what became of it; nothing if documents of this verb have no evidence.
pub(crate) fn examine(report: &Report, own: &OwnLevels) -> Option<Findings> {
    let mut findings = Findings::default();
    let levels = Levels { own };
    match report {
        Report::Check(report) => check(report, levels, &mut findings),
        Report::Separate(report) => separate(report, levels, &mut findings),
        Report::Compare(report) => compare(report, levels, &mut findings),
        Report::Lattice(report) => lattice(report, levels, &mut findings),
        Report::Verify(report) => verify(report, levels, &mut findings),
        Report::Predict(report) => predict(report, levels, &mut findings),
        Report::Allocate(report) => allocations::allocate(report, levels, &mut findings),
        Report::Collect(_) | Report::Hunt(_) | Report::Replay(_) | Report::Demo(_) | Report::Store(_) => return None,
    }
    Some(findings)
}

fn check(report: &CheckReport, levels: Levels<'_>, findings: &mut Findings) {
    use iso_report::Judgement;
    findings.unseen.push("that the history, or the part of it that is here, is what the input has");
    let whole = report.whole.as_deref().map(|it| SavedHistory::read(&it.history, &it.transactions));
    for answer in &report.levels {
        let name = &answer.level.short;
        match &answer.judgement {
            Judgement::Holds { evidence } => {
                let outcome = match &whole {
                    None => Outcome::Missing("a history of this size is not in the document".to_owned()),
                    Some(history) => history.and(|it| it.is_explained(levels, name, evidence)),
                };
                findings.add(format!("{name} allows the history"), outcome);
            }
            Judgement::Violated { anomalies, core } => {
                let history = SavedHistory::read(&core.history, &core.transactions);
                let outcome = history.and(|it| it.is_forbidden_core(levels, name, anomalies, core));
                findings.add(format!("{name} forbids the core"), outcome);
            }
            Judgement::Unknown { .. } => {}
        }
    }
}

fn separate(report: &SeparateReport, levels: Levels<'_>, findings: &mut Findings) {
    let names = |of: &[iso_report::SpecName]| of.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
    match report.verdict {
        SearchVerdict::Found if report.found.is_empty() => {
            findings.missing("there is such a history", "it is not in the document");
        }
        SearchVerdict::Found => {
            for found in &report.found {
                separates(found, &names(&report.allowed), &names(&report.forbidden), levels, findings);
            }
        }
        SearchVerdict::None => findings.missing("there is no such history in the scope", BY_SEARCH),
        SearchVerdict::Unknown { .. } => {}
    }
}

/// Is the history allowed by all of these levels, and forbidden by all of those?
fn separates(found: &Found, allowed: &[String], forbidden: &[String], levels: Levels<'_>, findings: &mut Findings) {
    let history = SavedHistory::read(&found.history, &found.transactions);
    for name in allowed {
        let witness = found.witnesses.iter().find(|it| it.level == *name);
        let outcome = match witness {
            Some(witness) => history.and(|it| it.has_witness(levels, witness, &found.session_order)),
            None => Outcome::Missing("its witness is not in the document".to_owned()),
        };
        findings.add(format!("{name} allows {}", short(&found.history)), outcome);
    }
    for name in forbidden {
        let outcome = history.and(|it| it.is_forbidden_by_text(levels, name, &found.session_order));
        findings.add(format!("{name} forbids {}", short(&found.history)), outcome);
    }
}

/// A history on one line.
fn short(history: &str) -> String {
    history.lines().map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("  ")
}

fn compare(report: &CompareReport, levels: Levels<'_>, findings: &mut Findings) {
    let (left, right) = (&report.left.name, &report.right.name);
    if matches!(report.relation, SpecRelation::Unknown { .. }) {
        return;
    }
    let says_implied = |is_left: bool| match report.relation {
        SpecRelation::Equivalent => true,
        SpecRelation::Stronger => is_left,
        SpecRelation::Weaker => !is_left,
        SpecRelation::Incomparable | SpecRelation::Unknown { .. } => false,
    };
    for (is_left, stronger, weaker, direction, against) in [
        (true, left, right, &report.left_implies_right, &report.left_only),
        (false, right, left, &report.right_implies_left, &report.right_only),
    ] {
        let words = format!("{stronger} implies {weaker}");
        match (says_implied(is_left), against, direction) {
            (true, _, Some(direction)) if direction.implied == Implied::EverySize => {
                let proof = direction.proof.as_deref();
                findings.add(format!("{words}, for every size"), implications::replay(levels, stronger, weaker, proof));
            }
            (true, _, _) => findings.missing(format!("{words}, up to a size"), BY_SEARCH),
            (false, Some(found), _) => {
                separates(found, std::slice::from_ref(stronger), std::slice::from_ref(weaker), levels, findings);
            }
            (false, None, _) => {
                findings.missing(format!("{stronger} does not imply {weaker}"), "no history is in the document");
            }
        }
    }
}

fn lattice(report: &LatticeReport, levels: Levels<'_>, findings: &mut Findings) {
    let mut implied: Vec<(String, String)> = Vec::new();
    for class in &report.classes {
        let Some((first, others)) = class.split_first() else { continue };
        implied.extend(others.iter().flat_map(|it| [(first.clone(), it.clone()), (it.clone(), first.clone())]));
    }
    for edge in &report.edges {
        let head = |class: usize| report.classes.get(class).and_then(|it| it.first()).cloned();
        let (Some(stronger), Some(weaker)) = (head(edge.stronger), head(edge.weaker)) else {
            findings.add("an edge joins two classes", Outcome::Refused("there is no such class".to_owned()));
            continue;
        };
        separates(&edge.found, std::slice::from_ref(&weaker), std::slice::from_ref(&stronger), levels, findings);
        implied.push((stronger, weaker));
    }
    for (stronger, weaker) in implied {
        let known = report.implications.iter().find(|it| it.stronger == stronger && it.weaker == weaker);
        let words = format!("{stronger} implies {weaker}");
        match known {
            Some(known) if known.direction.implied == Implied::EverySize => {
                let proof = known.direction.proof.as_deref();
                let outcome = implications::replay(levels, &stronger, &weaker, proof);
                findings.add(format!("{words}, for every size"), outcome);
            }
            _ => findings.missing(format!("{words}, up to a size"), BY_SEARCH),
        }
    }
}

/// Why certify cannot show that a program holds.
const NO_RUN_FOUND: &str = "it rests on the search itself, which found no run that breaks it; that there is none cannot be \
    seen from a document. Only violations can";

fn verify(report: &VerifyReport, levels: Levels<'_>, findings: &mut Findings) {
    findings.unseen.push("that the program in the document is the one that runs");
    if report.levels.iter().any(|it| it.verdict.bad_run().is_some_and(|it| !it.anomalies.is_empty())) {
        findings.unseen.push("what the field calls a run that is not serializable, and the cycle that explains it");
    }
    if report.server.is_some() {
        findings.unseen.push("what the program did on the server");
    }
    if let Some(any) = &report.any_number {
        any_number::examine(report, any, levels, findings);
        return;
    }
    let program = program_of(report);
    for answer in &report.levels {
        let name = &answer.level.short;
        match &answer.verdict {
            VerifyVerdict::Holds => findings.missing(format!("the program holds under {name}"), NO_RUN_FOUND),
            VerifyVerdict::Violated { counterexample } => {
                violated(program.as_ref(), name, counterexample, levels, findings);
            }
            VerifyVerdict::Unknown { .. } => {}
        }
    }
    for name in report.weakest.iter().flatten() {
        let holds = |it: &iso_report::VerifiedLevel| it.level.short == *name && it.verdict == VerifyVerdict::Holds;
        if !report.levels.iter().any(holds) {
            let reason = "no answer says that the program holds there".to_owned();
            findings.add(format!("{name} is enough"), Outcome::Refused(reason));
        }
    }
    for repair in report.repairs.iter().filter(|it| !it.changes.is_empty()) {
        findings
            .missing(format!("with each of the repairs, the program holds under {}", repair.level.short), NO_RUN_FOUND);
    }
}

/// The program of the document, if what is said of it is so.
fn program_of(report: &VerifyReport) -> Result<Program, String> {
    let file = report.inputs.first().map_or("program", String::as_str);
    let program = parse(&report.program.text, file)
        .map_err(|it| it.first().map_or_else(String::new, |it| format!("the program cannot be read: {it}")))?;
    if scope(&program) == report.program {
        Ok(program)
    } else {
        Err("the document says something else about the program than its text".to_owned())
    }
}

/// Does the program run so, is something wrong then, and does the level allow that?
fn violated(program: Result<&Program, &String>, name: &str, run: &BadRun, levels: Levels<'_>, findings: &mut Findings) {
    let history = SavedHistory::read(&run.excerpt.history, &run.excerpt.transactions);
    let mut found = None;
    let replayed = history.and(|history| {
        let program = program.map_err(|it| Problem::Wrong(it.clone()))?;
        let isolation: Isolation = level(name).map_err(|it| Problem::Wrong(it.to_string()))?;
        found = Some(runs::replay(program, isolation, run, history)?);
        Ok(())
    });
    findings.add(format!("the program runs so, and then {}", faults(run)), replayed);
    if let Some(found) = &found {
        findings.add(format!("{name} allows the run"), history.and(|_| order::is_allowed(levels, name, found)));
    }
    for forbidding in &run.forbidden_by {
        let outcome = history.and(|it| it.is_forbidden_by_text(levels, forbidding, &[]));
        findings.add(format!("{forbidding} forbids the run"), outcome);
    }
}

fn faults(run: &BadRun) -> String {
    run.wrong.iter().map(|it| it.words.as_str()).collect::<Vec<_>>().join(", and ")
}

fn predict(report: &PredictReport, levels: Levels<'_>, findings: &mut Findings) {
    let target = &report.target.short;
    findings.unseen.push("that a prediction repeats the sessions of the observed run, which is not in the document");
    for answer in &report.levels {
        let name = &answer.level.short;
        match &answer.verdict {
            PredictVerdict::Predicted { runs, .. } if runs.is_empty() => {
                findings.missing(format!("{name} allows a run that {target} forbids"), "it is not in the document");
            }
            PredictVerdict::Predicted { runs, .. } => {
                for run in runs {
                    let history = SavedHistory::read_text(&run.history);
                    let allowed = history.and(|it| it.is_explained(levels, name, &run.allowed.evidence));
                    findings.add(format!("{name} allows {}", short(&run.history)), allowed);
                    let forbidden = history.and(|it| it.is_forbidden(levels, target, &run.forbidden.anomalies));
                    findings.add(format!("{target} forbids {}", short(&run.history)), forbidden);
                }
            }
            PredictVerdict::None => {
                findings.missing(format!("{name} allows no run that {target} forbids"), BY_SEARCH);
            }
            PredictVerdict::Unknown { .. } => {}
        }
    }
}
