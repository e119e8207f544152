//! Hand-made answers of `separate`, `compare` and `lattice`, for the tests of all renderings.

use super::{cyclic, made_up, txn};
use iso_evidence::{Anomaly, Refutation, Verdict};
use iso_history::{Facts, History, TxnId};
use iso_report::{
    AllowedBy, Bound, CompareReport, Effort, Failure, ForbiddenBy, Found, KeyVersions, LatticeEdge, LatticeReport,
    RelationShape, Report, Scope, SearchVerdict, SeparateReport, SessionShape, SpecName, SpecRefutation, SpecRelation,
    SpecWitness, UnknownPair, Value, WitnessRelation,
};
use iso_spec::{Catalogue, Execution, Spec};

pub fn spec(name: &str) -> &'static Spec {
    Catalogue::builtin().find(name).unwrap()
}

pub fn scope() -> Scope {
    Scope {
        bound: Bound::UpTo,
        transactions: 4,
        keys: 3,
        values: None,
        sessions: SessionShape::Chains,
        reads_per_key: 1,
        blind_writes: true,
        real_time: false,
        read_order: false,
        scans: 0,
        statements: Vec::new(),
        lists: 0,
    }
}

pub fn effort() -> Effort {
    Effort {
        seconds: 0.125,
        peak_bytes: Some(3_250_000),
        candidates: 12,
        variables: 4021,
        clauses: 9307,
        conflicts: 88,
    }
}

/// An execution of a history whose reads have one possible writer each.
///
/// Each relation is a text: `co: s1.1 < s2.1` is an order, `vis: s1.1 > s2.1, s1.1 > s3.1` a relation that the initial
/// transaction starts, `vo x: s1.1 < s2.1` the versions of a key.
pub fn execution(history: &History, relations: &[&str]) -> Execution {
    let facts = Facts::new(history);
    let sources = facts.reads().iter().enumerate().map(|(idx, it)| (it.op, facts.candidates(idx)[0])).collect();
    let mut execution = Execution::new(history.txns(), sources);
    for relation in relations {
        let (name, members) = relation.split_once(": ").unwrap();
        let order: Vec<TxnId> = members.split(" < ").filter_map(|it| known(history, it)).collect();
        execution = if let Some((name, key)) = name.split_once(' ') {
            execution.with_versions(name, super::key(history, key), &order)
        } else if members.contains('>') {
            let pairs = members.split(", ").map(|it| it.split_once(" > ").unwrap());
            let pairs = pairs.map(|(from, to)| (txn(history, from), txn(history, to)));
            execution.with_relation(name, pairs.chain(history.txns().map(|it| (TxnId::INITIAL, it))))
        } else {
            execution.with_order(name, &order)
        };
    }
    execution
}

fn known(history: &History, label: &str) -> Option<TxnId> {
    history.txns().find(|it| history.label(*it) == label)
}

fn refutation(verdict: Verdict) -> Refutation {
    let Verdict::Forbidden(refutation) = verdict else { unreachable!() };
    refutation
}

fn failure(history: &History, spec: &Spec, relations: &[&str], because: &str) -> Failure {
    Failure::new(history, spec, &execution(history, relations), because)
}

fn allowed<'a>(history: &History, spec: &'a Spec, execution: &'a Execution) -> AllowedBy<'a> {
    assert!(iso_spec::holds(&Facts::new(history), spec, execution), "{} has another witness", spec.name());
    AllowedBy { spec, execution, certified: Some(Ok(())) }
}

fn by_refutation<'a>(spec: &'a Spec, refutation: &'a Refutation) -> ForbiddenBy<'a> {
    ForbiddenBy {
        spec,
        refutation: Some(refutation),
        failures: Vec::new(),
        omitted: 0,
        is_exhaustive: false,
        certified: Some(Ok(())),
    }
}

fn by_failures(spec: &Spec, failures: Vec<Failure>, omitted: usize) -> ForbiddenBy<'_> {
    ForbiddenBy { spec, refutation: None, failures, omitted, is_exhaustive: true, certified: Some(Ok(())) }
}

