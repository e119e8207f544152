//! Pictures of a found history: one for each level, with what its witness or its refutation says.

use crate::arrow::{Arrow, ArrowKind};
use crate::document::{Excerpt, Link, LinkKind, Premises, TxnRef};
use crate::found::{Found, KeyVersions, RelationShape, SpecRefutation, SpecWitness, WitnessRelation};
use crate::phrases::{Pair, anomalies, relation_words, total_order, without_initial};
use std::collections::BTreeSet;

/// The pictures of a history, with one layout for all, so that one can look from one to the other.
pub(crate) struct Panels {
    /// What decides where transactions stand.
    pub(crate) base: Excerpt,
    /// Those that allow it first.
    pub(crate) panels: Vec<Panel>,
}

/// What one level says about a history.
pub(crate) struct Panel {
    /// `Allowed by biswas.cc`.
    pub(crate) heading: String,
    pub(crate) stance: Stance,
    /// The history with a cycle, if the level forbids it by one.
    pub(crate) excerpt: Excerpt,
    /// Arrows that are there besides: a session order that is no chains, and relations of the witness.
    pub(crate) thin: Vec<Arrow>,
    /// Places of transactions in the witness's order.
    pub(crate) order: Option<Numbering>,
    /// What the evidence says, in words.
    pub(crate) captions: Vec<String>,
    /// Is there something to see, so that the history is worth being drawn once more?
    pub(crate) is_drawn: bool,
}

/// Failures beyond these are only counted in a picture.
const MAX_FAILURES: usize = 12;

/// Does a level allow the history?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stance {
    Allowed,
    Forbidden,
}

/// Transactions with their numbers in an order.
pub(crate) struct Numbering {
    /// The name of the order: `co`.
    pub(crate) name: String,
    /// The transactions, the first one first.
    pub(crate) order: Vec<String>,
}

impl Panels {
    pub(crate) fn new(found: &Found) -> Self {
        let before = |(from, to): &(String, String)| (TxnRef::Txn(from.clone()), TxnRef::Txn(to.clone()));
        let pairs: Vec<(TxnRef, TxnRef)> = found.session_order.iter().map(before).collect();
        let so: Vec<Arrow> = pairs.iter().map(|it| Arrow::new(it.0.clone(), it.1.clone(), None)).collect();
        let mut base = found.as_excerpt();
        if let Some(refutation) = found.refutations.first() {
            base.cycle.clone_from(&refutation.cycle);
            base.local.clone_from(&refutation.local);
        }
        base.cycle.extend(pairs.into_iter().map(session_link));
        let allowed = found.witnesses.iter().map(|it| of_witness(found, it, &so));
        let forbidden = found.refutations.iter().map(|it| of_refutation(found, it, &so));
        let mut panels: Vec<Panel> = allowed.chain(forbidden).collect();
        for panel in &mut panels {
            let has_arrows = panel.thin.len() > so.len() || !panel.excerpt.cycle.is_empty();
            panel.is_drawn = has_arrows || panel.order.is_some() || panel.excerpt.local.is_some();
        }
        if !panels.iter().any(|it| it.is_drawn)
            && let Some(first) = panels.first_mut()
        {
            first.is_drawn = true;
        }
        Self { base, panels }
    }
}

/// That one transaction stands before another, for a layout.
fn session_link((from, to): (TxnRef, TxnRef)) -> Link {
    Link {
        from,
        to,
        kind: LinkKind::SessionOrder,
        key: None,
        because: String::new(),
        shown_by: None,
        premises: Premises::default(),
    }
}

/// An arrow of a witness relation.
fn arrow(name: &str, (from, to): Pair<'_>) -> Arrow {
    Arrow { kind: ArrowKind::Relation(name.to_owned()), ..Arrow::new(from.clone(), to.clone(), None) }
}

/// An arrow between neighbours in an order.
fn steps(order: &[String]) -> impl Iterator<Item = Arrow> {
    let txn = |it: &String| TxnRef::Txn(it.clone());
    order.windows(2).map(move |it| Arrow::new(txn(&it[0]), txn(&it[1]), None))
}

fn of_witness(found: &Found, witness: &SpecWitness, so: &[Arrow]) -> Panel {
    let txns = found.txns();
    let mut panel = Panel {
        heading: format!("Allowed by {}", witness.level),
        stance: Stance::Allowed,
        excerpt: found.as_excerpt(),
        thin: so.to_vec(),
        order: None,
        captions: witness.relations.iter().map(|it| relation_words(it, &txns)).collect(),
        is_drawn: true,
    };
    for relation in &witness.relations {
        panel.show(relation, &txns);
    }
    panel
}

