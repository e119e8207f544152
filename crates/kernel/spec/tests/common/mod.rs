//! Histories for tests: a tiny notation, and every history up to a small size.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, clippy::struct_field_names, clippy::format_push_string, reason = "these are tests")]

use iso_history::{Datum, Facts, History, HistoryBuilder, Locking, Outcome, Place};
use iso_spec::{Catalogue, Spec, Steps, evaluate};

/// A history from lines such as `a: r(x,0) w(y,1)`: one transaction each, with its session. All keys are 0 at first.
///
/// An outcome may stand before the colon (`a aborted:`, `a unknown:`), and so may times (`a 1-5:`). `l(x,1)` appends 1
/// to the list x, and `l(x)` or `l(x)1.2` reads it. `u(x,0,1)` is an update; `-` is no row.
pub(crate) fn history(text: &str) -> History {
    let mut builder = HistoryBuilder::new();
    let zero = builder.value(0.into());
    builder.default_initial(zero);
    for line in text.lines().map(str::trim).filter(|it| !it.is_empty()) {
        let (head, ops) = line.split_once(':').unwrap();
        let mut words = head.split_whitespace();
        let session = builder.session(words.next().unwrap());
        builder.begin(session, Place::default());
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
    if op.starts_with('u') {
        let (old, new) = value.and_then(|it| it.split_once(',')).unwrap();
        let [old, new] = [old, new].map(|it| builder.value(it.parse::<i64>().map_or(Datum::Null, Datum::Int)));
        builder.begin_statement();
        builder.read(key, old);
        builder.write(key, new);
        builder.end_statement(Locking::Free);
        return;
    }
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

pub(crate) fn level(name: &str) -> &'static Spec {
    Catalogue::builtin().find(name).unwrap_or_else(|it| panic!("{it}"))
}

pub(crate) fn allows(spec: &Spec, history: &History) -> bool {
    let facts = Facts::new(history);
    let evaluation = evaluate(&facts, spec, &mut Steps::new(1_000_000));
    evaluation.is_allowed().unwrap_or_else(|| panic!("{}: {evaluation:?}", spec.name()))
}

/// Asserts that the levels named in `allowed` allow the history and those in `forbidden` do not.
pub(crate) fn check(text: &str, allowed: &str, forbidden: &str) {
    let history = history(text);
    for name in allowed.split_whitespace() {
        assert!(allows(level(name), &history), "{name} should allow\n{text}");
    }
    for name in forbidden.split_whitespace() {
        assert!(!allows(level(name), &history), "{name} should forbid\n{text}");
    }
}

pub(crate) fn show(history: &History) -> String {
    let line = |txn| {
        let ops: Vec<String> = history.ops(txn).map(|it| history.render_op(it)).collect();
        let session = history.session_of(txn).map_or("", |it| history.session_name(it));
        format!("{session}: {}", ops.join(" "))
    };
    history.txns().map(line).collect::<Vec<String>>().join("\n")
}

/// The shape of generated histories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub(crate) n_txns: usize,
    pub(crate) n_keys: usize,
    /// At most this many operations in a transaction; a read of a key comes before its write.
    pub(crate) n_ops: usize,
}

/// What a transaction does to each key, in order of the keys; then reads are filled in with every possible writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    Nothing,
    Read,
    Write,
    Both,
}

