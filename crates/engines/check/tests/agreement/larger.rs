//! Random histories of four to six transactions, most of them nearly right.
//!
//! Transactions run one after the other on a simulated store. Each sees some of those before it: a prefix, a causally
//! closed set, or anything; and now and then a read returns something else. With that, histories lie close to the
//! boundary of each level, on both sides of it.

use crate::draft::{Action, Draft, DraftTxn, Key, Value};
use crate::judge::{Tally, Test};
use crate::random::Random;
use crate::{Cases, seed};
use iso_history::Outcome;

const ALL: &[Test] = &[Test::Definition, Test::Machine, Test::Outcomes, Test::Together];
/// Once in a while, what takes longer.
const SAMPLE: &[Test] = &[Test::Definition, Test::Machine, Test::Outcomes, Test::Together, Test::Minimal];
const SAMPLE_ONE_IN: usize = 5;

/// How many histories of a kind the suite has.
const FEW: usize = 1_200;
/// Where lists have several meanings, each of them is a question of its own; the soak test has the rest.
const FEW_WITH_CASES: usize = 300;

#[test]
fn random_histories_of_registers_are_what_the_definitions_say() {
    let tally = judge_random("registers", 1, Extras { lists: false, indeterminate: false, repeats: 2 }, [FEW, 500]);
    tally.assert_both_sides(40);
    tally.assert_apart(400);
}

#[test]
fn random_histories_of_lists_are_what_the_definitions_say() {
    let tally = judge_random("lists", 2, Extras { lists: true, indeterminate: false, repeats: 2 }, [FEW, 200]);
    tally.assert_both_sides(40);
    tally.assert_apart(400);
}

/// Transactions that need not have happened explain much, so fewer of these are violations.
#[test]
fn random_histories_with_indeterminate_outcomes_are_what_the_definitions_say() {
    let tally =
        judge_random("indeterminate outcomes", 3, Extras { lists: false, indeterminate: true, repeats: 2 }, [FEW, 200]);
    tally.assert_both_sides(100);
    tally.assert_apart(1_500);
}

#[test]
fn random_histories_of_lists_with_indeterminate_outcomes_are_what_the_definitions_say() {
    let tally = judge_random(
        "lists, indeterminate outcomes",
        6,
        Extras { lists: true, indeterminate: true, repeats: 2 },
        [FEW, 100],
    );
    tally.assert_both_sides(100);
}

#[test]
fn random_histories_of_lists_with_repeated_elements_are_what_the_definitions_say() {
    let tally =
        judge_random("repeated", 7, Extras { lists: true, indeterminate: true, repeats: 60 }, [FEW_WITH_CASES, 100]);
    tally.assert_both_sides(100);
}

/// What histories may have besides registers and known outcomes.
#[derive(Clone, Copy)]
struct Extras {
    lists: bool,
    indeterminate: bool,
    /// In how many of a hundred cases an append may repeat an element.
    repeats: usize,
}

fn judge_random(name: &'static str, salt: u64, extras: Extras, [few, per_mille]: [usize; 2]) -> Tally {
    let mut tally = Tally::new(name);
    for case in 0..Cases::asked().of(few, per_mille) {
        let mut random = Random::of_case(seed().wrapping_mul(8) + salt, case);
        let manner = Manner::random(&mut random, extras);
        let draft = Store::new(manner).run(&mut random);
        tally.judge(&draft, if case % SAMPLE_ONE_IN == 0 { SAMPLE } else { ALL });
    }
    tally.finish();
    tally
}

/// How the transactions of one history behave.
#[derive(Clone, Copy, Debug)]
struct Manner {
    n_txns: usize,
    n_sessions: usize,
    n_keys: usize,
    /// Keys from this one on are lists.
    first_list: usize,
    initial: Value,
    /// Written values are below this; none gives each write its own.
    n_values: Option<usize>,
    /// In how many of a hundred cases an append has such a value, too.
    repeats: usize,
    habit: Habit,
    sight: Sight,
    clock: Clock,
    /// In how many of a hundred cases a transaction misses one that it could have seen.
    blindness: usize,
    /// In how many of a hundred cases a read returns something else.
    noise: usize,
    /// Does a writer see everybody who wrote its keys before?
    is_careful: bool,
    aborted: usize,
    indeterminate: usize,
}

/// What transactions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Anything,
    /// Half of them write one key, half of them read all: long forks.
    ReadOrWrite,
    /// They read all keys and write one: write skew.
    ReadAllWriteOne,
}

/// Which transactions others see together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    Prefix,
    Causal,
    /// Sessions of the same site see each other at once, and the other site late.
    TwoSites,
    SessionFirst,
    Anything,
    /// Each read may see more than the one before.
    ReadByRead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    None,
    Tidy,
    Wild,
}