/// Causal consistency allows it, prefix consistency does not.
pub fn long_fork() -> Found {
    let history = made_up(
        "init x=0 y=0
         s1: { w(x,1) }
         s2: { w(y,1) }
         s3: { r(x,1) r(y,0) }
         s4: { r(y,1) r(x,0) }",
    );
    let order = execution(&history, &["co: s1.1 < s2.1 < s3.1 < s4.1"]);
    let edges = ["s1.1 wr x s3.1", "s3.1 rw y s2.1", "s2.1 wr y s4.1", "s4.1 rw x s1.1"];
    let cycle = refutation(cyclic(&history, Anomaly::LongFork, &edges));
    let (cc, pc) = (spec("biswas.cc"), spec("biswas.pc"));
    Found::new(&history, None, &[allowed(&history, cc, &order)], &[by_refutation(pc, &cycle)])
}

/// Snapshot isolation allows it in three frameworks, and no order of the two transactions serializes it.
pub fn write_skew() -> Found {
    let history = made_up(
        "init x=0 y=0
         s1: { r(x,0) r(y,0) w(x,1) }
         s2: { r(x,0) r(y,0) w(y,1) }",
    );
    let (cerone, crooks, adya) = (spec("cerone.si"), spec("crooks.si"), spec("adya.si_so"));
    let visible = execution(&history, &["ar: s1.1 < s2.1", "vis: init > s1.1"]);
    let executed = execution(&history, &["ex: s1.1 < s2.1"]);
    let versions = execution(&history, &["vo x: s1.1", "vo y: s2.1"]);
    let ser = spec("crooks.ser");
    let failures = vec![
        failure(&history, ser, &["ex: s1.1 < s2.1"], "s2.1 reads x from init, but s1.1 wrote it before"),
        failure(&history, ser, &["ex: s2.1 < s1.1"], "s1.1 reads y from init, but s2.1 wrote it before"),
    ];
    let cycle = refutation(cyclic(&history, Anomaly::WriteSkew, &["s1.1 rw y s2.1", "s2.1 rw x s1.1"]));
    let witnesses =
        [allowed(&history, cerone, &visible), allowed(&history, crooks, &executed), allowed(&history, adya, &versions)];
    let refutations = [by_failures(ser, failures, 0), by_refutation(spec("biswas.ser"), &cycle)];
    Found::new(&history, None, &witnesses, &refutations)
}

/// Sessions that are no chains: s1.1 comes before all, and s4.1 after all.
pub fn diamond() -> Found {
    let history = made_up(
        "init x=0 y=0
         s1: { w(x,1) w(y,1) }
         s2: { r(x,1) w(x,2) }
         s3: { r(y,1) w(y,2) }
         s4: { r(x,2) r(y,1) }",
    );
    let id = |label: &str| txn(&history, label);
    let pairs = ["s1.1 s2.1", "s1.1 s3.1", "s2.1 s4.1", "s3.1 s4.1", "s1.1 s4.1"]
        .map(|it| it.split_once(' ').unwrap())
        .map(|(from, to)| (id(from), id(to)));
    let visible = "vis: s1.1 > s2.1, s1.1 > s3.1, s2.1 > s4.1, s1.1 > s4.1";
    let execution = execution(&history, &["ar: s1.1 < s2.1 < s3.1 < s4.1", visible]);
    let witness = AllowedBy { spec: spec("cerone.psi_nosession"), execution: &execution, certified: Some(Ok(())) };
    let ra = spec("cerone.ra");
    let because = "s4.1 reads y from s1.1, but sees s3.1, which wrote y later";
    let failures = vec![failure(&history, ra, &["ar: s1.1 < s2.1 < s3.1 < s4.1", "vis: s3.1 > s4.1"], because)];
    Found::new(&history, Some(&pairs), &[witness], &[by_failures(ra, failures, 11)])
}

/// A lost update.
pub fn lost_update() -> Found {
    let history = made_up("init x=0\ns1: { r(x,0) w(x,1) }\ns2: { r(x,0) w(x,2) }");
    let order = execution(&history, &["co: s1.1 < s2.1"]);
    let edges = ["s1.1 rw x s2.1", "s2.1 rw x s1.1"];
    let cycle = refutation(cyclic(&history, Anomaly::LostUpdate, &edges));
    let (pc, si) = (spec("biswas.pc"), spec("biswas.si"));
    Found::new(&history, None, &[allowed(&history, pc, &order)], &[by_refutation(si, &cycle)])
}

/// Two writes of one transaction, of which a reader sees one.
pub fn fractured_read() -> Found {
    let history = made_up("init x=0 y=0\ns1: { w(x,1) w(y,1) }\ns2: { r(y,0) r(x,1) }");
    let order = execution(&history, &["co: s1.1 < s2.1"]);
    let cycle = refutation(cyclic(&history, Anomaly::FracturedRead, &["s1.1 wr x s2.1", "s2.1 rw y s1.1"]));
    let (rc, ra) = (spec("biswas.rc"), spec("biswas.ra"));
    Found::new(&history, None, &[allowed(&history, rc, &order)], &[by_refutation(ra, &cycle)])
}

