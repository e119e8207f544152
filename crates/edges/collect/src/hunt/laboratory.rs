//! Plays scripts until one shows again what was found, and makes that one small.

use super::interleave::interleavings;
use super::shrink::{renamed, shrink};
use super::together::together;
use crate::script::{Played, Script};
use crate::{Control, Database, Dialect};
use iso_answer::check::{Answer, check};
use iso_answer::{Certified, WrongEvidence};
use iso_evidence::{Budget, Refutation, StopReason};
use iso_history::History;
use iso_spec::Level;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long a history may be thought about.
const THINKING: Duration = Duration::from_secs(10);
/// How long scripts may be tried for one finding.
const TRYING: Duration = Duration::from_secs(20);
/// And where only races show anything.
const RACING: Duration = Duration::from_secs(60);
/// And how long it is looked how often the smallest of them shows it.
const RATING: Duration = Duration::from_secs(15);
/// What is found at the last moment is looked at so long all the same.
const LAST_LOOK: Duration = Duration::from_secs(2);
/// How many orders of one scenario are tried.
const ORDERS: usize = 60;
/// How often the smallest script is played in the end, to see how often it shows what it should.
const TRIES: usize = 5;

/// How often a race is run to see whether it shows anything, if nobody knows how often it does.
const RACES: usize = 10;
/// And where transactions are sent in one piece, which makes the race short.
const RACES_IN_ONE_PIECE: usize = 300;
/// A race that shows something less often than that is given up.
const MOST_RACES: usize = 3000;
/// A race is run until it has shown something so often. How often it shows it is known then to a third or so.
const SIGHTINGS: usize = 8;
/// And it is run so often at least, for a rate that a person can read.
const FEWEST_RACES: usize = 30;

/// Where scripts are played.
#[derive(Clone, Copy, Debug)]
pub(super) struct Laboratory<'l> {
    pub(super) database: &'l dyn Database,
    pub(super) expect: Level,
    pub(super) control: &'l Control,
    /// When the hunt is over.
    pub(super) deadline: Instant,
    /// Answers with wrong evidence: bugs of ours, whatever else comes of the hunt.
    pub(super) refused: &'l RefCell<Vec<WrongEvidence>>,
}

/// A script that shows what was found.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The script.
    pub script: Script,
    /// What happened when it was played.
    pub played: Played,
    /// Why that is forbidden.
    pub refutation: Certified<Refutation>,
    /// How often it was played in the end.
    pub tries: usize,
    /// And how often that was forbidden.
    pub shown: usize,
}

impl Reproduction {
    /// How many races nearly always show again what shows so often: all of them miss it with a chance of one in a hundred, even if
    /// it shows only half as often as it was seen.
    fn enough(&self) -> usize {
        // All of n races miss what one shows with a chance of p in (1 - p)^n of the cases, which is at most e^(-p n), and 2 ln 100 < 10.
        (10 * self.tries).div_ceil(self.shown.max(1)).clamp(RACES, MOST_RACES)
    }
}