impl Manner {
    fn random(random: &mut Random, extras: Extras) -> Self {
        let n_keys = random.pick(&[1, 2, 2, 2, 3]);
        let sights = [
            Sight::Prefix,
            Sight::Causal,
            Sight::TwoSites,
            Sight::TwoSites,
            Sight::SessionFirst,
            Sight::Anything,
            Sight::ReadByRead,
        ];
        let sight = random.pick(&sights);
        let habits = [Habit::Anything, Habit::ReadAllWriteOne, Habit::ReadOrWrite, Habit::ReadOrWrite];
        let n_habits = if sight == Sight::TwoSites { 4 } else { 3 };
        Self {
            n_txns: 4 + random.below(3),
            n_sessions: if sight == Sight::TwoSites { 4 } else { random.pick(&[2, 3, 4]) },
            n_keys,
            first_list: if extras.lists { random.below(n_keys) } else { n_keys },
            initial: if random.percent(80) { Some(0) } else { None },
            n_values: if extras.repeats > 2 { Some(2) } else { random.pick(&[None, None, None, Some(2), Some(3)]) },
            repeats: extras.repeats,
            habit: random.pick(&habits[..n_habits]),
            sight,
            clock: random.pick(&[Clock::None, Clock::Tidy, Clock::Tidy, Clock::Wild]),
            blindness: random.pick(&[10, 30, 50, 70]),
            noise: random.pick(&[0, 0, 0, 10, 30]),
            is_careful: random.percent(50),
            aborted: random.pick(&[0, 0, 0, 20]),
            indeterminate: if extras.indeterminate { random.pick(&[20, 40]) } else { 0 },
        }
    }
}

/// The transactions that took place so far.
struct Store {
    manner: Manner,
    draft: Draft,
    /// Positions of those that took place, in the order in which they did.
    installed: Vec<usize>,
    /// For each of those, which of them it saw.
    saw: Vec<u32>,
    n_written: i64,
}

impl Store {
    fn new(manner: Manner) -> Self {
        let draft = Draft { initial: manner.initial, txns: Vec::new() };
        Self { manner, draft, installed: Vec::new(), saw: Vec::new(), n_written: 0 }
    }

    fn run(mut self, random: &mut Random) -> Draft {
        if self.manner.n_keys > 1 && random.percent(8) {
            self.fork(random);
        }
        while self.draft.txns.len() < self.manner.n_txns {
            let session = random.below(self.manner.n_sessions);
            let plan = self.plan(random, session);
            let sees = self.choose_sight(random, session, &plan);
            self.run_one(random, session, plan, sees);
        }
        self.draft
    }

    /// A long fork: two writers, and two readers who each saw another one of them.
    fn fork(&mut self, random: &mut Random) {
        let reads = vec![(false, 0), (false, 1)];
        self.run_one(random, 0, vec![(true, 0)], 0b00);
        self.run_one(random, 1, vec![(true, 1)], 0b00);
        self.run_one(random, 2, reads.clone(), 0b01);
        self.run_one(random, 3, reads, 0b10);
    }

    fn run_one(&mut self, random: &mut Random, session: usize, plan: Vec<(bool, Key)>, mut sees: u32) {
        let mut txn = DraftTxn::new(session);
        let first_sees = sees;
        for (is_write, key) in plan {
            if self.manner.sight == Sight::ReadByRead {
                sees |= self.choose_sight(random, txn.session, &[]);
            }
            let action = if is_write { self.write(random, key) } else { self.read(random, &txn, key, sees) };
            txn.actions.push(action);
        }
        if random.percent(self.manner.aborted) {
            txn.outcome = Outcome::Aborted;
        } else if random.percent(self.manner.indeterminate) {
            txn.outcome = Outcome::Indeterminate;
        }
        self.set_times(random, &mut txn, first_sees);
        let takes_place = match txn.outcome {
            Outcome::Committed => true,
            Outcome::Aborted => random.percent(15),
            Outcome::Indeterminate => random.percent(70),
        };
        self.draft.txns.push(txn);
        if takes_place {
            self.installed.push(self.draft.txns.len() - 1);
            self.saw.push(sees);
        }
    }

    /// The keys that a transaction touches in turn, and whether it writes them.
    fn plan(&self, random: &mut Random, session: usize) -> Vec<(bool, Key)> {
        let n_keys = self.manner.n_keys;
        let reads = (0..n_keys).map(|it| (false, it));
        // Each site mostly writes keys of its own.
        let is_own = self.manner.sight == Sight::TwoSites && random.percent(80);
        let write = (true, if is_own { session % 2 % n_keys } else { random.below(n_keys) });
        match self.manner.habit {
            Habit::Anything => {
                (0..random.pick(&[1, 2, 3, 3, 4])).map(|_| (random.percent(45), random.below(n_keys))).collect()
            }
            Habit::ReadOrWrite if random.percent(50) => vec![write],
            Habit::ReadOrWrite => reads.collect(),
            Habit::ReadAllWriteOne => reads.chain([write]).collect(),
        }
    }