fn only(found: Found, allows: &str, forbids: &str) -> Found {
    let rename = |level: &mut String, name: &str| name.clone_into(level);
    let mut found = found;
    found.witnesses.truncate(1);
    found.refutations.truncate(1);
    found.witnesses.iter_mut().for_each(|it| rename(&mut it.level, allows));
    found.refutations.iter_mut().for_each(|it| rename(&mut it.level, forbids));
    found
}

pub fn names(names: &[&str]) -> Vec<SpecName> {
    names.iter().map(|it| SpecName::from(spec(it))).collect()
}

fn separate(allowed: &[&str], forbidden: &[&str], verdict: SearchVerdict, found: Vec<Found>) -> SeparateReport {
    SeparateReport {
        inputs: Vec::new(),
        allowed: names(allowed),
        forbidden: names(forbidden),
        scope: scope(),
        verdict,
        complete: (found.len() > 1).then_some(true),
        found,
        not_certified: None,
        effort: effort(),
    }
}

fn compare(left: &str, right: &str, relation: SpecRelation, only: [Option<Found>; 2]) -> CompareReport {
    let [left_only, right_only] = only.map(|it| it.map(Box::new));
    CompareReport {
        inputs: vec!["mine.spec".to_owned()],
        left: spec(left).into(),
        right: spec(right).into(),
        scope: Scope { transactions: 3, keys: 2, ..scope() },
        relation,
        left_only,
        left_implies_right: None,
        right_implies_left: None,
        right_only,
        not_certified: None,
        effort: effort(),
    }
}

/// Serializable, snapshot isolation, prefix and causal consistency, and read committed.
pub fn lattice() -> LatticeReport {
    let classes: [&[&str]; 5] = [
        &["biswas.ser", "cerone.ser", "adya.ser_so", "crooks.ser_so"],
        &["biswas.si", "cerone.si", "crooks.session_si"],
        &["biswas.pc", "cerone.pc"],
        &["cerone.psi"],
        &["biswas.cc", "cerone.cc"],
    ];
    let edge = |stronger: usize, weaker: usize, found: Found| LatticeEdge {
        stronger,
        weaker,
        found: only(found, classes[weaker][0], classes[stronger][0]),
    };
    LatticeReport {
        inputs: Vec::new(),
        levels: names(&classes.concat()),
        classes: classes.iter().map(|it| it.iter().map(|it| (*it).to_owned()).collect()).collect(),
        edges: vec![
            edge(0, 1, write_skew()),
            edge(1, 2, lost_update()),
            edge(1, 3, long_fork()),
            edge(2, 4, long_fork()),
            edge(3, 4, lost_update()),
        ],
        pairs: None,
        implications: Vec::new(),
        unknown: vec![UnknownPair {
            left: "biswas.pc".to_owned(),
            right: "cerone.psi".to_owned(),
            reason: "the time limit was reached".to_owned(),
        }],
        scope: scope(),
        not_certified: None,
        effort: effort(),
    }
}

/// As large as the catalogue's own: 40 classes with 72 names.
pub fn large_lattice() -> LatticeReport {
    let frameworks = ["biswas", "cerone", "crooks", "adya"];
    let mut classes: Vec<Vec<String>> = Vec::new();
    for idx in 0..40_usize {
        let n_names = [1, 1, 2, 1, 4, 1, 2, 1, 1, 4][idx % 10];
        classes.push((0..n_names).map(|nth| format!("{}.level_{idx}", frameworks[(nth + idx) % 4])).collect());
    }
    let mut edges: Vec<LatticeEdge> = Vec::new();
    let mut link = |stronger: usize, weaker: usize| {
        let found = [write_skew, lost_update, long_fork, fractured_read][(stronger + weaker) % 4]();
        let found = only(found, &classes[weaker][0], &classes[stronger][0]);
        edges.push(LatticeEdge { stronger, weaker, found });
    };
    for idx in 1..40_usize {
        link((idx - 1) / 2, idx);
        if idx % 3 == 0 && idx > 6 {
            link(idx / 2 - 2, idx);
        }
        if idx % 11 == 0 {
            link(idx / 8, idx);
        }
    }
    let levels = classes.concat().into_iter().map(|name| SpecName { name, summary: "a level".to_owned() });
    LatticeReport { levels: levels.collect(), classes, edges, unknown: Vec::new(), ..lattice() }
}

