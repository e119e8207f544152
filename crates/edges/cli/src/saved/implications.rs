//! Proofs that one level implies another one.

use super::{Levels, Outcome};
use iso_evidence::{Theory, certify_implication};
use iso_report::ImplicationProof;
use iso_spec::Spec;

/// Replays a proof.
pub(super) fn replay(levels: Levels<'_>, stronger: &str, weaker: &str, proof: Option<&ImplicationProof>) -> Outcome {
    let Some(proof) = proof else { return Outcome::Missing("the proof is not in the document".to_owned()) };
    let (stronger, weaker) = match (levels.spec(stronger), levels.spec(weaker)) {
        (Ok(stronger), Ok(weaker)) => (stronger, weaker),
        (Err(reason), _) | (_, Err(reason)) => return Outcome::Missing(reason),
    };
    let names: Vec<&str> = weaker.witnesses().iter().map(|it| it.name.as_str()).collect();
    if proof.made.iter().map(|it| it.name.as_str()).collect::<Vec<_>>() != names {
        return Outcome::Refused(format!("the witness of {} has the parts {}", weaker.name(), names.join(", ")));
    }
    match replayed(stronger, weaker, proof) {
        Ok(()) => Outcome::Certified,
        Err(reason) => Outcome::Refused(reason),
    }
}

fn replayed(stronger: &Spec, weaker: &Spec, proof: &ImplicationProof) -> Result<(), String> {
    let theory = Theory::new(stronger, weaker, &proof.construction())?;
    let read = proof.read(&theory)?;
    certify_implication(stronger, weaker, &read).map_err(|it| it.to_string())?;
    // People read the words, so they must be those of what was replayed.
    let names: Vec<String> = weaker.witnesses().iter().map(|it| it.name.clone()).collect();
    if ImplicationProof::new(&theory, &read, &names) == *proof {
        Ok(())
    } else {
        Err("its words are not those of its instances".to_owned())
    }
}