/// Calls `visit` with every history of the scope: transactions touch keys, sit in sessions, and read what somebody
/// wrote. Each write has a value of its own. Reads come before writes.
pub(crate) fn each_history(scope: Scope, visit: &mut dyn FnMut(&History)) {
    let touches = [Touch::Nothing, Touch::Read, Touch::Write, Touch::Both];
    let n_cells = scope.n_txns * scope.n_keys;
    for code in 0..4usize.pow(n_cells as u32) {
        let cells: Vec<Touch> = (0..n_cells).map(|it| touches[code / 4usize.pow(it as u32) % 4]).collect();
        let size = |txn: usize| {
            let own = &cells[txn * scope.n_keys..(txn + 1) * scope.n_keys];
            own.iter().map(|it| [0, 1, 1, 2][*it as usize]).sum::<usize>()
        };
        if (0..scope.n_txns).any(|it| size(it) == 0 || size(it) > scope.n_ops) {
            continue;
        }
        for sessions in partitions(scope.n_txns) {
            each_source(scope, &cells, &sessions, visit);
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

fn each_source(scope: Scope, cells: &[Touch], sessions: &[usize], visit: &mut dyn FnMut(&History)) {
    let touch = |txn: usize, key: usize| cells[txn * scope.n_keys + key];
    let reads: Vec<(usize, usize)> = (0..scope.n_txns)
        .flat_map(|txn| (0..scope.n_keys).map(move |key| (txn, key)))
        .filter(|it| matches!(touch(it.0, it.1), Touch::Read | Touch::Both))
        .collect();
    let options: Vec<Vec<usize>> = reads
        .iter()
        .map(|(reader, key)| {
            let writes = |it: &usize| matches!(touch(*it, *key), Touch::Write | Touch::Both);
            let writers = (0..scope.n_txns).filter(|it| it != reader && writes(it)).map(|it| it + 1);
            std::iter::once(0).chain(writers).collect()
        })
        .collect();
    let n_choices: usize = options.iter().map(Vec::len).product();
    for mut code in 0..n_choices {
        let mut seen = vec![0; cells.len()];
        for ((txn, key), options) in reads.iter().zip(&options) {
            seen[txn * scope.n_keys + key] = options[code % options.len()];
            code /= options.len();
        }
        visit(&build(scope, cells, sessions, &seen));
    }
}

fn build(scope: Scope, cells: &[Touch], sessions: &[usize], seen: &[usize]) -> History {
    let mut builder = HistoryBuilder::new();
    let values: Vec<_> = (0..=scope.n_txns as u32).map(|it| builder.value(i64::from(it).into())).collect();
    builder.default_initial(values[0]);
    let keys: Vec<_> = ["x", "y", "z"][..scope.n_keys].iter().map(|it| builder.key((*it).into())).collect();
    for txn in 0..scope.n_txns {
        let session = builder.session(["a", "b", "c", "d"][sessions[txn]]);
        builder.begin(session, Place::default());
        let cell = |key: usize| txn * scope.n_keys + key;
        for (idx, key) in keys.iter().enumerate() {
            if matches!(cells[cell(idx)], Touch::Read | Touch::Both) {
                builder.read(*key, values[seen[cell(idx)]]);
            }
        }
        for (idx, key) in keys.iter().enumerate() {
            if matches!(cells[cell(idx)], Touch::Write | Touch::Both) {
                builder.write(*key, values[txn + 1]);
            }
        }
        builder.end(Outcome::Committed);
    }
    builder.finish().unwrap()
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// A history whose transactions read from one of the last states, or once in a while from any write.
    pub(crate) fn history(&mut self, n_txns: usize) -> History {
        let names = ["x", "y", "z"];
        let mut states = vec![[0; 3]];
        let mut lines = Vec::new();
        for txn in 1..=n_txns {
            let snapshot = states[states.len() - 1 - self.below(states.len().min(3))];
            let mut line = format!("{}:", ["a", "b", "c"][self.below(3)]);
            for _ in 0..2 {
                let key = self.below(3);
                let any = states[self.below(states.len())][key];
                let seen = if self.below(6) == 0 { any } else { snapshot[key] };
                line += &format!(" r({},{seen})", names[key]);
            }
            let mut state = states[states.len() - 1];
            for _ in 0..self.below(3) {
                let key = self.below(3);
                state[key] = txn;
                line += &format!(" w({},{txn})", names[key]);
            }
            states.push(state);
            lines.push(line);
        }
        history(&lines.join("\n"))
    }
}
