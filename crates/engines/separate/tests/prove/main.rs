//! Proofs for every size.

use iso_evidence::{Budget, certify_implication};
use iso_separate::{Proving, prove};
use iso_spec::Catalogue;
use std::time::Instant;

#[test]
fn pairs_named() {
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

#[test]
fn explore_all() {
    let catalogue = Catalogue::builtin();
    let specs: Vec<_> = catalogue.levels().collect();
    let scope = iso_separate::Scope::up_to(4, 2, 4);
    let start = Instant::now();
    let lattice = iso_separate::lattice(&specs, &scope, iso_separate::Method::default(), &Budget::unlimited(), &mut |_| {});
    println!("lattice {:?}, {} levels {} classes {} unknown", start.elapsed(), specs.len(), lattice.classes.len(), lattice.unknown.len());
    let mut wanted = Vec::new();
    for class in &lattice.classes {
        for other in &class[1..] {
            wanted.push((class[0], *other));
            wanted.push((*other, class[0]));
        }
    }
    for edge in &lattice.edges {
        wanted.push((lattice.classes[edge.stronger][0], lattice.classes[edge.weaker][0]));
    }
    let (mut n, mut open) = (0, 0);
    let start = Instant::now();
    for (a, b) in wanted {
        let (a, b) = (specs[a], specs[b]);
        let one = Instant::now();
        let proving = prove(a, b, &Budget::unlimited());
        n += 1;
        match proving {
            Proving::Proved(proof) => {
                if let Err(why) = certify_implication(a, b, &proof) {
                    println!("WRONG>{} {}: {why}", a.name(), b.name());
                }
                if one.elapsed().as_millis() > 1500 {
                    println!("slow> {}>{} {:?}", a.name(), b.name(), one.elapsed());
                }
            }
            Proving::Open { reason } => {
                open += 1;
                println!("open> {}>{} {:?}: {}", a.name(), b.name(), one.elapsed(), reason.chars().take(150).collect::<String>());
            }
            Proving::Stopped(_) => {}
        }
    }
    println!("result: {n} tried, {open} open, {:?}", start.elapsed());
}

#[test]
fn show_theory() {
    let catalogue = Catalogue::builtin();
    let pair = std::env::var("PAIRS").unwrap_or_default();
    let Some((a, b)) = pair.split_once('>') else { return };
    let (a, b) = (catalogue.find(a).unwrap(), catalogue.find(b).unwrap());
    let made = std::env::var("MADE").unwrap_or_default().split('~').map(str::to_owned).collect();
    let theory = iso_evidence::Theory::new(a, b, &iso_evidence::Construction { made, ..Default::default() }).unwrap();
    println!("unused {:?}", theory.unused);
    println!("asked {:?} own {:?}", theory.asked_prefixes(), theory.own_prefixes());
    for (idx, clause) in theory.clauses.iter().enumerate() {
        let title = &theory.sentences[clause.origin];
        if title == "equality" || title.starts_with("histories") { continue }
        println!("{idx} [{}] {:?}", title.chars().take(40).collect::<String>(), clause.literals.iter().map(|it| format!("{}{:?}{:?}", if it.is_true {""} else {"-"}, it.predicate, it.arguments)).collect::<Vec<_>>());
    }
}