impl Panel {
    /// Draws a relation: the first total order as numbers, everything else as arrows.
    fn show(&mut self, relation: &WitnessRelation, txns: &[TxnRef]) {
        let name = &relation.name;
        match &relation.shape {
            RelationShape::Order(order) if self.order.is_none() => self.number(name, order),
            RelationShape::Order(order) => {
                let kind = ArrowKind::Relation(name.clone());
                self.thin.extend(steps(order).map(|it| Arrow { kind: kind.clone(), ..it }));
            }
            RelationShape::Versions(keys) => {
                let kind = ArrowKind::Dependency(LinkKind::VersionOrder);
                for KeyVersions { key, writers } in keys {
                    let arrow = |it: Arrow| Arrow { kind: kind.clone(), key: Some(key.clone()), ..it };
                    self.thin.extend(steps(writers).map(arrow));
                }
            }
            RelationShape::Pairs(pairs) => self.show_pairs(name, &without_initial(pairs, txns), txns),
        }
    }

    fn show_pairs(&mut self, name: &str, pairs: &[Pair<'_>], txns: &[TxnRef]) {
        match total_order(pairs, txns) {
            // It says the same as the numbers that are there already.
            Some(order) if self.order.as_ref().is_some_and(|it| is_same(&it.order, &order)) => {}
            Some(order) if self.order.is_none() => {
                let order: Vec<String> = order.into_iter().map(ToString::to_string).collect();
                self.number(name, &order);
            }
            _ => {
                let (drawn, is_reduced) = reduced(pairs);
                self.thin.extend(drawn.iter().map(|it| arrow(name, *it)));
                if is_reduced {
                    self.captions.push(format!("Arrows of {name} that follow from others are not drawn."));
                }
            }
        }
    }

    fn number(&mut self, name: &str, order: &[String]) {
        self.order = Some(Numbering { name: name.to_owned(), order: order.to_vec() });
    }
}

fn is_same(order: &[String], txns: &[&TxnRef]) -> bool {
    order.len() == txns.len() && order.iter().zip(txns).all(|(id, txn)| txn.is(id))
}

/// The pairs of a transitive relation that do not follow from others; all pairs of any other one.
fn reduced<'p>(pairs: &[Pair<'p>]) -> (Vec<Pair<'p>>, bool) {
    let set: BTreeSet<Pair<'_>> = pairs.iter().copied().collect();
    let after = |from: &TxnRef| pairs.iter().filter(|it| it.0 == from).map(|it| it.1).collect::<Vec<_>>();
    let is_transitive = pairs.iter().all(|(from, to)| after(to).iter().all(|it| set.contains(&(*from, *it))));
    let is_acyclic = pairs.iter().all(|(from, to)| from != to && !set.contains(&(*to, *from)));
    if !is_transitive || !is_acyclic {
        return (pairs.to_vec(), false);
    }
    let follows = |(from, to): Pair<'_>| after(from).iter().any(|between| set.contains(&(*between, to)));
    let kept: Vec<Pair<'p>> = pairs.iter().copied().filter(|it| !follows(*it)).collect();
    let is_reduced = kept.len() < pairs.len();
    (kept, is_reduced)
}

fn of_refutation(found: &Found, refutation: &SpecRefutation, so: &[Arrow]) -> Panel {
    let mut excerpt = found.as_excerpt();
    excerpt.cycle.clone_from(&refutation.cycle);
    excerpt.local.clone_from(&refutation.local);
    let mut captions: Vec<String> = Vec::new();
    captions.extend((!refutation.summary.is_empty()).then(|| refutation.summary.clone()));
    captions.extend(refutation.local.iter().map(|it| format!("{}.", it.because)));
    let shown = refutation.failures.iter().take(MAX_FAILURES);
    captions.extend(shown.map(|it| format!("{} fails: {}.", it.witness, it.because)));
    let n_more = refutation.omitted + refutation.failures.len().saturating_sub(MAX_FAILURES);
    captions.extend((n_more > 0).then(|| format!("And {n_more} more.")));
    Panel {
        heading: format!("Forbidden by {}{}", refutation.level, anomalies(refutation)),
        stance: Stance::Forbidden,
        excerpt,
        thin: so.to_vec(),
        order: None,
        captions,
        is_drawn: true,
    }
}