    /// A set of transactions that took place, as bits.
    fn choose_sight(&self, random: &mut Random, session: usize, plan: &[(bool, Key)]) -> u32 {
        let n_installed = self.installed.len();
        let is_needed = |nth: usize| {
            let other = &self.draft.txns[self.installed[nth]];
            let conflicts = || other.actions.iter().any(|it| it.is_write() && plan.contains(&(true, it.key())));
            let is_near = match self.manner.sight {
                Sight::Anything => false,
                Sight::TwoSites => other.session % 2 == session % 2,
                _ => other.session == session,
            };
            is_near || (self.manner.is_careful && conflicts())
        };
        let is_seen = |nth: &usize, random: &mut Random| is_needed(*nth) || !random.percent(self.manner.blindness);
        let seen: Vec<usize> = (0..n_installed).filter(|it| is_seen(it, random)).collect();
        match self.manner.sight {
            Sight::Prefix => {
                // The first one that is missed ends the prefix, unless a later one is needed.
                let missed = (0..n_installed).find(|it| !seen.contains(it)).unwrap_or(n_installed);
                let needed = (0..n_installed).rev().find(|it| is_needed(*it)).map_or(0, |it| it + 1);
                (1 << missed.max(needed)) - 1
            }
            Sight::Causal | Sight::TwoSites => seen.iter().fold(0, |all, it| all | self.saw[*it] | 1 << it),
            _ => seen.iter().fold(0, |all, it| all | 1 << it),
        }
    }

    fn is_list(&self, key: Key) -> bool {
        key >= self.manner.first_list
    }

    fn write(&mut self, random: &mut Random, key: Key) -> Action {
        self.n_written += 1;
        let value = match self.manner.n_values {
            Some(n_values) if !self.is_list(key) || random.percent(self.manner.repeats) => {
                random.below(n_values) as i64
            }
            _ => self.n_written,
        };
        if self.is_list(key) {
            Action::Append(key, value)
        } else if random.percent(4) {
            Action::Write(key, None)
        } else {
            Action::Write(key, Some(value))
        }
    }

    fn read(&self, random: &mut Random, txn: &DraftTxn, key: Key, sees: u32) -> Action {
        let visible = (0..self.installed.len()).filter(|it| sees >> it & 1 == 1);
        let visible = visible.flat_map(|it| &self.draft.txns[self.installed[it]].actions);
        let writes: Vec<&Action> = visible.chain(&txn.actions).filter(|it| it.is_write() && it.key() == key).collect();
        let is_noisy = random.percent(self.manner.noise);
        if self.is_list(key) {
            let elements = writes.iter().filter_map(|it| if let Action::Append(_, it) = it { Some(*it) } else { None });
            let mut elements: Vec<i64> = elements.collect();
            if is_noisy {
                disturb(random, &mut elements);
            }
            return Action::ReadList(key, elements);
        }
        let value = writes.last().map_or(self.manner.initial, |it| written(it));
        Action::Read(key, if is_noisy { self.any_value(random, key) } else { value })
    }

    /// What anybody wrote to the key, the initial value, or once in a while what nobody wrote.
    fn any_value(&self, random: &mut Random, key: Key) -> Value {
        if random.percent(5) {
            return Some(99);
        }
        let all = self.draft.txns.iter().flat_map(|it| &it.actions).filter(|it| it.is_write() && it.key() == key);
        let values: Vec<Value> = all.map(written).chain([self.manner.initial]).collect();
        random.pick(&values)
    }

    /// Transactions take place ten units after each other, and begin before the first of those that they miss ends.
    fn set_times(&self, random: &mut Random, txn: &mut DraftTxn, sees: u32) {
        let now = 10 * self.draft.txns.len() as i64 + 10;
        match self.manner.clock {
            Clock::None => {}
            Clock::Tidy => {
                let missed = (0..self.installed.len()).find(|it| sees >> it & 1 == 0);
                let missed = missed.and_then(|it| self.draft.txns[self.installed[it]].end);
                let latest = missed.filter(|_| random.percent(85)).map_or(now, |it| it.min(now));
                let same_session = self.draft.txns.iter().filter(|it| it.session == txn.session);
                let after = same_session.filter_map(|it| it.end).max().map_or(0, |it| it + 1);
                txn.begin = Some((latest - random.below(15) as i64).max(after).min(now));
                txn.end = Some(now + random.below(8) as i64);
            }
            Clock::Wild => {
                let begin = random.below(60) as i64;
                txn.begin = Some(begin).filter(|_| random.percent(85));
                txn.end = Some(begin + random.below(30) as i64).filter(|_| random.percent(85));
            }
        }
    }
}

fn written(action: &Action) -> Value {
    match action {
        Action::Write(_, value) => *value,
        _ => None,
    }
}

fn disturb(random: &mut Random, elements: &mut Vec<i64>) {
    match random.below(8) {
        0..4 => {
            elements.pop();
        }
        4 | 5 if elements.len() > 1 => {
            let last = elements.len() - 1;
            elements.swap(last - 1, last);
        }
        6 if !elements.is_empty() => {
            elements.remove(0);
        }
        7 => elements.push(99),
        _ => {}
    }
}
