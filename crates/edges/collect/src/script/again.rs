//! Plays a script several times, and looks each time whether the expected level forbids what happened.

use super::{Played, Script};
use crate::{Control, Database, Failure};
use iso_answer::check::{Answer, check};
use iso_answer::{Certified, WrongEvidence};
use iso_evidence::{Budget, Refutation, StopReason};
use iso_spec::Level;
use std::time::{Duration, Instant};

/// How long a history may be thought about.
const THINKING: Duration = Duration::from_secs(30);

/// What came of playing a script.
#[derive(Clone, Debug)]
pub struct PlayedAgain {
    /// What happened: the first time that it was forbidden, or else the last time.
    pub played: Played,
    /// Why that is forbidden, if it is.
    pub refutation: Option<Certified<Refutation>>,
    /// How often it was played.
    pub tries: usize,
    /// And how often that was forbidden.
    pub shown: usize,
    /// Why some of it was not decided; the first reason.
    pub undecided: Option<StopReason>,
    /// Answers whose evidence is wrong: bugs of ours, and to be told loudly.
    pub refused: Vec<WrongEvidence>,
}

/// Plays a script so many times, or until the control stops it, but once at least. `watch` hears how often it was played.
pub fn play_again(
    database: &dyn Database,
    script: &Script,
    expect: Level,
    times: usize,
    control: &Control,
    watch: &mut dyn FnMut(usize),
) -> Result<PlayedAgain, Failure> {
    let (mut tries, mut shown, mut undecided, mut refused) = (0, 0, None, Vec::new());
    let mut best: Option<(Played, Option<Certified<Refutation>>)> = None;
    while tries == 0 || tries < times && !control.is_stopped() {
        watch(tries);
        let played = script.play(database)?;
        tries += 1;
        let until = Instant::now() + THINKING;
        let stop = || {
            let is_late = || (Instant::now() >= until).then_some(StopReason::Timeout);
            control.is_stopped().then_some(StopReason::Interrupted).or_else(is_late)
        };
        let refutation = match check(&played.history, expect, &Budget::new(&stop)) {
            Answer::Forbidden(refutation) => Some(refutation),
            Answer::Allowed(_) => None,
            Answer::Refused(wrong) => {
                undecided.get_or_insert(StopReason::Unsupported(WrongEvidence::IN_SHORT.to_owned()));
                refused.push(wrong);
                None
            }
            Answer::NotCertified { why, .. } => {
                undecided.get_or_insert(StopReason::from(why));
                None
            }
            Answer::Undecided(reason) => {
                undecided.get_or_insert(reason);
                None
            }
        };
        shown += usize::from(refutation.is_some());
        if best.as_ref().is_none_or(|it| it.1.is_none()) {
            best = Some((played, refutation));
        }
    }
    let (played, refutation) = best.expect("it was played once");
    Ok(PlayedAgain { played, refutation, tries, shown, undecided, refused })
}