/// Everything that has a name has a hostile one.
pub fn hostile() -> SeparateReport {
    let name = |nth: usize| super::HOSTILE[nth % super::HOSTILE.len()].to_owned();
    let mut found = write_skew();
    for (idx, txn) in found.transactions.iter_mut().enumerate() {
        txn.id = name(idx);
        txn.session = name(idx + 2);
        txn.ops.iter_mut().for_each(|it| it.value = Value::Text(name(idx + 3)));
    }
    found.history += &name(2);
    found.session_order = vec![(name(0), name(1))];
    let versions = KeyVersions { key: Value::Text(name(0)), writers: vec![name(1), name(0)] };
    found.witnesses = vec![SpecWitness {
        level: name(0),
        framework: name(1),
        relations: vec![
            WitnessRelation { name: name(2), shape: RelationShape::Order(vec![name(1), name(0)]) },
            WitnessRelation { name: name(0), shape: RelationShape::Pairs(vec![(name(0).into(), name(1).into())]) },
            WitnessRelation { name: name(1), shape: RelationShape::Versions(vec![versions]) },
        ],
        certified: Some(Err(name(4))),
    }];
    found.refutations = vec![SpecRefutation {
        level: name(1),
        anomalies: vec![name(0)],
        summary: name(2),
        failures: vec![Failure { witness: name(0), because: name(2) }],
        ..SpecRefutation::default()
    }];
    let mut report = separate(&["biswas.si"], &["biswas.ser"], SearchVerdict::Found, vec![found]);
    report.inputs = vec![name(0), name(2)];
    report.allowed[0] = SpecName { name: name(0), summary: name(2) };
    report
}

/// The cases whose renderings are golden.
pub fn golden_cases() -> Vec<(&'static str, Report)> {
    gallery().into_iter().take(5).collect()
}

/// Every case with its name.
pub fn gallery() -> Vec<(&'static str, Report)> {
    let unknown = || "the time limit was reached".to_owned();
    let skew = ["cerone.si", "crooks.si", "adya.si_so"];
    let stronger = Some(only(long_fork(), "biswas.cc", "biswas.pc"));
    let incomparable = [only(lost_update(), "biswas.pc", "cerone.psi"), only(long_fork(), "cerone.psi", "biswas.pc")];
    vec![
        ("separate-cc-pc", separate(&["biswas.cc"], &["biswas.pc"], SearchVerdict::Found, vec![long_fork()]).into()),
        (
            "separate-si-ser",
            separate(&skew, &["crooks.ser", "biswas.ser"], SearchVerdict::Found, vec![write_skew()]).into(),
        ),
        (
            "separate-partial",
            SeparateReport {
                scope: Scope { sessions: SessionShape::PartialOrder, blind_writes: false, ..scope() },
                ..separate(&["cerone.psi_nosession"], &["cerone.ra"], SearchVerdict::Found, vec![diamond()])
            }
            .into(),
        ),
        ("compare", compare("biswas.pc", "cerone.psi", SpecRelation::Incomparable, incomparable.map(Some)).into()),
        ("lattice", lattice().into()),
        ("none", separate(&["biswas.si"], &["cerone.si"], SearchVerdict::None, Vec::new()).into()),
        (
            "unknown",
            separate(&["biswas.si"], &["cerone.si"], SearchVerdict::Unknown { reason: unknown() }, Vec::new()).into(),
        ),
        ("all", separate(&["biswas.cc"], &["biswas.pc"], SearchVerdict::Found, vec![long_fork(), long_fork()]).into()),
        ("equivalent", compare("biswas.si", "cerone.si", SpecRelation::Equivalent, [None, None]).into()),
        ("stronger", compare("biswas.pc", "biswas.cc", SpecRelation::Stronger, [None, stronger.clone()]).into()),
        ("weaker", compare("biswas.cc", "biswas.pc", SpecRelation::Weaker, [stronger.clone(), None]).into()),
        (
            "half-unknown",
            compare("biswas.cc", "biswas.pc", SpecRelation::Unknown { reason: unknown() }, [stronger, None]).into(),
        ),
        ("large-lattice", large_lattice().into()),
        ("hostile", hostile().into()),
        ("check", super::write_skew().into()),
    ]
}
