//! Asks questions about one history: decides, certifies, and words each answer as soon as it is known.

use crate::effort;
use crate::names::Question;
use crate::output;
use crate::reference;
use iso_evidence::{Budget, Uncertified, Verdict, certify_facts, certify_spec};
use iso_history::{Facts, History};
use iso_report::{Answer, Judgement, LevelName, LevelReport, Limits};
use iso_spec::Level;
use std::time::Instant;

/// How to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    /// Check the evidence of every answer?
    pub(crate) certifies: bool,
    /// How long a witness may be in the report.
    pub(crate) max_order: Option<usize>,
    /// What it may take.
    pub(crate) budget: Budget<'a>,
}

/// What happens while a history is judged.
pub(crate) trait Audience {
    /// This is being decided now.
    fn asking(&self, what: &str);
    /// A level is decided.
    fn decided(&self, report: LevelReport);
}

impl Judge<'_> {
    /// Asks all questions about a history.
    pub(crate) fn ask(
        &self,
        history: &History,
        questions: &[Question<'_>],
        audience: &dyn Audience,
        effort: &effort::Shared,
    ) {
        audience.asking("looking at who read what");
        let clock = Instant::now();
        let facts = Facts::new(history);
        effort.borrow_mut().add("facts", clock.elapsed());
        let mut told = Told { judge: *self, history, refuted: Vec::new(), effort };
        let levels: Vec<Level> = questions.iter().filter_map(level_of).collect();
        let mut n_decided = 0;
        audience.asking(&asking(&levels, n_decided));
        iso_check::check_levels(&facts, &levels, &self.budget, &mut |level, verdict| {
            let certify = || Some(certify_facts(&facts, level, verdict));
            audience.decided(told.word(level.into(), verdict, &certify));
            n_decided += 1;
            audience.asking(&asking(&levels, n_decided));
        });
        for question in questions {
            if let Question::Spec(spec) = question {
                audience.asking(&format!("searching for a witness of {}", spec.name()));
                let verdict = reference::decide(&facts, spec, &self.budget);
                let certify = || Some(certify_spec(&facts, spec, &verdict));
                audience.decided(told.word(question.name(), &verdict, &certify));
            }
        }
        effort.borrow_mut().close();
    }
}

fn level_of(question: &Question<'_>) -> Option<Level> {
    match question {
        Question::Level(level) => Some(*level),
        Question::Spec(_) => None,
    }
}

fn asking(levels: &[Level], n_decided: usize) -> String {
    match levels {
        [only] => format!("checking {}", only.full_name()),
        _ => format!("checking levels, {n_decided} of {} decided", levels.len()),
    }
}

/// Answers that were worded already.
struct Told<'a> {
    judge: Judge<'a>,
    history: &'a History,
    /// Refutations: several levels often have the same one.
    refuted: Vec<(Verdict, Judgement)>,
    effort: &'a effort::Shared,
}

impl Told<'_> {
    fn word(
        &mut self,
        level: LevelName,
        verdict: &Verdict,
        certify: &dyn Fn() -> Option<Result<(), Uncertified>>,
    ) -> LevelReport {
        self.effort.borrow_mut().close();
        let clock = Instant::now();
        let is_answer = !matches!(verdict, Verdict::Unknown(_));
        let certified = if self.judge.certifies && is_answer { certify() } else { None };
        let is_too_large = matches!(&certified, Some(Err(why)) if why.is_too_large);
        let certified = certified.map(|it| it.map_err(|why| why.to_string()));
        self.effort.borrow_mut().add("certify", clock.elapsed());
        let clock = Instant::now();
        let judgement = match &certified {
            Some(Err(why)) if is_too_large => Judgement::Unknown { reason: format!("probably violated, but {why}") },
            Some(Err(why)) => {
                output::complain(&uncertified(&level.short, why));
                Judgement::Unknown { reason: WRONG_EVIDENCE.to_owned() }
            }
            _ => self.judgement(verdict, &level),
        };
        self.effort.borrow_mut().add("report", clock.elapsed());
        // What could not be looked at is neither right nor wrong.
        LevelReport { level, judgement, certified: certified.filter(|_| !is_too_large) }
    }

    fn judgement(&mut self, verdict: &Verdict, level: &LevelName) -> Judgement {
        if let Some(known) = self.refuted.iter().find(|it| it.0 == *verdict) {
            return known.1.clone();
        }
        let answer = Answer { level: level.clone(), verdict, certified: None };
        let limits = Limits { max_order: self.judge.max_order };
        let judgement = LevelReport::new(self.history, &answer, limits).judgement;
        if matches!(verdict, Verdict::Forbidden(_)) {
            self.refuted.push((verdict.clone(), judgement.clone()));
        }
        judgement
    }
}

/// Why there is no answer, if certify refuses the one that there was.
pub(crate) const WRONG_EVIDENCE: &str = "a bug in isoscope: the evidence for the answer is wrong";

/// What to say then.
pub(crate) fn uncertified(level: &str, why: &str) -> String {
    format!(
        "THIS IS A BUG in isoscope: it has an answer for {level}, but the evidence does not pass the independent check \
         ({why}), so the answer is not shown. Please report it with the command and the input."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_evidence::{Schedule, Witness, certify};
    use iso_formats::{ReadOptions, read_from};

    #[test]
    fn an_answer_with_wrong_evidence_is_not_shown() {
        let text = "init x=0 y=0\ns1: { r(x,0) w(y,1) }\ns2: { r(y,0) w(x,1) }\n";
        let reading = read_from("skew", text.as_bytes(), &ReadOptions::default()).unwrap();
        let history = reading.into_history().unwrap();
        let order = Schedule::Order(history.txns().collect());
        let wrong = Verdict::Allowed(Witness { schedule: order, sources: [].into() });
        let judge = Judge { certifies: true, max_order: None, budget: Budget::unlimited() };
        let effort = effort::Shared::default();
        let mut told = Told { judge, history: &history, refuted: Vec::new(), effort: &effort };
        let level = Level::Serializable;
        let report = told.word(level.into(), &wrong, &|| Some(certify(&history, level, &wrong)));
        assert!(matches!(report.judgement, Judgement::Unknown { .. }), "{report:?}");
        assert!(matches!(report.certified, Some(Err(_))), "{report:?}");
    }
}
