//! The words of Jepsen's Elle beside ours, both ways. `docs/elle.md` has the same tables, and a test compares them.

use crate::document::{Excerpt, LinkKind};

/// Names of Elle for an anomaly, and ours: each of the first may be any of the others.
pub const ANOMALIES: &[(&[&str], &[&str])] = &[
    (&["internal"], &["internal"]),
    (&["future-read"], &["future-read"]),
    (&["incompatible-order"], &["incompatible-order"]),
    (&["G0", "G0-process"], &["g0"]),
    (&["G1a", "dirty-update"], &["g1a"]),
    (&["G1b"], &["g1b"]),
    (&["G1c", "G1c-process"], &["g1c"]),
    (&["lost-update"], &["lost-update"]),
    (
        &["G-single", "G-single-item"],
        &["g-single", "non-monotonic-read", "non-repeatable-read", "fractured-read", "causality-violation", "phantom"],
    ),
    (&["G-single-process", "G-single-item-process"], &["stale-own-write", "causality-violation"]),
    (&["G-nonadjacent", "G-nonadjacent-item"], &["long-fork"]),
    (&["write-skew", "G2-item"], &["write-skew", "read-only-anomaly", "g2-item"]),
    (&["G2"], &["g2"]),
    (&["-realtime"], &["stale-read"]),
    (&["predicate-read-miss"], &["predicate-read-miss"]),
];

/// Models of Elle, and the level here that says the same.
pub const MODELS: &[(&[&str], &str)] = &[
    (&["read-uncommitted", "PL-1"], "pl1"),
    (&["strong-session-read-uncommitted"], "ru"),
    (&["read-committed", "PL-2"], "pl2"),
    (&["strong-session-read-committed"], "adya.pl2_so"),
    (&["read-atomic"], "ra"),
    (&["update-atomic"], "ua"),
    (&["causal-cerone"], "cc"),
    (&["prefix"], "pc"),
    (&["consistent-view", "PL-2+"], "adya.pl2plus"),
    (&["parallel-snapshot-isolation"], "psi"),
    (&["snapshot-isolation", "PL-SI"], "si-nosession"),
    (&["strong-session-snapshot-isolation"], "si"),
    (&["strong-snapshot-isolation"], "ssi"),
    (&["serializable", "PL-3", "repeatable-read", "PL-2.99"], "ser-nosession"),
    (&["strong-session-serializable"], "ser"),
    (&["strict-serializable", "strong-serializable"], "sser"),
];

/// What Elle calls an anomaly of ours, with what its cycle goes through: `G-single-item-realtime`. A name that Elle does
/// not have stays as it is.
pub fn elle_anomaly(name: &str, core: &Excerpt) -> String {
    let has = |kind: LinkKind| core.cycle.iter().any(|it| it.kind == kind);
    let base = match name {
        "g0" => "G0",
        "g1a" => "G1a",
        "g1b" => "G1b",
        "g1c" => "G1c",
        "g2" => "G2",
        "lost-update" => return name.to_owned(),
        "g-single"
        | "non-monotonic-read"
        | "non-repeatable-read"
        | "fractured-read"
        | "causality-violation"
        | "stale-own-write"
        | "stale-read" => "G-single-item",
        "phantom" => "G-single",
        "long-fork" => "G-nonadjacent-item",
        "write-skew" | "read-only-anomaly" | "g2-item" => "G2-item",
        other => return other.to_owned(),
    };
    // What one read shows has no cycle.
    if core.cycle.is_empty() && !matches!(name, "stale-read" | "stale-own-write") {
        return base.to_owned();
    }
    let suffix = if has(LinkKind::RealTime) || name == "stale-read" {
        "-realtime"
    } else if has(LinkKind::SessionOrder) || name == "stale-own-write" {
        "-process"
    } else {
        ""
    };
    format!("{base}{suffix}")
}

/// Our names for an anomaly of Elle; none if it is not known.
pub fn anomalies_of_elle(name: &str) -> Vec<&'static str> {
    let name = name.trim_start_matches(':');
    let find = |name: &str| ANOMALIES.iter().filter(|it| it.0.contains(&name)).flat_map(|it| it.1).copied().collect();
    let found: Vec<&'static str> = find(name);
    if !found.is_empty() {
        return found;
    }
    // What looks at real time or at sessions is a kind of its own here, or a kind of the same.
    match (name.strip_suffix("-realtime"), name.strip_suffix("-process")) {
        (Some(base), _) if !find(base).is_empty() => find("-realtime"),
        (_, Some(base)) => find(base),
        _ => Vec::new(),
    }
}

/// The model of Elle that a level of ours is; none if Elle has none.
pub fn elle_model(level: &str) -> Option<&'static str> {
    MODELS.iter().find(|it| it.1 == level).and_then(|it| it.0.first()).copied()
}

/// The level of ours that a model of Elle is.
pub fn level_of_elle(model: &str) -> Option<&'static str> {
    let model = model.trim_start_matches(':');
    MODELS.iter().find(|it| it.0.contains(&model)).map(|it| it.1)
}
