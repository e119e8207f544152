//! `isoscope compare`: how do two levels relate?

use crate::args::CompareArgs;
use crate::construction_file;
use crate::exit::Exit;
use crate::found::shown;
use crate::limits::Alarm;
use crate::names;
use crate::output;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit, effort};
use crate::scope;
use crate::sought::Sought;
use crate::spec_file::OwnLevels;
use iso_answer::WrongEvidence;
use iso_answer::compare::{Comparison, Extent, Proofs, Relation, compare};
use iso_answer::separate::{Answer, Aspects, Method, Scope, Separating};
use iso_evidence::{Budget, Implication, Note, Theory};
use iso_report::{CompareReport, Direction, ImplicationProof, Implied, Report, SpecRelation};
use iso_spec::{DirtyReads, Spec};
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Compare<'s> {
    left: &'s Spec,
    right: &'s Spec,
    scope: Scope,
    method: Method,
    proofs: Proofs,
    inputs: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(raw: &CompareArgs, started: Instant) -> anyhow::Result<Exit> {
    let own = OwnLevels::read(&raw.search.specs)?;
    let asked = Compare::resolve(raw, &own)?;
    let reporter = Arc::new(Reporter::new(&raw.search.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Compare(asked.blank()));
    asked.answer(&reporter, &alarm)
}

/// The answer, with what stands below it, for whoever asks from within a program.
pub(crate) fn ask(
    raw: &CompareArgs,
    own: &OwnLevels,
    budget: &Budget<'_>,
) -> anyhow::Result<(CompareReport, Vec<String>)> {
    let asked = Compare::resolve(raw, own)?;
    Ok(asked.worded(&asked.compare(budget)))
}

impl<'s> Compare<'s> {
    fn resolve(raw: &CompareArgs, own: &'s OwnLevels) -> anyhow::Result<Self> {
        let (left, right) = (names::spec(&raw.left, own)?, names::spec(&raw.right, own)?);
        let mut scope = scope::resolve(&raw.search.scope, Scope::default())?;
        scope.txns = raw.bounded.unwrap_or(scope.txns);
        let proofs = match &raw.by {
            Some(path) => Proofs::By(construction_file::read(path, right)?),
            None if raw.bounded.is_some() => Proofs::No,
            None => Proofs::Wanted,
        };
        Ok(Self { left, right, scope, proofs, method: scope::method(raw.search.method), inputs: own.inputs() })
    }

    /// The answer before anything is known.
    fn blank(&self) -> CompareReport {
        CompareReport {
            inputs: self.inputs.clone(),
            left: self.left.into(),
            right: self.right.into(),
            scope: scope::document(&self.scope, Aspects::default()),
            relation: SpecRelation::Unknown { reason: String::new() },
            left_only: None,
            right_only: None,
            left_implies_right: None,
            right_implies_left: None,
            not_certified: None,
            effort: iso_report::Effort::default(),
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let sought = Sought::new(&reporter.progress);
        let hear = |note: Note| sought.hear(note);
        let (report, notes) = self.worded(&self.compare(&Budget::new(&stop).heard_by(&hear)));
        let exit = reporter.publish(report.into(), notes, || Ok(Vec::new()))?;
        if let Some(reason) = alarm.reason().filter(|_| exit == Exit::Unknown) {
            complain_of_limit(&reason, Limited::Search);
        }
        Ok(exit)
    }

    fn compare(&self, budget: &Budget<'_>) -> Comparison {
        compare(self.left, self.right, &self.scope, self.method, &self.proofs, budget)
    }

    /// The document, and what stands below it.
    fn worded(&self, comparison: &Comparison) -> (CompareReport, Vec<String>) {
        let relation = comparison.relation();
        let not_certified = uncertified(&relation);
        let relation = shown_relation(&relation);
        let mut notes = Vec::new();
        let mut side = |found: Option<&Separating>, allows: &Spec, forbids: &Spec| {
            let shown = shown(found?, &[allows], &[forbids]);
            notes.extend(shown.notes);
            Some(Box::new(shown.document))
        };
        let [left, right] = comparison.histories();
        let left_only = side(left, self.left, self.right);
        let right_only = side(right, self.right, self.left);
        let scope = scope::document(&self.scope, comparison.aspects);
        let effort = effort(&comparison.effort);
        let left_implies_right = Some(direction(comparison, 0, self.left, self.right));
        let right_implies_left = Some(direction(comparison, 1, self.right, self.left));
        let known = CompareReport { left_implies_right, right_implies_left, ..self.blank() };
        (CompareReport { scope, relation, left_only, right_only, not_certified, effort, ..known }, notes)
    }
}

/// What is known of one direction.
fn direction(comparison: &Comparison, which: usize, stronger: &Spec, weaker: &Spec) -> Direction {
    let answer = if which == 0 { &comparison.left_only } else { &comparison.right_only };
    let proof = comparison.proofs[which].as_ref().and_then(|it| shown_proof(stronger, weaker, it));
    let implied = match answer {
        _ if proof.is_some() => Implied::EverySize,
        Answer::Found(_) => Implied::No,
        Answer::None(_) => Implied::UpTo,
        Answer::Undecided(_) | Answer::Refused(_) => Implied::Unknown,
    };
    let only = proof.as_ref().and_then(|_| known_outcomes_only(stronger, weaker));
    Direction { implied, proof, only, reason: comparison.open[which].clone() }
}

/// A level that allows dirty reads takes transactions of unknown outcome as aborted, and one that does not may count them.
pub(crate) fn known_outcomes_only(stronger: &Spec, weaker: &Spec) -> Option<String> {
    let is_mixed = stronger.dirty_reads() == DirtyReads::Forbidden && weaker.dirty_reads() == DirtyReads::Allowed;
    is_mixed.then(|| {
        format!(
            "{} allows dirty reads: what is proved of it is so for histories whose transactions all have a known outcome.",
            weaker.name()
        )
    })
}

/// The document of a proof.
pub(crate) fn shown_proof(stronger: &Spec, weaker: &Spec, proof: &Implication) -> Option<Box<ImplicationProof>> {
    let theory = Theory::new(stronger, weaker, &proof.construction).ok()?;
    let names: Vec<String> = weaker.witnesses().iter().map(|it| it.name.clone()).collect();
    Some(Box::new(ImplicationProof::new(&theory, proof, &names)))
}

/// What neither a history nor a proof shows.
fn uncertified(relation: &Relation) -> Option<String> {
    match relation {
        Relation::Equivalent(Extent::UpTo(searched)) => Some(searched.clause().to_owned()),
        Relation::Stronger(Extent::UpTo(_)) | Relation::Weaker(Extent::UpTo(_)) => {
            Some("that there is no history the other way round rests on the search itself".to_owned())
        }
        Relation::Equivalent(Extent::EverySize)
        | Relation::Stronger(Extent::EverySize)
        | Relation::Weaker(Extent::EverySize)
        | Relation::Incomparable
        | Relation::Undecided(_)
        | Relation::Refused(_) => None,
    }
}

fn shown_relation(of: &Relation) -> SpecRelation {
    match of {
        Relation::Equivalent(_) => SpecRelation::Equivalent,
        Relation::Stronger(_) => SpecRelation::Stronger,
        Relation::Weaker(_) => SpecRelation::Weaker,
        Relation::Incomparable => SpecRelation::Incomparable,
        Relation::Undecided(reason) => SpecRelation::Unknown { reason: reason.to_string() },
        Relation::Refused(wrong) => {
            output::complain(&wrong.to_string());
            SpecRelation::Unknown { reason: WrongEvidence::IN_SHORT.to_owned() }
        }
    }
}
