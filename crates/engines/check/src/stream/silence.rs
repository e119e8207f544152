//! How long each session has said nothing: its next transaction may have begun right after its last one, and may need whatever
//! ended since.

const NONE: u32 = u32::MAX;

/// Sessions, from the one that was silent for longest to the one that spoke last.
#[derive(Clone, Debug)]
pub(super) struct Silence {
    sessions: Vec<Session>,
    longest: u32,
    latest: u32,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    /// The number of its last transaction; nothing if it counts as gone.
    spoke: Option<u64>,
    before: u32,
    after: u32,
}

impl Silence {
    pub(super) fn new() -> Self {
        Self { sessions: Vec::new(), longest: NONE, latest: NONE }
    }

    /// A session has a transaction with this number.
    pub(super) fn hear(&mut self, session: usize, id: u64) {
        if session >= self.sessions.len() {
            self.sessions.resize(session + 1, Session { spoke: None, before: NONE, after: NONE });
        }
        if self.sessions[session].spoke.is_some() {
            self.take_out(session);
        }
        let before = std::mem::replace(&mut self.latest, session as u32);
        self.sessions[session] = Session { spoke: Some(id), before, after: NONE };
        match before {
            NONE => self.longest = session as u32,
            before => self.sessions[before as usize].after = session as u32,
        }
    }

    /// Whose silence is the longest has spoken last with this number. Whoever was silent since before `since` is gone.
    pub(super) fn longest_since(&mut self, since: u64) -> Option<u64> {
        while self.longest != NONE {
            let session = self.longest as usize;
            let spoke = self.sessions[session].spoke;
            if spoke.is_some_and(|it| it >= since) {
                return spoke;
            }
            self.take_out(session);
        }
        None
    }

    fn take_out(&mut self, session: usize) {
        let Session { before, after, .. } = self.sessions[session];
        match before {
            NONE => self.longest = after,
            before => self.sessions[before as usize].after = after,
        }
        match after {
            NONE => self.latest = before,
            after => self.sessions[after as usize].before = before,
        }
        self.sessions[session].spoke = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_silence_counts_until_it_is_too_long() {
        let mut silence = Silence::new();
        for (session, id) in [(2, 0), (0, 1), (1, 2), (0, 3), (1, 4)] {
            silence.hear(session, id);
        }
        assert_eq!(silence.longest_since(0), Some(0));
        assert_eq!(silence.longest_since(1), Some(3));
        silence.hear(0, 5);
        assert_eq!(silence.longest_since(1), Some(4));
        silence.hear(2, 6);
        assert_eq!(silence.longest_since(5), Some(5));
        assert_eq!(silence.longest_since(7), None);
    }
}
