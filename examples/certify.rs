//! Proves that one level implies another one, and lets the kernel replay the proof, as it is and with a step left out.
//!
//! ```console
//! $ cargo run --package isoscope --example certify -- biswas.si cerone.si
//! ```
#![allow(clippy::print_stdout, reason = "an example program shows its result")]

use isoscope::compare::{Proofs, compare};
use isoscope::evidence::{Budget, certify_implication};
use isoscope::separate::{Method, Scope};
use isoscope::spec::Catalogue;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let [left, right] = &names[..] else { return Err("name two levels, as in `biswas.si cerone.si`".into()) };
    let (left, right) = (Catalogue::builtin().find(left)?, Catalogue::builtin().find(right)?);

    let (scope, method) = (Scope::default(), Method::default());
    let comparison = compare(left, right, &scope, method, &Proofs::Wanted, &Budget::unlimited());
    for (proof, stronger, weaker) in [(&comparison.proofs[0], left, right), (&comparison.proofs[1], right, left)] {
        let Some(proof) = proof else {
            println!("There is no proof that {} implies {}.", stronger.name(), weaker.name());
            continue;
        };
        certify_implication(stronger, weaker, proof)?;
        println!("{} implies {}, for every size. Certified.", stronger.name(), weaker.name());
        let mut changed = (**proof).clone();
        changed.refutations.pop();
        match certify_implication(stronger, weaker, &changed) {
            Ok(()) => return Err("a proof without its last part must be refused".into()),
            Err(why) => println!("  Without its last part it is refused: {why}."),
        }
    }
    Ok(())
}