impl Laboratory<'_> {
    /// Does the expected level allow a history?
    pub(super) fn judge(&self, history: &History) -> Answer {
        let until = self.until(THINKING);
        let stop = || (Instant::now() >= until).then_some(StopReason::Timeout);
        let answer = check(history, self.expect, &Budget::new(&stop));
        if let Answer::Refused(wrong) = &answer {
            self.refused.borrow_mut().push(wrong.clone());
        }
        answer
    }

    /// The smallest script that shows something forbidden, beginning with some of these scripts in some order.
    pub(super) fn reproduce(&self, scripts: &[Script]) -> Option<Reproduction> {
        let until = self.until(if self.is_whole() { RACING } else { TRYING });
        let has_come = |time: Instant| Instant::now() >= time || self.control.is_stopped();
        let mut found = self.first_of(scripts, &|| has_come(until))?;
        if found.script.has_together() {
            // Most of the time is for smaller scripts.
            let soon = Instant::now() + until.saturating_duration_since(Instant::now()) / 4;
            self.measure(&mut found, &|| has_come(soon));
        }
        let mut smallest = self.shrunk(found, &|| has_come(until));
        let rated = self.until(RATING);
        self.measure(&mut smallest, &|| has_come(rated));
        let raced = self.raced(&smallest, &|| has_come(rated));
        Some(raced.unwrap_or(smallest))
    }

    /// The same with commits that are sent together, if that shows it more often. Steps that do not show it each time are a race
    /// already, of nodes that hear of each other's commits a moment later.
    fn raced(&self, found: &Reproduction, is_over: &dyn Fn() -> bool) -> Option<Reproduction> {
        if found.shown == found.tries {
            return None;
        }
        let in_races = together(&found.script).into_iter().take_while(|_| !is_over());
        let raced = in_races.filter_map(|script| {
            let mut raced = self.play_often(&script, self.races_of(&script), is_over)?;
            self.measure(&mut raced, is_over);
            (raced.shown * found.tries > found.shown * raced.tries).then_some(raced)
        });
        raced.max_by(|one, other| (one.shown * other.tries).cmp(&(other.shown * one.tries)))
    }

    /// The first of some scripts, in some order, that shows something forbidden.
    fn first_of(&self, scripts: &[Script], is_over: &dyn Fn() -> bool) -> Option<Reproduction> {
        let one_by_one =
            scripts.iter().filter(|it| !self.is_whole() && !it.has_together()).flat_map(|it| interleavings(it, ORDERS));
        // What no order shows may show in a race.
        let in_races = scripts.iter().flat_map(|it| if it.has_together() { vec![it.clone()] } else { together(it) });
        let mut orders = one_by_one.chain(in_races).take_while(|_| !is_over());
        orders.find_map(|script| self.play_often(&script, self.races_of(&script), is_over))
    }

    /// The smallest script that shows something forbidden as this one does, with the names that people use.
    fn shrunk(&self, mut found: Reproduction, is_over: &dyn Fn() -> bool) -> Reproduction {
        let mut enough = found.enough();
        let script = found.script.clone();
        let mut shows = |script: &Script| {
            let mut orders = interleavings(script, self.orders_of_smaller()).into_iter().take_while(|_| !is_over());
            orders.find_map(|script| {
                found = self.play_often(&script, enough, is_over)?;
                // A smaller script may show it less often, and those after it, too.
                enough = enough.max(found.enough());
                Some(script)
            })
        };
        let smallest = shrink(script, &mut shows);
        shows(&renamed(&smallest));
        found
    }

    /// Plays a script some times more, to see how often it shows what it should.
    fn measure(&self, found: &mut Reproduction, is_over: &dyn Fn() -> bool) {
        let is_race = found.script.has_together();
        if !is_race {
            // Any order of steps shows it each time, or nearly.
            (found.tries, found.shown) = (0, 0);
        }
        let is_known = |it: &Reproduction| {
            let was_raced = it.tries >= MOST_RACES || it.shown >= SIGHTINGS && it.tries >= FEWEST_RACES;
            if is_race { was_raced } else { it.tries >= TRIES }
        };
        while !is_known(found) && (found.tries < TRIES || !is_over()) {
            found.tries += 1;
            found.shown += usize::from(self.play(&found.script).is_some());
        }
    }

    /// Does the database take transactions in one piece? Then only what is sent together can overlap.
    fn is_whole(&self) -> bool {
        self.database.whole_transactions().is_some()
    }

    /// How often a script is played that may show nothing.
    fn races_of(&self, script: &Script) -> usize {
        match (script.has_together(), self.is_whole()) {
            (false, _) => 1,
            (true, false) => RACES,
            (true, true) => RACES_IN_ONE_PIECE,
        }
    }

    /// Plays a script until it shows something forbidden. One with steps that are sent together is a race, and is run so many
    /// times; others are played once.
    fn play_often(&self, script: &Script, races: usize, is_over: &dyn Fn() -> bool) -> Option<Reproduction> {
        let most = if script.has_together() { races } else { 1 };
        (1..=most).take_while(|nth| *nth == 1 || !is_over()).find_map(|tries| {
            let (played, refutation) = self.play(script)?;
            Some(Reproduction { script: script.clone(), played, refutation, tries, shown: 1 })
        })
    }

    /// The end of something that may take so long.
    fn until(&self, at_most: Duration) -> Instant {
        let now = Instant::now();
        (now + at_most).min(self.deadline.max(now + LAST_LOOK))
    }

    /// In how many orders a smaller script is tried. What the weak store answers depends on all that came before, so
    /// that a smaller script may need another order; and it answers at once.
    fn orders_of_smaller(&self) -> usize {
        if self.database.dialect() == Dialect::Store { ORDERS } else { 1 }
    }

    /// What happens if a script is played, if that is forbidden.
    fn play(&self, script: &Script) -> Option<(Played, Certified<Refutation>)> {
        // A script that cannot be played shows nothing.
        let played = script.play(self.database).ok()?;
        match self.judge(&played.history) {
            Answer::Forbidden(refutation) => Some((played, refutation)),
            Answer::Allowed(_) | Answer::NotCertified { .. } | Answer::Undecided(_) | Answer::Refused(_) => None,
        }
    }
}
