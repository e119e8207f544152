//! A social network: people tweet, follow each other and read timelines; a few are much more popular than the rest.
//!
//! Of each user one key is the list of those followed, and one is the latest tweet. Tweets are new keys.

use super::{Program, Rows};
use crate::plan::Plan;
use crate::random::{Random, Zipf};

#[derive(Debug)]
pub(crate) struct Twitter {
    n_users: usize,
    popularity: Zipf,
    rows: Rows,
    latest: Vec<Option<u32>>,
}

impl Twitter {
    pub(crate) fn new(n_keys: usize) -> Self {
        let n_users = (n_keys / 2).max(1);
        Self {
            n_users,
            popularity: Zipf::new(n_users),
            rows: Rows::after(2 * n_users as u32),
            latest: vec![None; n_users],
        }
    }

    fn tweet(&mut self, user: usize, plan: &mut Plan) {
        let row = self.rows.add();
        plan.write(row);
        plan.update(latest(user));
        self.latest[user] = Some(row);
    }

    fn timeline(&self, user: usize, random: &mut Random, plan: &mut Plan) {
        plan.read(followed(user));
        for _ in 0..3 + random.below(5) {
            let friend = self.popularity.draw(random);
            plan.read(latest(friend));
            if let Some(row) = self.latest[friend] {
                plan.read(row);
            }
        }
    }
}

impl Program for Twitter {
    fn plan(&mut self, _session: usize, random: &mut Random, plan: &mut Plan) {
        let user = random.below(self.n_users);
        match random.below(100) {
            // The popular ones tweet more.
            0..10 => self.tweet(user, plan),
            10..15 => self.tweet(self.popularity.draw(random), plan),
            15..35 => {
                plan.read(latest(self.popularity.draw(random)));
                plan.update(followed(user));
            }
            35..40 => plan.update(followed(user)),
            _ => self.timeline(user, random, plan),
        }
    }

    fn n_keys(&self) -> u32 {
        2 * self.n_users as u32
    }
}

fn followed(user: usize) -> u32 {
    2 * user as u32
}

fn latest(user: usize) -> u32 {
    2 * user as u32 + 1
}
