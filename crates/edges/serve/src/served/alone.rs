//! Who needs no turn for himself. Reads that are a transaction by themselves run beside each other where everybody sees the
//! newest state, and statements are prepared at any time.

use super::Served;
use super::statement::Txn;
use crate::analyse::{Action, Code, Plan};
use crate::wire::Message;
use iso_history::Locking;
use std::sync::Arc;

impl Served<'_> {
    /// Takes a share of the turn, if what was said so far is one statement that only reads, and if nobody else writes.
    pub(super) fn shares_turn(&mut self) -> bool {
        if !self.weak.may_share() || self.txn.is_some() || !self.weak.is_on() || !self.reads_alone() {
            return false;
        }
        if !self.weak.turn.try_share() {
            return false;
        }
        // Tables may have changed while nobody had a share.
        let is_known = Arc::ptr_eq(&self.catalogue, &self.shared.catalogue());
        if !is_known {
            self.weak.turn.end_share();
        }
        is_known
    }

    /// Are statements only made known or forgotten, so that no row matters? An application with several connections in one
    /// thread waits for that, while another of its connections has the turn.
    pub(super) fn only_prepares(&self) -> bool {
        // A sync commits what was begun without a word.
        let commits_nothing = self.txn.as_ref().is_none_or(Txn::is_explicit);
        let prepares = |it: &Message| match it.tag {
            b'P' | b'S' | b'H' => true,
            b'C' | b'D' => it.fields().byte() == Some(b'S'),
            _ => false,
        };
        commits_nothing && self.batch.iter().all(prepares)
    }

    /// Is a transaction only begun? The engine hears of it later, so that nobody need wait for that. Where a seed or a plan
    /// says who is next, BEGIN is where they wait.
    pub(super) fn only_begins(&mut self) -> bool {
        self.txn.is_none()
            && self.weak.turn.is_by_arrival()
            && self.only_statement().is_some_and(|it| matches!(it.action, Action::Begin { .. }))
    }

    fn reads_alone(&mut self) -> bool {
        self.only_statement().is_some_and(|it| only_reads(&it))
    }

    /// The statement of a request that has only one.
    fn only_statement(&mut self) -> Option<Arc<Plan>> {
        self.look_up_catalogue();
        match self.batch.as_slice() {
            [query] if query.tag == b'Q' => {
                let mut plans = query.fields().text().map(|it| self.plans(it)).unwrap_or_default();
                plans.pop().filter(|_| plans.is_empty())
            }
            [bind, between @ .., sync] if (bind.tag, sync.tag) == (b'B', b'S') => {
                let mut fields = bind.fields();
                let statement = fields.text().and_then(|_| fields.text());
                let prepared = statement.and_then(|it| self.prepared.get(it));
                let plan = prepared.and_then(|it| it.plan.clone());
                plan.filter(|_| between.iter().all(|it| matches!(it.tag, b'D' | b'E')))
            }
            _ => None,
        }
    }
}

fn only_reads(plan: &Plan) -> bool {
    let is_free = matches!(&plan.action, Action::Read(reading) if reading.locking == Locking::Free);
    is_free && plan.code == Code::None && !plan.sources.is_empty()
}
