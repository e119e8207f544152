//! What attempts that aborted have read, as a hint when they were made: it was there at some time since the last commit of
//! their session.
//!
//! No rule asks for that, since what aborted is no part of an execution. But a store in which three of four attempts abort
//! tells more by these than by what commits. A state notes for each session which of these versions were there so far, a bit each,
//! and how many never were. States that are reached by several ways have what was there on any of them.

use super::kept::Word;
use super::program::{Program, Task, Version};

/// Where in a state the notes are.
#[derive(Debug)]
pub(super) struct Attempts {
    /// Whether anybody aborted.
    has_any: bool,
    n_sessions: usize,
    /// Where two words for each session begin; then comes the number of versions that were missed.
    first: usize,
    /// By session and place, the keys that attempts before a task have read, and those that the task writes.
    keys: Vec<Vec<(Keys, Keys)>>,
}

/// A bit for each key, and the same one for several keys if there are many: two sets without a common bit have no common key.
type Keys = u64;

const WORDS_A_SESSION: usize = 2;

impl Attempts {
    /// For states with so many words before the notes.
    pub(super) fn new(program: &Program, first: usize) -> Self {
        let has_any = program.sessions.iter().flatten().any(|it| !it.tried.is_empty());
        let bit = |it: &Version| 1 << (program.key[*it as usize] % Keys::BITS);
        let set = |it: &[Version]| it.iter().map(bit).fold(0, |all, it: Keys| all | it);
        let of_session = |tasks: &Vec<Task>| tasks.iter().map(|it| (set(&it.tried), set(&it.writes))).collect();
        let keys = program.sessions.iter().map(of_session).collect();
        Self { has_any, n_sessions: program.sessions.len(), first, keys }
    }

    pub(super) fn n_words(&self) -> usize {
        if self.has_any { WORDS_A_SESSION * self.n_sessions + 1 } else { 0 }
    }

    /// Looks at what is there before anybody commits.
    pub(super) fn begin(&self, program: &Program, state: &mut [Word]) {
        if self.has_any {
            for session in 0..self.n_sessions {
                self.look_again(program, session, state);
            }
        }
    }

    /// A task commits: what was not there until now is missed.
    pub(super) fn leave(&self, task: &Task, session: usize, state: &mut [Word]) {
        if self.has_any {
            let n_missed = task.tried.len() as u32 - self.found(session, state).count_ones();
            let last = self.first + WORDS_A_SESSION * self.n_sessions;
            state[last] = state[last].saturating_add(n_missed as Word);
            self.set_found(session, 0, state);
        }
    }

    /// Looks at what is there after the commit of a task.
    pub(super) fn look(&self, program: &Program, session: usize, state: &mut [Word]) {
        if !self.has_any {
            return;
        }
        self.look_again(program, session, state);
        let Some((_, written)) = usize::from(state[session]).checked_sub(1).map(|it| self.keys[session][it]) else {
            return;
        };
        for other in (0..self.n_sessions).filter(|it| *it != session) {
            let next = self.keys[other].get(usize::from(state[other]));
            if next.is_some_and(|(tried, _)| tried & written != 0) {
                self.look_again(program, other, state);
            }
        }
    }

    fn look_again(&self, program: &Program, session: usize, state: &mut [Word]) {
        let Some(task) = program.sessions[session].get(usize::from(state[session])) else { return };
        let mut found = self.found(session, state);
        for (nth, version) in task.tried.iter().enumerate() {
            let present = state[self.n_sessions + program.key[*version as usize] as usize];
            found |= u32::from(u32::from(present) == *version) << nth;
        }
        self.set_found(session, found, state);
    }

    pub(super) fn n_missed(&self, state: &[Word]) -> i64 {
        if self.has_any { i64::from(state[self.first + WORDS_A_SESSION * self.n_sessions]) } else { 0 }
    }

    /// Adds the notes of an equal state.
    pub(super) fn join(&self, state: &mut [Word], other: &[Word]) {
        if self.has_any {
            let last = self.first + WORDS_A_SESSION * self.n_sessions;
            for (word, same) in state[self.first..last].iter_mut().zip(&other[self.first..last]) {
                *word |= same;
            }
            state[last] = state[last].min(other[last]);
        }
    }

    fn found(&self, session: usize, state: &[Word]) -> u32 {
        let idx = self.first + WORDS_A_SESSION * session;
        u32::from(state[idx]) | u32::from(state[idx + 1]) << 16
    }

    fn set_found(&self, session: usize, found: u32, state: &mut [Word]) {
        let idx = self.first + WORDS_A_SESSION * session;
        (state[idx], state[idx + 1]) = (found as Word, (found >> 16) as Word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Frame;
    use crate::rule::Rule;
    use crate::test_store::history;
    use iso_history::Facts;
    use iso_spec::Level;

    /// The state after these sessions have committed one transaction each, in this order.
    fn state_after(program: &Program, attempts: &Attempts, sessions: &[usize]) -> Vec<Word> {
        let n_sessions = program.sessions.len();
        let mut state = vec![0; n_sessions];
        state.extend(program.initial.iter().map(|it| *it as Word));
        state.extend(std::iter::repeat_n(0, attempts.n_words()));
        attempts.begin(program, &mut state);
        for session in sessions {
            let task = &program.sessions[*session][usize::from(state[*session])];
            for version in &task.writes {
                state[n_sessions + program.key[*version as usize] as usize] = *version as Word;
            }
            attempts.leave(task, *session, &mut state);
            state[*session] += 1;
            attempts.look(program, *session, &mut state);
        }
        state
    }

    /// The attempt of the last session saw what the first one wrote.
    #[test]
    fn what_an_attempt_has_read_is_missed_if_it_was_not_there_in_time() {
        let history = history(&["a wx1", "b wx2", "c rx1", "d! rx1 wx3 rx3", "d rx2 wy1"]);
        let facts = Facts::new(&history);
        let program = Program::new(&Frame::new(&facts, Rule::of(Level::Serializable))).unwrap();
        let attempts = Attempts::new(&program, program.sessions.len() + program.initial.len());
        let n_missed = |sessions: &[usize]| attempts.n_missed(&state_after(&program, &attempts, sessions));
        assert_eq!(n_missed(&[0, 1, 3]), 0);
        assert_eq!(n_missed(&[1, 3, 0]), 1);
        let mut joined = state_after(&program, &attempts, &[1, 3, 0]);
        attempts.join(&mut joined, &state_after(&program, &attempts, &[0, 1, 3]));
        assert_eq!(attempts.n_missed(&joined), 0);
    }

    #[test]
    fn without_attempts_nothing_is_noted() {
        let history = history(&["a wx1", "b rx1"]);
        let facts = Facts::new(&history);
        let program = Program::new(&Frame::new(&facts, Rule::of(Level::Serializable))).unwrap();
        let attempts = Attempts::new(&program, 3);
        assert_eq!((attempts.n_words(), attempts.n_missed(&[0, 0, 0])), (0, 0));
    }
}
