//! An auction site in the manner of `RUBiS`: people browse items, bid, buy and comment.
//!
//! Of four keys three are items and one is a user. Bids, purchases and comments are new keys.

use super::{Program, Rows};
use crate::plan::Plan;
use crate::random::{Random, Zipf};

#[derive(Debug)]
pub(crate) struct Rubis {
    n_users: usize,
    n_items: usize,
    popularity: Zipf,
    rows: Rows,
    /// Of each item the last bid.
    bids: Vec<Option<u32>>,
}

impl Rubis {
    pub(crate) fn new(n_keys: usize) -> Self {
        let n_users = (n_keys / 4).max(1);
        let n_items = 3 * n_users;
        Self {
            n_users,
            n_items,
            popularity: Zipf::new(n_items),
            rows: Rows::after((n_users + n_items) as u32),
            bids: vec![None; n_items],
        }
    }

    fn item(&self, idx: usize) -> u32 {
        (self.n_users + idx) as u32
    }

    fn seller(&self, item: usize) -> u32 {
        (item % self.n_users) as u32
    }

    fn browse(&self, random: &mut Random, plan: &mut Plan) {
        for _ in 0..4 + random.below(8) {
            plan.read(self.item(random.below(self.n_items)));
        }
    }

    fn view(&self, item: usize, plan: &mut Plan) {
        plan.read(self.item(item));
        plan.read(self.seller(item));
        if let Some(bid) = self.bids[item] {
            plan.read(bid);
        }
    }

    fn bid(&mut self, item: usize, bidder: u32, plan: &mut Plan) {
        let row = self.rows.add();
        plan.read(bidder);
        plan.update(self.item(item));
        plan.write(row);
        self.bids[item] = Some(row);
    }

    fn buy(&mut self, item: usize, buyer: u32, plan: &mut Plan) {
        plan.read(buyer);
        plan.update(self.item(item));
        plan.update(self.seller(item));
        plan.write(self.rows.add());
    }

    fn comment(&mut self, item: usize, plan: &mut Plan) {
        plan.read(self.item(item));
        plan.write(self.rows.add());
        plan.update(self.seller(item));
    }
}

impl Program for Rubis {
    fn plan(&mut self, _session: usize, random: &mut Random, plan: &mut Plan) {
        let user = random.below(self.n_users) as u32;
        let item = self.popularity.draw(random);
        match random.below(100) {
            0..30 => self.browse(random, plan),
            30..55 => self.view(item, plan),
            55..80 => self.bid(item, user, plan),
            80..90 => self.buy(random.below(self.n_items), user, plan),
            90..97 => self.comment(random.below(self.n_items), plan),
            // Registers: the profile is written without a look at it.
            _ => plan.write(user),
        }
    }

    fn n_keys(&self) -> u32 {
        (self.n_users + self.n_items) as u32
    }
}
