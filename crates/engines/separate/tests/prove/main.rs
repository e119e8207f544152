//! Proofs for every size.

use iso_evidence::{Budget, certify_implication};
use iso_separate::{Proving, prove};
use iso_spec::Catalogue;
use std::time::Instant;

#[test]
fn explore() {
    let catalogue = Catalogue::builtin();
    for pair in std::env::var("PAIRS").unwrap_or_default().split_whitespace() {
        let (a, b) = pair.split_once('>').unwrap();
        let (a, b) = (catalogue.find(a).unwrap(), catalogue.find(b).unwrap());
        let start = Instant::now();
        let proving = prove(a, b, &Budget::unlimited());
        let time = start.elapsed();
        match proving {
            Proving::Proved(proof) => {
                let start = Instant::now();
                let certified = certify_implication(a, b, &proof);
                let n: usize = proof.refutations.iter().map(|it| it.instances.len()).sum();
                println!("{pair}: proved {time:?} certified {certified:?} {:?} {n} instances {:?}", start.elapsed(), proof.construction);
            }
            other => println!("{pair}: {time:?} {other:?}"),
        }
    }
}
