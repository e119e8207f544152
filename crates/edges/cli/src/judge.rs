//! Asks questions about one history, and words each certified answer as soon as it is known.

use crate::clock::Instant;
use crate::effort;
use crate::names::Question;
use crate::output;
use iso_answer::WrongEvidence;
use iso_answer::check::{Answer, Certifying, NotCertified, check_each, check_spec};
use iso_evidence::{Budget, Stage, StopReason, Verdict};
use iso_history::{Facts, History};
use iso_report::{Judgement, LevelName, LevelReport, Limits};
use iso_spec::Level;
use std::time::Duration;

/// How to judge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge<'a> {
    /// Check the evidence of every answer?
    pub(crate) certifying: Certifying,
    /// How long a witness may be in the report.
    pub(crate) max_order: Option<usize>,
    /// What it may take.
    pub(crate) budget: Budget<'a>,
}

/// What happens while a history is judged.
pub(crate) trait Audience {
    /// These facts are what is judged.
    fn looked_at(&self, facts: &Facts<'_>) {
        let _ = facts;
    }
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
        audience.looked_at(&facts);
        // A line for it, also where nothing is certified.
        effort.borrow_mut().add(Stage::Certification.name(), Duration::ZERO);
        let mut writer = Writer { max_order: self.max_order, history, refuted: Vec::new(), effort };
        let levels: Vec<Level> = questions.iter().filter_map(level_of).collect();
        let mut decided = Vec::new();
        audience.asking(&asking(&levels, &decided));
        check_each(&facts, &levels, self.certifying, &self.budget, &mut |level, answer| {
            decided.push((level, answer.is_allowed()));
            audience.decided(writer.level(level.into(), answer));
            audience.asking(&asking(&levels, &decided));
        });
        for question in questions {
            if let Question::Spec(spec) = question {
                audience.asking(&format!("searching for a witness of {}", spec.name()));
                let answer = check_spec(&facts, spec, self.certifying, &self.budget);
                audience.decided(writer.level(question.name(), answer));
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

/// What is being decided, and what was: the strongest level that holds, and the weakest that is violated.
fn asking(levels: &[Level], decided: &[(Level, Option<bool>)]) -> String {
    let those = |is_allowed: bool| decided.iter().filter(move |it| it.1 == Some(is_allowed)).map(|it| it.0);
    let holds = those(true).max().map_or(String::new(), |it| format!(", {it} holds"));
    let violated = those(false).min().map_or(String::new(), |it| format!(", {it} is violated"));
    match levels {
        [only] => format!("checking {}", only.full_name()),
        _ => format!("checking levels, {} of {} decided{holds}{violated}", decided.len(), levels.len()),
    }
}

/// Turns answers into lines of the report.
struct Writer<'a> {
    max_order: Option<usize>,
    history: &'a History,
    /// Refutations that were worded already: several levels often have the same one.
    refuted: Vec<(Verdict, Judgement)>,
    effort: &'a effort::Shared,
}

impl Writer<'_> {
    fn level(&mut self, level: LevelName, answer: Answer) -> LevelReport {
        self.effort.borrow_mut().close();
        let clock = Instant::now();
        let (certified, verdict) = match answer {
            Answer::Refused(wrong) => {
                output::complain(&wrong.to_string());
                (Some(Err(wrong.why)), unknown(WrongEvidence::IN_SHORT.to_owned()))
            }
            Answer::NotCertified { verdict, why: NotCertified::TooLarge(why) } => {
                let probably = if matches!(verdict, Verdict::Allowed(_)) { "holds" } else { "violated" };
                (None, unknown(format!("probably {probably}, but {why}")))
            }
            Answer::NotCertified { verdict, why: NotCertified::NotAsked } => (None, verdict),
            Answer::Undecided(reason) => (None, Verdict::Unknown(reason)),
            Answer::Allowed(witness) => (Some(Ok(())), Verdict::Allowed(witness.into_inner())),
            Answer::Forbidden(refutation) => (Some(Ok(())), Verdict::Forbidden(refutation.into_inner())),
        };
        let judgement = self.judgement(&verdict, &level);
        self.effort.borrow_mut().add("report", clock.elapsed());
        LevelReport { level, judgement, certified }
    }

    fn judgement(&mut self, verdict: &Verdict, level: &LevelName) -> Judgement {
        if let Some(known) = self.refuted.iter().find(|it| it.0 == *verdict) {
            return known.1.clone();
        }
        let answer = iso_report::Answer { level: level.clone(), verdict, certified: None };
        let limits = Limits { max_order: self.max_order };
        let judgement = LevelReport::new(self.history, &answer, limits).judgement;
        if matches!(verdict, Verdict::Forbidden(_)) {
            self.refuted.push((verdict.clone(), judgement.clone()));
        }
        judgement
    }
}

/// Nothing is known, for that reason.
fn unknown(reason: String) -> Verdict {
    Verdict::Unknown(StopReason::Unsupported(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iso_history::HistoryBuilder;

    #[test]
    fn whoever_waits_sees_the_verdicts_so_far() {
        let levels = [Level::ReadCommitted, Level::ReadAtomic, Level::Serializable];
        assert_eq!(asking(&levels, &[]), "checking levels, 0 of 3 decided");
        let decided = [(Level::ReadCommitted, Some(true)), (Level::ReadAtomic, Some(false))];
        assert_eq!(asking(&levels, &decided), "checking levels, 2 of 3 decided, rc holds, ra is violated");
    }

    #[test]
    fn an_answer_with_wrong_evidence_is_not_shown() {
        let history = HistoryBuilder::new().finish().unwrap();
        let effort = effort::Shared::default();
        let mut writer = Writer { max_order: None, history: &history, refuted: Vec::new(), effort: &effort };
        let wrong = WrongEvidence { level: "ser".to_owned(), why: "no".to_owned() };
        let report = writer.level(Level::Serializable.into(), Answer::Refused(wrong));
        assert_eq!(report.judgement, Judgement::Unknown { reason: WrongEvidence::IN_SHORT.to_owned() });
        assert_eq!(report.certified, Some(Err("no".to_owned())));
    }
}
