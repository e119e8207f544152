//! `isoscope lattice`: how do many levels relate?

use crate::args::LatticeArgs;
use crate::commands::compare::{known_outcomes_only, shown_proof};
use crate::exit::Exit;
use crate::found::shown;
use crate::limits::Alarm;
use crate::names;
use crate::output;
use crate::reporter::{Channel, Limited, Reporter, complain_of_limit, effort};
use crate::scope;
use crate::spec_file::OwnLevels;
use anyhow::bail;
use iso_answer::WrongEvidence;
use iso_answer::lattice::{Lattice, LatticeProgress, lattice};
use iso_answer::separate::{Aspects, Method, Scope};
use iso_evidence::Budget;
use iso_report::{
    DecidedPairs, Direction, Implied, LatticeEdge, LatticeImplication, LatticeReport, Report, SpecName, UnknownPair,
};
use iso_spec::{Catalogue, Level, Spec};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

/// A scope in which the whole catalogue takes seconds, and that separates all levels that `check` decides by name.
pub(crate) fn default_scope() -> Scope {
    Scope::up_to(4, 2, 4)
}

/// The arguments, resolved.
struct Asked<'s> {
    specs: Vec<&'s Spec>,
    scope: Scope,
    method: Method,
    is_proof_wanted: bool,
    inputs: Vec<String>,
}

/// Runs the verb.
pub(crate) fn run(raw: &LatticeArgs, started: Instant) -> anyhow::Result<Exit> {
    let own = OwnLevels::read(&raw.search.specs)?;
    let asked = Asked::resolve(raw, &own)?;
    let reporter = Arc::new(Reporter::new(&raw.search.answer, Channel::Output, started)?);
    let alarm = reporter.watch(Report::Lattice(asked.blank()));
    asked.answer(&reporter, &alarm)
}

impl<'s> Asked<'s> {
    fn resolve(raw: &LatticeArgs, own: &'s OwnLevels) -> anyhow::Result<Self> {
        let catalogue = Catalogue::builtin();
        let specs: Vec<&Spec> = if raw.all {
            catalogue.levels().chain(own.levels()).collect()
        } else if raw.levels.is_empty() {
            Level::usual().into_iter().map(|it| catalogue.of(it)).chain(own.levels()).collect()
        } else {
            names::specs(&raw.levels, own)?
        };
        if specs.len() < 2 {
            bail!("one level alone relates to nothing; name another one, or none for those that check decides");
        }
        let scope = scope::resolve(&raw.search.scope, default_scope())?;
        Ok(Self {
            specs,
            scope,
            method: scope::method(raw.search.method),
            is_proof_wanted: raw.prove,
            inputs: own.inputs(),
        })
    }

    /// The answer before anything is known.
    fn blank(&self) -> LatticeReport {
        let name = |it: &&Spec| it.name().to_owned();
        let pairs = self.specs.iter().enumerate();
        let pairs = pairs.flat_map(|(idx, left)| self.specs[idx + 1..].iter().map(move |right| (left, right)));
        let unknown = |(left, right)| UnknownPair { left: name(left), right: name(right), reason: String::new() };
        LatticeReport {
            inputs: self.inputs.clone(),
            levels: self.specs.iter().map(|it| SpecName::from(*it)).collect(),
            classes: self.specs.iter().map(|it| vec![name(it)]).collect(),
            edges: Vec::new(),
            unknown: pairs.map(unknown).collect(),
            implications: Vec::new(),
            pairs: None,
            scope: scope::document(&self.scope, Aspects::default()),
            not_certified: None,
            effort: iso_report::Effort::default(),
        }
    }

    fn answer(&self, reporter: &Reporter, alarm: &Alarm) -> anyhow::Result<Exit> {
        let stop = || alarm.reason();
        let budget = Budget::new(&stop);
        // Every level relates to itself, which nobody asks.
        let n_same = self.specs.len();
        let mut watch = |it: LatticeProgress| {
            reporter.progress.stage(format!("pairs known: {} of {}", it.n_known - n_same, it.n_pairs - n_same));
        };
        watch(LatticeProgress { n_known: n_same, n_pairs: n_same * n_same });
        let mut lattice = lattice(&self.specs, &self.scope, self.method, &budget, &mut watch);
        if self.is_proof_wanted {
            lattice.prove(&self.specs, &budget, &mut |it: LatticeProgress| {
                reporter.progress.stage(format!("proofs: {} of {}", it.n_known, it.n_pairs));
            });
        }
        let (report, notes) = self.worded(&lattice);
        let exit = reporter.publish(report.into(), notes, || Ok(Vec::new()))?;
        if let Some(reason) = alarm.reason().filter(|_| exit == Exit::Unknown) {
            complain_of_limit(&reason, Limited::Search);
        }
        Ok(exit)
    }

