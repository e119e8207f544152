//! The walk-through of docs/your-application.md: one good run shows what could go wrong.

use crate::honesty::{PYTHON, has_psycopg};
use crate::stage::{Stage, client, said, server, text_of};
use iso_answer::predict::{Answer, Boundary, Precision, Question, predict};
use iso_evidence::{Anomaly, Budget};
use iso_serve::Start;
use iso_spec::Level;

#[test]
fn one_good_run_of_the_shop_shows_the_coupon_that_could_be_redeemed_twice() {
    let Some(server) = server() else { return };
    if !has_psycopg() {
        return;
    }
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/apps/shop/shop.py");
    said(client(PYTHON, server.port(), &[shop, "setup"]));
    let stage = Stage::new(&server, Start::AtOnce);
    let run = |arguments: &[&str]| said(client(PYTHON, stage.port(), &[&[shop], arguments].concat()));
    let redeemed = ["ann", "bob", "cid"].map(|customer| run(&["redeem", customer, "SAVE10"]));
    assert_eq!(redeemed, ["redeemed\n", "redeemed\n", "no uses left\n"]);
    assert_eq!(run(&["audit"]), "every coupon is right\n");
    let (recorded, _, history) = stage.end();
    assert_eq!((recorded.tally.committed, recorded.tally.n_missing()), (4, 0), "{:?}", recorded.tally);
    let text = text_of(&history);
    let old = "{code: SAVE10, uses_left: 2}";
    let first = format!("r(coupons/SAVE10,{old}) u(coupons/SAVE10,{old},{{code: SAVE10, uses_left: 1}})");
    assert!(text.contains(&first), "{text}");
    let question = |level| Question {
        level,
        target: Level::Serializable,
        boundary: Boundary::Relaxed,
        precision: Precision::Exact,
    };
    let predicted = predict(&history, question(Level::PrefixConsistency), &Budget::unlimited()).unwrap();
    let Answer::Predicted(run) = predicted else { panic!("{predicted:?}") };
    assert_eq!(run.judged.refutation.anomalies, [Anomaly::LostUpdate]);
    let predicted = predict(&history, question(Level::SnapshotIsolation), &Budget::unlimited()).unwrap();
    assert!(matches!(predicted, Answer::None(_)), "{predicted:?}");
}
