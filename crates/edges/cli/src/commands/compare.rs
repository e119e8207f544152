//! `isoscope compare`: how do two levels relate?

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::found::{Shown, Withheld, shown};
use crate::limits::Alarm;
use crate::names;
use crate::scope;
use crate::spec_file::OwnLevels;
use crate::teller::{Channel, Limited, Teller, complain_of_limit, effort};
use iso_evidence::Budget;
use iso_report::{CompareReport, Report, SpecRelation};
use iso_separate::{Aspects, Comparison, Found, Method, Relation, Scope, compare};
use iso_spec::Spec;
use std::sync::Arc;
use std::time::Instant;

/// The arguments, resolved.
struct Compare<'s> {
    left: &'s Spec,
    right: &'s Spec,
    scope: Scope,
    method: Method,
    inputs: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(raw: &CompareArgs, started: Instant) -> anyhow::Result<Exit> {
    let own = OwnLevels::read(&raw.search.specs)?;
    let asked = Compare::resolve(raw, &own)?;
    let teller = Arc::new(Teller::new(&raw.search.answer, Channel::Output, started)?);
    let alarm = teller.watch(Report::Compare(asked.blank()));
    asked.answer(&teller, &alarm)
}

impl<'s> Compare<'s> {
    fn resolve(raw: &CompareArgs, own: &'s OwnLevels) -> anyhow::Result<Self> {
        Ok(Self {
            left: names::spec(&raw.left, own)?,
            right: names::spec(&raw.right, own)?,
            scope: scope::resolve(&raw.search.scope, Scope::default())?,
            method: scope::method(raw.search.method),
            inputs: own.inputs(),
        })
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
            effort: iso_report::Effort::default(),
        }
    }

    fn answer(&self, teller: &Teller, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let budget = Budget::new(&stop);
        teller.progress.stage("searching in both directions");
        let comparison = compare(self.left, self.right, &self.scope, self.method, &budget);
        teller.progress.stage("certifying");
        let side = |found: &Option<Box<Found>>, allows: &Spec, forbids: &Spec| {
            found.as_ref().map(|it| shown(it, &[allows], &[forbids], &budget)).transpose()
        };
        let left = side(&comparison.left_only, self.left, self.right);
        let right = side(&comparison.right_only, self.right, self.left);
        let (report, notes) = self.worded(&comparison, [left, right]);
        let exit = teller.tell(report.into(), notes, || Ok(Vec::new()))?;
        if let Some(reason) = alarm.reason().filter(|_| exit == Exit::Unknown) {
            complain_of_limit(&reason, Limited::Search);
        }
        Ok(exit)
    }

    /// The document, and what stands below it.
    fn worded(
        &self,
        comparison: &Comparison,
        sides: [Result<Option<Shown>, Withheld>; 2],
    ) -> (CompareReport, Vec<String>) {
        let mut report = CompareReport {
            scope: scope::document(&self.scope, comparison.aspects),
            relation: relation(&comparison.relation),
            effort: effort(&comparison.effort),
            ..self.blank()
        };
        let mut notes = Vec::new();
        let mut documents = [None, None];
        for (document, side) in documents.iter_mut().zip(sides) {
            match side {
                Ok(None) => {}
                Ok(Some(shown)) => {
                    notes.extend(shown.notes);
                    *document = Some(Box::new(shown.document));
                }
                Err(withheld) => {
                    withheld.complain();
                    report.relation = SpecRelation::Unknown { reason: withheld.reason() };
                }
            }
        }
        [report.left_only, report.right_only] = documents;
        (report, notes)
    }
}

fn relation(of: &Relation) -> SpecRelation {
    match of {
        Relation::Equivalent => SpecRelation::Equivalent,
        Relation::Stronger => SpecRelation::Stronger,
        Relation::Weaker => SpecRelation::Weaker,
        Relation::Incomparable => SpecRelation::Incomparable,
        Relation::Unknown(reason) => SpecRelation::Unknown { reason: reason.to_string() },
    }
}