    /// The document, and what stands below it.
    fn worded(&self, lattice: &Lattice) -> (LatticeReport, Vec<String>) {
        let name = |spec: usize| self.specs[spec].name().to_owned();
        let mut report = LatticeReport {
            classes: lattice.classes.iter().map(|it| it.iter().map(|spec| name(*spec)).collect()).collect(),
            unknown: self.unknown(lattice),
            scope: scope::document(&self.scope, lattice.aspects),
            implications: self.implications(lattice),
            pairs: self.is_proof_wanted.then(|| {
                let pairs = lattice.pairs(self.specs.len());
                let [proved, refuted, open] = [pairs.proved, pairs.refuted, pairs.open].map(|it| it as u64);
                DecidedPairs { proved, refuted, open }
            }),
            not_certified: self.uncertified(lattice),
            effort: effort(&lattice.effort),
            ..self.blank()
        };
        let mut notes = Vec::new();
        for edge in from_the_top(lattice) {
            let (stronger, weaker) = (lattice.classes[edge.stronger][0], lattice.classes[edge.weaker][0]);
            let shown = shown(&edge.found, &[self.specs[weaker]], &[self.specs[stronger]]);
            notes.extend(shown.notes);
            let (stronger, weaker) = (edge.stronger, edge.weaker);
            report.edges.push(LatticeEdge { stronger, weaker, found: shown.document });
        }
        (report, notes)
    }

    /// How far each level implies those just below it, and those of its class.
    fn implications(&self, lattice: &Lattice) -> Vec<LatticeImplication> {
        let name = |spec: usize| self.specs[spec].name().to_owned();
        let proved = lattice.proved.iter().map(|(stronger, weaker, proof)| {
            let proof = shown_proof(self.specs[*stronger], self.specs[*weaker], proof);
            let only = known_outcomes_only(self.specs[*stronger], self.specs[*weaker]);
            let direction = Direction { implied: Implied::EverySize, proof, only, reason: None };
            LatticeImplication { stronger: name(*stronger), weaker: name(*weaker), direction }
        });
        let open = lattice.open.iter().map(|(stronger, weaker, reason)| {
            let direction = Direction { implied: Implied::UpTo, proof: None, only: None, reason: Some(reason.clone()) };
            LatticeImplication { stronger: name(*stronger), weaker: name(*weaker), direction }
        });
        proved.chain(open).collect()
    }

    /// What neither a history nor a proof shows.
    fn uncertified(&self, lattice: &Lattice) -> Option<String> {
        let words =
            if self.is_proof_wanted { "what is not proved rests on the search itself" } else { RESTS_ON_SEARCH };
        (!self.is_proof_wanted || !lattice.open.is_empty()).then(|| words.to_owned())
    }

    /// Pairs about which nothing is known, each once.
    fn unknown(&self, lattice: &Lattice) -> Vec<UnknownPair> {
        let stopped = lattice.undecided.iter().map(|(left, right, reason)| (*left, *right, reason.to_string()));
        let refused = lattice.refused.iter().map(|(left, right, wrong)| {
            output::complain(&wrong.to_string());
            (*left, *right, WrongEvidence::IN_SHORT.to_owned())
        });
        let mut seen = BTreeSet::new();
        let name = |spec: usize| self.specs[spec].name().to_owned();
        let unknown = stopped.chain(refused).filter(|it| seen.insert((it.0.min(it.1), it.0.max(it.1))));
        unknown.map(|(left, right, reason)| UnknownPair { left: name(left), right: name(right), reason }).collect()
    }
}

/// What no history shows.
const RESTS_ON_SEARCH: &str = "which levels coincide, and which imply others, rests on the search itself";

/// The edges, those of the strongest levels first, as one reads the drawing.
fn from_the_top(lattice: &Lattice) -> Vec<&iso_answer::lattice::LatticeEdge> {
    let mut depths = vec![0; lattice.classes.len()];
    // No way down is longer than there are classes.
    for _ in 0..depths.len() {
        for edge in &lattice.edges {
            depths[edge.weaker] = depths[edge.weaker].max(depths[edge.stronger] + 1);
        }
    }
    let mut edges: Vec<_> = lattice.edges.iter().collect();
    edges.sort_by_key(|it| (depths[it.stronger], it.stronger, it.weaker));
    edges
}
