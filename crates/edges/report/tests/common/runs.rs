//! Documents of `collect`, `hunt`, `replay`, `demo` and `store run` with fixed numbers.

use iso_report::{
    AbortCauses, Asserted, CheckReport, CollectReport, Counts, DemoAct, DemoReport, Ending, HuntCounts, HuntFinding,
    HuntReport, HuntRound, HuntScript, Outcomes, ReplayReport, ReplayStep, Report, RoundVerdict, Sample, Series,
    StoreReport, StoreStep, WorkloadParameters,
};
use iso_spec::Level;

/// A number below a limit that looks drawn, and is the same each time.
fn drawn(nth: u64, limit: u64) -> u64 {
    let mut mixed = (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % limit
}

fn parameters() -> WorkloadParameters {
    WorkloadParameters {
        sessions: 10,
        txns: None,
        duration: Some(10.0),
        keys: 100,
        ops: (1, 8),
        reads: 0.5,
        keys_like: "uniform".to_owned(),
        retries: 0,
    }
}

/// Ten seconds, in the middle of which everything is slow for a moment.
fn series() -> Series {
    let sample = |nth: u64| {
        let excerpt = if (96..104).contains(&nth) { 5 } else { 1 };
        let committed = (150 + drawn(nth, 24)) / excerpt;
        Sample { committed, conflicts: (4 + drawn(nth + 500, 6)) * excerpt, ..Sample::default() }
    };
    Series { step: 0.05, samples: (0..200).map(sample).collect() }
}

fn outcomes(series: &Series) -> Outcomes {
    let sum = |count: fn(&Sample) -> u64| series.samples.iter().map(count).sum::<u64>();
    Outcomes {
        sessions: 11,
        committed: sum(|it| it.committed) + 1,
        aborted: sum(|it| it.aborted),
        conflicts: sum(|it| it.conflicts),
        unknown: sum(|it| it.unknown),
        operations: 141_203,
        reconnects: sum(|it| it.reconnects),
        aborts: AbortCauses::default(),
    }
}

pub fn collect() -> CollectReport {
    let series = series();
    CollectReport {
        database: "PostgreSQL 15.14 at localhost:5432/test".to_owned(),
        isolation: "serializable".to_owned(),
        workload: "rw".to_owned(),
        seed: 7,
        parameters: parameters(),
        outcomes: outcomes(&series),
        throughput: 3198.2,
        seconds: 10.004,
        bytes: 5_432_109,
        was_stopped: false,
        failure: None,
        assertions: Vec::new(),
        output: Some("run.jsonl".to_owned()),
        nodes: Vec::new(),
        faults: Vec::new(),
        series,
        check: None,
    }
}

/// Connections are lost, money is, too, and then the server goes away.
pub fn broken() -> CollectReport {
    let mut series = Series { step: 0.2, samples: series().samples[..150].to_vec() };
    for (nth, lost) in [(40, 2), (41, 1), (90, 3)] {
        series.samples[nth].unknown = lost;
        series.samples[nth].reconnects = lost + 1;
        series.samples[nth].aborted = 4;
    }
    series.samples[149] = Sample { unknown: 4, aborted: 6, ..Sample::default() };
    let asserted =
        |name: &str, holds: bool, detail: &str| Asserted { name: name.to_owned(), holds, detail: detail.to_owned() };
    CollectReport {
        database: "MariaDB 10.11.11 at localhost:3306/test".to_owned(),
        isolation: "read-committed:0.5,serializable:0.5".to_owned(),
        workload: "bank".to_owned(),
        parameters: WorkloadParameters { txns: Some(1000), duration: None, retries: 10, ..parameters() },
        outcomes: Outcomes {
            aborts: AbortCauses { deadlock: 1245, other: 18, ..AbortCauses::default() },
            ..outcomes(&series)
        },
        seconds: 29.97,
        throughput: 790.4,
        failure: Some("the connection to the server was lost, and there is no new one".to_owned()),
        assertions: vec![
            asserted("money is conserved", false, "the accounts have 9988, but there must be 10000"),
            asserted("no account is overdrawn", true, ""),
        ],
        nodes: Vec::new(),
        faults: Vec::new(),
        series,
        ..collect()
    }
}

/// Over before anybody looked, into a pipe.
pub fn short() -> CollectReport {
    let series = Series::new(&[(0.008, Sample { committed: 100, ..Sample::default() })], 0.008);
    CollectReport {
        database: "the weak store at level ser, policy random, seed 1".to_owned(),
        outcomes: outcomes(&series),
        seconds: 0.008,
        throughput: 12_500.0,
        output: None,
        was_stopped: true,
        nodes: Vec::new(),
        faults: Vec::new(),
        series,
        ..collect()
    }
}

const SQL: &str = "-- Before\nCREATE TABLE isoscope_kv (id varchar(64) PRIMARY KEY, value bigint NOT NULL) ENGINE=InnoDB;\n\
    INSERT INTO isoscope_kv (value, id) VALUES (0, 'x');\n\n-- Session s1\n\
    /* 1 */ SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION; -- ok\n\
    /* 3 */ SELECT value FROM isoscope_kv WHERE id = 'x'; -- 0\n/* 5 */ COMMIT; -- ok\n\n-- Session s2\n\
    /* 2 */ START TRANSACTION; -- ok\n/* 4 */ UPDATE isoscope_kv SET value = 2 WHERE id = 'x'; -- ok\n";

fn finding(anomaly: &str, origin: &str, times: u64, check: CheckReport) -> HuntFinding {
    HuntFinding {
        anomalies: vec![anomaly.to_owned()],
        origin: origin.to_owned(),
        times,
        faults: Vec::new(),
        history: "s1: { w(x,1) }\n".to_owned(),
        script: Some(HuntScript {
            steps: "s1 begin repeatable-read\n".to_owned(),
            sql: Some(SQL.to_owned()),
            tries: 5,
            shown: 5,
        }),
        check,
    }
}

/// Ten probes of two transactions, then runs of workloads in turns.
fn rounds(n_rounds: u64, verdict: impl Fn(u64) -> (RoundVerdict, Option<usize>)) -> Vec<HuntRound> {
    let mut began = 0.0;
    let mut rounds = Vec::new();
    for nth in 0..n_rounds {
        let is_probe = nth < 10;
        let name = if is_probe { ["lost-update", "write-skew"] } else { ["rw", "append"] }[nth as usize % 2];
        let what = if is_probe {
            format!("the probe {name}, order {}", nth / 2 + 1)
        } else {
            format!("the workload {name} with 4 sessions, 12 keys (zipf), 2 to 5 operations, 50 % reads, seed {nth}")
        };
        let seconds = if is_probe { 0.004 } else { f64::from(100 + u32::try_from(drawn(nth, 60)).unwrap()) / 1000.0 };
        let (verdict, finding) = verdict(nth);
        let committed = if is_probe { 2 } else { 200 + drawn(nth + 90, 90) };
        rounds.push(HuntRound {
            what,
            name: name.to_owned(),
            rounds: 1,
            began,
            seconds,
            committed,
            aborted: if is_probe { 0 } else { 300 - committed },
            unknown: 0,
            verdict,
            finding,
        });
        began = ((began + seconds + 0.002) * 1e6_f64).round() / 1e6;
    }
    rounds
}

pub fn hunt() -> HuntReport {
    let rounds = rounds(60, |nth| match nth {
        0 | 30 | 31 | 44 => (RoundVerdict::Violated, Some(0)),
        1 => (RoundVerdict::Violated, Some(1)),
        52 => (RoundVerdict::Unknown, None),
        _ => (RoundVerdict::Holds, None),
    });
    let mut unshown = finding("write-skew", "the probe write-skew", 1, super::write_skew());
    unshown.script = None;
    HuntReport {
        database: "MariaDB 10.11.11 at localhost:3306/test".to_owned(),
        isolation: "repeatable-read".to_owned(),
        expect_because: None,
        expect: Level::SnapshotIsolation.into(),
        seed: 1,
        tally: HuntCounts {
            scripts: 10,
            runs: 50,
            transactions: rounds.iter().map(HuntRound::transactions).sum(),
            violations: 5,
            undecided: 1,
        },
        reason: Some("the time limit was reached".to_owned()),
        duration: 10.0,
        seconds: 9.41,
        was_stopped: true,
        failure: None,
        nodes: Vec::new(),
        faults: Vec::new(),
        rounds,
        findings: vec![finding("lost-update", "the probe lost-update", 4, super::lost_update()), unshown],
    }
}

/// One probe is enough.
pub fn found_at_once() -> HuntReport {
    let rounds = rounds(1, |_| (RoundVerdict::Violated, Some(0)));
    HuntReport {
        tally: HuntCounts { scripts: 1, runs: 0, transactions: 2, violations: 1, undecided: 0 },
        reason: None,
        was_stopped: false,
        seconds: 0.31,
        findings: vec![finding("lost-update", "the probe lost-update", 1, super::lost_update())],
        rounds,
        ..hunt()
    }
}

pub fn nothing_found() -> HuntReport {
    let rounds = rounds(120, |_| (RoundVerdict::Holds, None));
    HuntReport {
        database: "PostgreSQL 15.14 at localhost:5432/test".to_owned(),
        isolation: "serializable".to_owned(),
        expect: Level::Serializable.into(),
        tally: HuntCounts {
            scripts: 10,
            runs: 110,
            transactions: rounds.iter().map(HuntRound::transactions).sum(),
            violations: 0,
            undecided: 0,
        },
        reason: None,
        duration: 16.0,
        seconds: 16.02,
        was_stopped: false,
        rounds,
        findings: Vec::new(),
        ..hunt()
    }
}

/// A script that shows its anomaly again, although a step answered something else.
pub fn replay() -> ReplayReport {
    let step = |nth: u64, session: &str, step: &str, answer: &str, recorded: Option<&str>| ReplayStep {
        nth,
        line: nth + 3,
        session: session.to_owned(),
        step: step.to_owned(),
        answer: answer.to_owned(),
        waited: nth == 4,
        recorded: recorded.map(str::to_owned),
        same: recorded.map(|it| it == answer),
    };
    ReplayReport {
        script: "found.sql".to_owned(),
        database: "MariaDB 10.11.11 at localhost:3306/test".to_owned(),
        isolation: vec!["repeatable-read".to_owned()],
        expect: Level::SnapshotIsolation.into(),
        expect_because: "si is expected, as the script says".to_owned(),
        tries: 5,
        shown: 4,
        reason: None,
        anomalies: vec!["lost-update".to_owned()],
        steps: vec![
            step(1, "s1", "begin repeatable-read", "ok", Some("ok")),
            step(2, "s1", "get kv x", "1", Some("0")),
            step(3, "s2", "put kv x 2", "ok", None),
            step(4, "s1", "put kv x 3", "ok", Some("ok")),
        ],
        history: "s1: { w(x,1) }\n".to_owned(),
        seconds: 0.25,
        output: Some("h.jsonl".to_owned()),
        check: Some(Box::new(super::lost_update())),
    }
}

fn act(title: &str, check: CheckReport) -> DemoAct {
    DemoAct {
        title: title.to_owned(),
        before: "A real database, in a temporary file.\nEach transaction reads some counters.".to_owned(),
        ran: format!("On {title} 1.0: 120 transactions committed, 3 aborted."),
        after: "Six clients at once, and yet it is as if one\nhad come after the other.".to_owned(),
        check,
    }
}

pub fn demo() -> DemoReport {
    let history = super::history("s1: { w(x,1) }");
    let good = super::report(&history, &[(Level::Serializable, &super::allowed(&history))]);
    DemoReport {
        title: "Six clients, two databases".to_owned(),
        lead: "Here are two databases.\n\nHow to read what follows: r(2,17)\nread 17.".to_owned(),
        acts: vec![act("SQLite", good), act("A store", super::write_skew())],
    }
}

/// An application on the weak store: one of its assertions fails.
pub fn store() -> StoreReport {
    let step = |txn: &str, call: &str, ending: Ending, reason: Option<&str>| StoreStep {
        txn: txn.to_owned(),
        call: call.to_owned(),
        ending,
        reason: reason.map(str::to_owned),
    };
    let asserted =
        |name: &str, holds: bool, detail: &str| Asserted { name: name.to_owned(), holds, detail: detail.to_owned() };
    StoreReport {
        application: "smallbank".to_owned(),
        level: Level::CausalConsistency.into(),
        policy: "random".to_owned(),
        sessions: 2,
        txns: 2,
        seed: 7,
        retries: false,
        committed: 2,
        aborted: 1,
        conflicts: 1,
        history: Counts { sessions: 2, transactions: 4, committed: 2, aborted: 2, unknown: 0, operations: 9, keys: 4 },
        assertions: vec![
            asserted("money is conserved", false, "the accounts have 12639, but there must be 25000"),
            asserted("no account is overdrawn", true, ""),
        ],
        transactions: vec![
            step("s1.1", "Amalgamate(1, 2)", Ending::Committed, None),
            step("s2.1", "Amalgamate(1, 3)", Ending::Committed, None),
            step("s1.2", "WriteCheck(2, 5)", Ending::Aborted, Some("the account would be overdrawn")),
            step("s2.2", "SendPayment(3, 1, 5)", Ending::Conflict, Some("somebody else wrote checking/3")),
        ],
        output: Some("run.jsonl".to_owned()),
        next: vec![
            "isoscope check run.jsonl".to_owned(),
            "isoscope predict run.jsonl --level cc --validate smallbank".to_owned(),
        ],
    }
}

/// A document whose every word wants to be markup.
pub fn hostile() -> Vec<(&'static str, Report)> {
    let name = |nth: usize| super::HOSTILE[nth % super::HOSTILE.len()].to_owned();
    let mut collect = broken();
    (collect.database, collect.isolation, collect.workload) = (name(0), name(1), name(2));
    collect.parameters.keys_like = name(3);
    collect.failure = Some(name(0));
    collect.output = Some(name(1));
    for (idx, it) in collect.assertions.iter_mut().enumerate() {
        (it.name, it.detail) = (name(idx), name(idx + 1));
    }
    let mut hunt = HuntReport { database: name(2), isolation: name(3), reason: Some(name(0)), ..hunt() };
    (hunt.expect.short, hunt.expect.full) = (name(1), name(2));
    for (idx, it) in hunt.rounds.iter_mut().enumerate() {
        (it.what, it.name) = (name(idx), name(idx + 1));
    }
    let found = &mut hunt.findings[0];
    (found.anomalies, found.origin, found.check) = (vec![name(3)], name(0), super::hostile());
    found.script = Some(HuntScript { steps: super::HOSTILE.join("\n"), sql: None, tries: 5, shown: 3 });
    let mut replay = ReplayReport { script: name(0), database: name(1), isolation: vec![name(2)], ..replay() };
    (replay.expect_because, replay.reason, replay.anomalies) = (name(3), Some(name(0)), vec![name(1)]);
    (replay.history, replay.output, replay.check) = (name(2), Some(name(3)), Some(Box::new(super::hostile())));
    for (idx, it) in replay.steps.iter_mut().enumerate() {
        (it.session, it.step, it.answer, it.recorded) = (name(idx), name(idx + 1), name(idx + 2), Some(name(idx + 3)));
        it.same = Some(false);
    }
    let mut demo = demo();
    (demo.title, demo.lead) = (name(0), name(1));
    let act = &mut demo.acts[0];
    (act.title, act.before, act.ran, act.after) = (name(0), name(1), name(2), name(3));
    act.check = super::hostile();
    let mut store = store();
    (store.application, store.policy, store.output) = (name(0), name(1), Some(name(2)));
    (store.level.short, store.level.full) = (name(3), name(3));
    for (idx, it) in store.assertions.iter_mut().enumerate() {
        (it.name, it.detail) = (name(idx), name(idx + 1));
    }
    for (idx, it) in store.transactions.iter_mut().enumerate() {
        (it.txn, it.call, it.reason) = (name(idx), name(idx + 1), Some(name(idx + 3)));
    }
    store.next = vec![name(0), name(4)];
    vec![
        ("collect-hostile", collect.into()),
        ("hunt-hostile", hunt.into()),
        ("replay-hostile", replay.into()),
        ("demo-hostile", demo.into()),
        ("store-hostile", store.into()),
    ]
}

/// Those whose bytes are kept.
pub fn golden_cases() -> Vec<(&'static str, Report)> {
    vec![
        ("collect", collect().into()),
        ("collect-broken", broken().into()),
        ("hunt", hunt().into()),
        ("hunt-none", nothing_found().into()),
        ("replay", replay().into()),
        ("demo", demo().into()),
        ("store", store().into()),
    ]
}

/// All of them.
pub fn gallery() -> Vec<(&'static str, Report)> {
    let mut unshown = ReplayReport { shown: 0, check: None, anomalies: Vec::new(), output: None, ..replay() };
    unshown.steps.iter_mut().for_each(|it| (it.recorded, it.same) = (None, None));
    let more = [
        ("collect-short", short().into()),
        ("hunt-at-once", found_at_once().into()),
        ("replay-unshown", unshown.into()),
    ];
    golden_cases().into_iter().chain(more).chain(hostile()).collect()
}
