//! Histories for tests of the kernel: a tiny notation, every history up to a small size, and random ones with
//! everything that a history can have.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "these are tests")]

use iso_history::{History, HistoryBuilder, Outcome, Place, TxnId};

/// A history from lines such as `a: r(x,0) w(y,1)`: one transaction each, with its session. All keys are 0 at first.
///
/// An outcome may stand before the colon (`a aborted:`, `a unknown:`), and so may times (`a 1-5:`). `l(x,1)` appends 1
/// to the list x, and `l(x)` or `l(x)1.2` reads it.
pub(crate) fn history(text: &str) -> History {
    let mut builder = HistoryBuilder::new();
    let zero = builder.value(0.into());
    builder.default_initial(zero);
    for (idx, line) in text.lines().map(str::trim).enumerate().filter(|it| !it.1.is_empty()) {
        let (head, ops) = line.split_once(':').unwrap();
        let mut words = head.split_whitespace();
        let session = builder.session(words.next().unwrap());
        builder.begin(session, Place { source: 0, at: idx as u64 + 1 });
        let mut outcome = Outcome::Committed;
        for word in words {
            match word {
                "aborted" => outcome = Outcome::Aborted,
                "unknown" => outcome = Outcome::Indeterminate,
                times => {
                    let (begin, end) = times.split_once('-').unwrap();
                    builder.times(begin.parse().ok(), end.parse().ok());
                }
            }
        }
        for op in ops.split_whitespace() {
            add_op(&mut builder, op);
        }
        builder.end(outcome);
    }
    builder.finish().unwrap()
}

fn add_op(builder: &mut HistoryBuilder, op: &str) {
    let (inside, after) = op[2..].split_once(')').unwrap();
    let (key, value) = inside.split_once(',').map_or((inside, None), |it| (it.0, Some(it.1)));
    let key = builder.key(key.into());
    let value = value.map(|it| builder.value(it.parse::<i64>().unwrap().into()));
    match (&op[..1], value) {
        ("r", Some(value)) => builder.read(key, value),
        ("w", Some(value)) => builder.write(key, value),
        ("l", Some(value)) => builder.append(key, value),
        ("l", None) => {
            let elements: Vec<i64> = after.split('.').filter_map(|it| it.parse().ok()).collect();
            let elements: Vec<_> = elements.into_iter().map(|it| builder.value(it.into())).collect();
            builder.read_list(key, elements);
        }
        _ => panic!("what is {op}?"),
    }
}

/// A history for a person to read when a test fails.
pub(crate) fn show(history: &History) -> String {
    let line = |txn: TxnId| {
        let ops: Vec<String> = history.ops(txn).map(|it| history.render_op(it)).collect();
        let time = |it: Option<i64>| it.map_or(String::new(), |it| it.to_string());
        let times = format!("{}-{}", time(history.begin(txn)), time(history.end(txn)));
        format!("{} {:?} {times}: {}", history.label(txn), history.outcome(txn), ops.join(" "))
    };
    history.txns().map(line).collect::<Vec<String>>().join("\n")
}

/// Calls `visit` with every history of this many transactions and keys, at most `n_ops` operations in each transaction,
/// reads before writes: transactions sit in sessions in every way, and read what anybody wrote. Values are unique.
pub(crate) fn each_history(n_txns: usize, n_keys: usize, n_ops: usize, visit: &mut dyn FnMut(&History)) {
    let n_cells = n_txns * n_keys;
    for code in 0..4usize.pow(n_cells as u32) {
        let cell = |txn: usize, key: usize| code >> (2 * (txn * n_keys + key)) & 3;
        let size = |txn: usize| (0..n_keys).map(|key| cell(txn, key).count_ones() as usize).sum::<usize>();
        if (0..n_txns).all(|it| (1..=n_ops).contains(&size(it))) {
            let reads: Vec<(usize, usize)> = (0..n_cells)
                .map(|it| (it / n_keys, it % n_keys))
                .filter(|(txn, key)| cell(*txn, *key) & 1 == 1)
                .collect();
            let writers = |reader: usize, key: usize| -> Vec<usize> {
                let others = (0..n_txns).filter(|it| *it != reader && cell(*it, key) & 2 == 2);
                std::iter::once(0).chain(others.map(|it| it + 1)).collect()
            };
            let options: Vec<Vec<usize>> = reads.iter().map(|(txn, key)| writers(*txn, *key)).collect();
            for sessions in partitions(n_txns) {
                each_choice(&options, &mut |choice| {
                    let mut lines: Vec<String> = sessions.iter().map(|it| format!("s{it}:")).collect();
                    for ((txn, key), value) in reads.iter().zip(choice) {
                        lines[*txn] += &format!(" r(k{key},{value})");
                    }
                    for (txn, key) in (0..n_cells).map(|it| (it / n_keys, it % n_keys)) {
                        if cell(txn, key) & 2 == 2 {
                            lines[txn] += &format!(" w(k{key},{})", txn + 1);
                        }
                    }
                    visit(&history(&lines.join("\n")));
                });
            }
        }
    }
}

