//! How much was read that chance would not have found.
//!
//! A state in which much was read that few write is a good one, whoever was fast: clients of a database that lets one session
//! work while others wait do not do their operations equally fast.

use super::log;
use super::program::{Program, Task, Version};

/// What reads tell, in steps of 1/64 bit.
#[derive(Debug)]
pub(super) struct Told {
    /// By version, what a read of it tells.
    by_version: Vec<i64>,
    /// By session and place, what its reads before it have told.
    before: Vec<Vec<i64>>,
}

impl Told {
    pub(super) fn new(program: &Program) -> Self {
        let n_writers_of_key = |key: u32| -> u32 {
            program.versions_of(key).iter().map(|it| u32::from(program.n_writers[*it as usize])).sum()
        };
        let told = |(key, n_writers): (&u32, &u16)| {
            i64::from(log(1 + n_writers_of_key(*key)).saturating_sub(log(1 + u32::from(*n_writers))))
        };
        let by_version: Vec<i64> = program.key.iter().zip(&program.n_writers).map(told).collect();
        let of_task = |task: &Task| task.reads.iter().map(|it| by_version[*it as usize]).sum::<i64>();
        let before = |tasks: &Vec<Task>| {
            let mut before = vec![0];
            for task in tasks {
                before.push(before[before.len() - 1] + of_task(task));
            }
            before
        };
        let before = program.sessions.iter().map(before).collect();
        Self { by_version, before }
    }

    /// What a session has read at a place, and what of its next reads is there.
    pub(super) fn at(
        &self,
        session: usize,
        place: usize,
        next: Option<&Task>,
        is_there: impl Fn(Version) -> bool,
    ) -> i64 {
        let next = next.into_iter().flat_map(|it| &it.reads).filter(|it| is_there(**it));
        self.before[session][place] + next.map(|it| self.by_version[*it as usize]).sum::<i64>()
    }
}