/// Ways to put transactions in sessions, in their order.
fn partitions(n_txns: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..n_txns {
        let extend = |it: &Vec<usize>| {
            let it = it.clone();
            let next = it.iter().max().map_or(0, |it| it + 1);
            (0..=next).map(move |session| [&it[..], &[session]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

fn each_choice(options: &[Vec<usize>], visit: &mut dyn FnMut(&[usize])) {
    let n_choices: usize = options.iter().map(Vec::len).product();
    for mut code in 0..n_choices {
        let mut choice = Vec::new();
        for it in options {
            choice.push(it[code % it.len()]);
            code /= it.len();
        }
        visit(&choice);
    }
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(u64);

/// What random histories have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) n_txns: usize,
    /// At most this many operations in a transaction.
    pub(crate) n_ops: usize,
    pub(crate) n_keys: usize,
    /// Of this many values for a key; with few of them several transactions write the same.
    pub(crate) n_values: usize,
    pub(crate) n_sessions: usize,
    /// In percent.
    pub(crate) aborted: usize,
    pub(crate) indeterminate: usize,
    pub(crate) timed: usize,
    pub(crate) lists: usize,
}

impl Shape {
    /// Duplicate values, indeterminate outcomes, times and lists, in four transactions.
    pub(crate) const MIXED: Self = Self {
        n_txns: 4,
        n_ops: 3,
        n_keys: 2,
        n_values: 3,
        n_sessions: 3,
        aborted: 5,
        indeterminate: 15,
        timed: 30,
        lists: 25,
    };
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    /// Some of the items, each with this chance in percent.
    pub(crate) fn some_of<T: Copy>(&mut self, items: impl IntoIterator<Item = T>, chance: usize) -> Vec<T> {
        items.into_iter().filter(|_| self.percent(chance)).collect()
    }

    /// A history in which reads return what somebody may have written, most of the time.
    pub(crate) fn history(&mut self, shape: Shape) -> History {
        let is_list: Vec<bool> = (0..shape.n_keys).map(|_| self.percent(shape.lists)).collect();
        let mut written: Vec<Vec<usize>> = vec![Vec::new(); shape.n_keys];
        let plan = self.plan(shape, &is_list, &mut written);
        for (elements, is_list) in written.iter_mut().zip(&is_list) {
            if *is_list && !elements.is_empty() && self.percent(20) {
                let (one, other) = (self.below(elements.len()), self.below(elements.len()));
                elements.swap(one, other);
            }
        }
        let is_timed = self.percent(shape.timed);
        let mut lines = Vec::new();
        for ops in &plan {
            let mut line = format!("s{}", self.below(shape.n_sessions));
            match self.below(100) {
                it if it < shape.aborted => line += " aborted",
                it if it < shape.aborted + shape.indeterminate => line += " unknown",
                _ => {}
            }
            if is_timed && self.percent(90) {
                let begin = self.below(8);
                line += &format!(" {begin}-{}", begin + self.below(4));
            }
            line += ":";
            let mut own: Vec<(usize, usize)> = Vec::new();
            for (key, write) in ops {
                line += &self.op(*key, *write, is_list[*key], &written[*key], &own);
                own.extend(write.map(|it| (*key, it)));
            }
            lines.push(line);
        }
        history(&lines.join("\n"))
    }

    /// For each transaction its keys, with what it writes unless it reads.
    fn plan(&mut self, shape: Shape, is_list: &[bool], written: &mut [Vec<usize>]) -> Vec<Vec<(usize, Option<usize>)>> {
        let mut plan = Vec::new();
        for _ in 0..shape.n_txns {
            let mut ops = Vec::new();
            for _ in 0..=self.below(shape.n_ops) {
                let key = self.below(shape.n_keys);
                let value = if is_list[key] { written[key].len() + 1 } else { self.below(shape.n_values) };
                let write = self.percent(50).then_some(value);
                written[key].extend(write);
                ops.push((key, write));
            }
            plan.push(ops);
        }
        plan
    }

    fn op(
        &mut self,
        key: usize,
        write: Option<usize>,
        is_list: bool,
        written: &[usize],
        own: &[(usize, usize)],
    ) -> String {
        let own: Vec<usize> = own.iter().filter(|it| it.0 == key).map(|it| it.1).collect();
        match (write, is_list) {
            (Some(value), true) => format!(" l(k{key},{value})"),
            (Some(value), false) => format!(" w(k{key},{value})"),
            (None, true) => {
                let seen = &written[..self.below(written.len() + 1)];
                let seen = seen.iter().filter(|it| !own.contains(it)).chain(&own);
                let seen: Vec<String> = seen.map(ToString::to_string).collect();
                format!(" l(k{key}){}", seen.join("."))
            }
            (None, false) => {
                let any = [&[0], written].concat();
                let any = any[self.below(any.len())];
                format!(" r(k{key},{})", own.last().copied().filter(|_| self.percent(95)).unwrap_or(any))
            }
        }
    }
}
