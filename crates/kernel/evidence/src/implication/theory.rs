//! What a proof may use, and what it has to show: clauses, and obligations, made from the texts of two levels and of a
//! construction.

use super::construction::{Construction, Texts};
use super::legal::legal;
use super::normal;
use super::sentence::{Node, Point, Side, Translator, bound};
use super::show::Shown;
use super::term::{Clause, Function, Predicate, congruence, function_congruence, transitivity};
use iso_spec::{DirtyReads, Formula, HiddenRows, Relation, Sort, Spec, WitnessKind};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// Where a clause may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It holds by what its symbols mean.
    Law,
    /// It holds from here on.
    Hypothesis,
    /// It is the negation of what this obligation has to show.
    Goal(usize),
}

/// Something that has to be shown: its negation and what holds before have no model.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// What it says.
    pub title: String,
    /// Hypotheses among so many first clauses hold.
    n_before: usize,
}

/// Everything about "the stronger level implies the weaker one, by this construction".
#[derive(Debug)]
pub struct Theory {
    /// Names of elements; the first is the initial transaction.
    pub functions: Vec<Function>,
    /// What may be used, and what is to be refuted.
    pub clauses: Vec<Clause>,
    uses: Vec<Use>,
    /// What the clauses are parts of.
    pub sentences: Vec<String>,
    /// What has to be shown.
    pub obligations: Vec<Obligation>,
    /// Sentences of the stronger level that are not used, and why.
    pub unused: Vec<(String, String)>,
    pub(super) names: Shown,
    /// Sorts of the prefixes that the weaker level asks for: what each depends on.
    asked_prefixes: Vec<Vec<Sort>>,
    /// Closures: those of the stronger level come first.
    n_closures: [usize; 2],
    n_own_prefixes: usize,
    steps: Vec<usize>,
    /// Parts of sentences that have a number.
    n_cases: usize,
    translator: Translator,
}

impl Theory {
    /// Reads the texts.
    ///
    /// Nothing is believed that the texts do not say; the error says which part of them cannot be used.
    pub fn new(stronger: &Spec, weaker: &Spec, construction: &Construction) -> Result<Self, String> {
        if stronger.dirty_reads() == DirtyReads::Allowed && weaker.dirty_reads() == DirtyReads::Forbidden {
            return Err(format!("{} allows dirty reads, and {} does not", stronger.name(), weaker.name()));
        }
        // Who hides rows leaves reads out, and fewer reads are a part of the history: only the other direction says nothing.
        if stronger.hidden_rows() == HiddenRows::Allowed && weaker.hidden_rows() == HiddenRows::Forbidden {
            return Err(format!("{} allows hidden rows, and {} does not", stronger.name(), weaker.name()));
        }
        let mut theory = Self::empty(stronger, weaker);
        theory.suppose_histories(stronger)?;
        theory.suppose_level(stronger);
        theory.name_symbols();
        let texts = Texts::new(stronger, &theory.names)?;
        let construction = theory.read(&texts, weaker, construction)?;
        for order in &construction.orders {
            theory.steps.push(theory.obligations.len());
            theory.extend(order)?;
        }
        for (closure, within) in &construction.bounds {
            theory.steps.push(theory.obligations.len());
            theory.bound_closure(*closure, within)?;
        }
        theory.steps.push(theory.obligations.len());
        theory.show_level(weaker)?;
        theory.asked_prefixes = theory.translator.asked_prefixes.iter().map(|it| it.parameters.clone()).collect();
        theory.add_laws()?;
        Ok(theory)
    }

    /// Where the obligations of each order begin, then those of each bound, then those of the weaker level.
    pub fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// May the obligation use the clause?
    pub fn may_use(&self, obligation: usize, clause: usize) -> bool {
        match self.uses[clause] {
            Use::Law => true,
            Use::Hypothesis => clause < self.obligations[obligation].n_before,
            Use::Goal(of) => of == obligation,
        }
    }

    /// Is the clause a part of what is to be refuted?
    pub fn is_goal(&self, clause: usize) -> bool {
        matches!(self.uses[clause], Use::Goal(_))
    }

    /// How many closures the stronger level has, and how many there are in all.
    pub fn n_closures(&self) -> [usize; 2] {
        self.n_closures
    }

    /// Does this closure speak of the weaker level's witness?
    pub fn is_closure_of_weaker(&self, closure: usize) -> bool {
        self.translator.closures[closure].side == Side::Weaker
    }

    /// What each prefix depends on that the weaker level asks for.
    pub fn asked_prefixes(&self) -> &[Vec<Sort>] {
        &self.asked_prefixes
    }

    /// The names of the stronger level's prefixes that depend on one transaction.
    pub fn own_prefixes(&self) -> Vec<String> {
        let is_relation = |it: &usize| self.translator.prefixes[*it].parameters == [Sort::Txn];
        (0..self.n_own_prefixes).filter(is_relation).map(|it| format!("prefix_{}", it + 1)).collect()
    }

    fn empty(stronger: &Spec, weaker: &Spec) -> Self {
        let kinds = |spec: &Spec| spec.witnesses().iter().map(|it| it.kind).collect::<Vec<WitnessKind>>();
        let initial = Function { name: "t0".to_owned(), parameters: Vec::new(), sort: Sort::Txn };
        Self {
            functions: vec![initial],
            clauses: Vec::new(),
            uses: Vec::new(),
            sentences: Vec::new(),
            obligations: Vec::new(),
            unused: Vec::new(),
            names: Shown::new(stronger, weaker),
            asked_prefixes: Vec::new(),
            n_closures: [0, 0],
            n_own_prefixes: 0,
            steps: Vec::new(),
            n_cases: 0,
            translator: Translator::new(kinds(stronger), kinds(weaker)),
        }
    }

    fn suppose_histories(&mut self, stronger: &Spec) -> Result<(), String> {
        for spec in histories() {
            if spec.short_name() == "sourced" && stronger.dirty_reads() == DirtyReads::Allowed {
                continue;
            }
            let node = self.translator.sentence(spec.formula(), Side::Stronger, true)?;
            self.add(&node, format!("histories: {}", spec.short_name()), Use::Hypothesis)?;
        }
        self.translator.are_reads_triples = stronger.dirty_reads() == DirtyReads::Forbidden;
        Ok(())
    }

    fn suppose_level(&mut self, stronger: &Spec) {
        let mut parts: Vec<(String, Arc<Formula>)> = Vec::new();
        for (idx, witness) in stronger.witnesses().iter().enumerate() {
            let name = format!("{} is {}", witness.name, Shown::kind(witness.kind));
            parts.extend(legal(idx, witness.kind).into_iter().map(|it| (name.clone(), it)));
        }
        for formula in stronger.requirements().iter().chain([stronger.formula()]) {
            let mut conjuncts = Vec::new();
            split(formula, &mut conjuncts);
            parts.extend(conjuncts.into_iter().map(|it| (self.names.formula(&it, Side::Stronger), it)));
        }
        for (title, formula) in parts {
            let node = self.translator.sentence(&formula, Side::Stronger, true);
            if let Err(why) = node.and_then(|it| self.add(&it, title.clone(), Use::Hypothesis)) {
                self.unused.push((title, why));
            }
        }
    }

    /// Gives closures and prefixes of the stronger level names that a construction can use.
    fn name_symbols(&mut self) {
        self.n_closures[0] = self.translator.closures.len();
        self.n_own_prefixes = self.translator.prefixes.len();
        for closure in 0..self.n_closures[0] {
            self.names.extra.push(format!("closure_{}", closure + 1));
            self.translator.extra.push(Predicate::Closure(closure));
        }
        for prefix in 0..self.n_own_prefixes {
            if self.translator.prefixes[prefix].parameters == [Sort::Txn] {
                self.names.extra.push(format!("prefix_{}", prefix + 1));
                self.translator.extra.push(Predicate::Prefix(prefix));
            }
        }
    }

    fn read(&mut self, texts: &Texts, weaker: &Spec, construction: &Construction) -> Result<Read, String> {
        for order in 0..construction.orders.len() {
            self.names.extra.push(format!("order_{}", order + 1));
            self.translator.extra.push(Predicate::Order(order));
        }
        let names = &self.names.extra;
        if construction.made.len() != weaker.witnesses().len() {
            return Err(format!("{} parts of a witness have to be made", weaker.witnesses().len()));
        }
        for (witness, text) in weaker.witnesses().iter().zip(&construction.made) {
            let made = texts.made(text, names, witness.kind)?;
            self.translator.made.push(made);
        }
        // Which prefixes are asked for is known once the level was read.
        for formula in weaker.requirements().iter().chain([weaker.formula()]) {
            let mut conjuncts = Vec::new();
            split(formula, &mut conjuncts);
            for conjunct in conjuncts {
                self.translator.sentence(&conjunct, Side::Weaker, false)?;
            }
        }
        let asked: Vec<Vec<Sort>> = self.translator.asked_prefixes.iter().map(|it| it.parameters.clone()).collect();
        for (sorts, text) in asked.iter().zip(&construction.prefixes) {
            let made = text.as_ref().map(|it| texts.prefix(it, &self.names.extra, sorts)).transpose()?;
            self.translator.made_prefixes.push(made);
        }
        let mut orders = Vec::new();
        for (idx, text) in construction.orders.iter().enumerate() {
            // An order speaks of those before it.
            let n_names = self.names.extra.len() - construction.orders.len() + idx;
            orders.push((idx, texts.relation(text, &self.names.extra[..n_names])?, text.clone()));
        }
        let mut bounds = Vec::new();
        for (closure, text) in &construction.bounds {
            bounds.push((*closure, (texts.relation(text, &self.names.extra)?, text.clone())));
        }
        Ok(Read { orders, bounds })
    }

    /// Shows that a relation is a strict order, and supposes a total one that contains it.
    fn extend(&mut self, order: &(usize, Arc<Relation>, String)) -> Result<(), String> {
        let (idx, relation, text) = order;
        for formula in [Formula::Irreflexive(Arc::clone(relation)), Formula::Transitive(Arc::clone(relation))] {
            let what = if matches!(formula, Formula::Irreflexive(_)) { "irreflexive" } else { "transitive" };
            self.oblige(&formula, Side::Stronger, &format!("{what}({text})"))?;
        }
        let ends = [self.translator.fresh(Sort::Txn), self.translator.fresh(Sort::Txn)];
        let points = ends.map(Point::Bound);
        let premise = self.translator.pair(relation, Side::Stronger, points, false)?;
        let conclusion = Node::Literal(Predicate::Order(*idx), points.to_vec(), true);
        let contains = for_both(ends, Node::Any(vec![premise, conclusion]));
        self.add(&contains, format!("order_{} extends {text}", idx + 1), Use::Hypothesis)?;
        let own = self.translator.own.len();
        let at = self.translator.extra.iter().position(|it| *it == Predicate::Order(*idx)).expect("it has a name");
        for formula in legal(own + at, WitnessKind::Order).into_iter().take(3) {
            let node = self.translator.sentence(&formula, Side::Stronger, true)?;
            self.add(&node, format!("order_{} is an order", idx + 1), Use::Hypothesis)?;
        }
        Ok(())
    }

    /// Shows that a relation is transitive and contains another one, and supposes that it contains its closure.
    fn bound_closure(&mut self, closure: usize, within: &(Arc<Relation>, String)) -> Result<(), String> {
        let (relation, text) = within;
        let of = self.translator.closures.get(closure).cloned().ok_or("there is no such closure")?;
        let inner = self.names.relation(&of.relation, of.side);
        self.oblige(&Formula::Transitive(Arc::clone(relation)), Side::Stronger, &format!("transitive({text})"))?;
        let ends = [self.translator.fresh(Sort::Txn), self.translator.fresh(Sort::Txn)];
        let points = ends.map(Point::Bound);
        let is_step = self.translator.pair(&of.relation, of.side, points, true)?;
        let is_missing = self.translator.pair(relation, Side::Stronger, points, false)?;
        self.goal(&for_some(ends, Node::All(vec![is_step, is_missing])), &format!("{inner} in {text}"))?;
        let premise = Node::Literal(Predicate::Closure(closure), points.to_vec(), false);
        let conclusion = self.translator.pair(relation, Side::Stronger, points, true)?;
        let node = for_both(ends, Node::Any(vec![premise, conclusion]));
        self.add(&node, format!("({inner})+ in {text}"), Use::Hypothesis)
    }

    fn show_level(&mut self, weaker: &Spec) -> Result<(), String> {
        for (idx, witness) in weaker.witnesses().iter().enumerate() {
            for formula in legal(idx, witness.kind) {
                let title = format!("{} is {}", witness.name, Shown::kind(witness.kind));
                self.oblige(&formula, Side::Weaker, &title)?;
            }
        }
        for formula in weaker.requirements().iter().chain([weaker.formula()]) {
            let mut conjuncts = Vec::new();
            split(formula, &mut conjuncts);
            for conjunct in conjuncts {
                let title = self.names.formula(&conjunct, Side::Weaker);
                self.oblige(&conjunct, Side::Weaker, &title)?;
            }
        }
        Ok(())
    }

    fn oblige(&mut self, formula: &Formula, side: Side, title: &str) -> Result<(), String> {
        let node = self.translator.sentence(formula, side, false)?;
        self.goal(&node, title)
    }

    fn goal(&mut self, negation: &Node, title: &str) -> Result<(), String> {
        let n_before = self.clauses.len();
        for case in normal::cases(negation) {
            self.obligations.push(Obligation { title: title.to_owned(), n_before });
            self.add(&case, format!("not: {title}"), Use::Goal(self.obligations.len() - 1))?;
        }
        Ok(())
    }

    fn add(&mut self, node: &Node, title: String, in_use: Use) -> Result<(), String> {
        let origin = self.sentences.len();
        let clauses =
            normal::clauses(node, &mut self.functions, &mut self.n_cases, origin).ok_or("it has too many clauses")?;
        self.sentences.push(title);
        self.uses.extend(clauses.iter().map(|_| in_use));
        self.clauses.extend(clauses);
        Ok(())
    }

    /// What closures and equality mean.
    fn add_laws(&mut self) -> Result<(), String> {
        let mut next = 0;
        while let Some(closure) = self.translator.closures.get(next).cloned() {
            let shown = self.names.relation(&closure.relation, closure.side);
            let sort = closure.relation.sorts().0;
            let ids = [(); 3].map(|()| self.translator.fresh(sort));
            let [a, b, c] = ids.map(Point::Bound);
            let is = |from, to, sign| Node::Literal(Predicate::Closure(next), vec![from, to], sign);
            let step = self.translator.pair(&closure.relation, closure.side, [a, b], false)?;
            let first = Node::Any(vec![step, is(a, b, true)]);
            let then = Node::Any(vec![is(a, b, false), is(b, c, false), is(a, c, true)]);
            for node in [first, then] {
                let closed = ids.iter().fold(node, |body, id| bound(*id, sort, &Arc::from("t"), false, body));
                self.add(&closed, format!("({shown})+ is a closure"), Use::Law)?;
            }
            next += 1;
        }
        self.n_closures[1] = next;
        self.add_equality();
        Ok(())
    }

    fn add_equality(&mut self) {
        let origin = self.sentences.len();
        self.sentences.push("equality".to_owned());
        let used: BTreeSet<Predicate> =
            self.clauses.iter().flat_map(|it| it.literals.iter().map(|it| it.predicate)).collect();
        let mut laws: Vec<Clause> = [Sort::Txn, Sort::Key, Sort::Read].map(|it| transitivity(it, origin)).into();
        for predicate in used {
            laws.extend(congruence(predicate, &self.sorts(predicate), origin));
        }
        for (number, function) in self.functions.iter().enumerate() {
            laws.extend(function_congruence(number, function, origin));
        }
        self.uses.extend(laws.iter().map(|_| Use::Law));
        self.clauses.extend(laws);
    }

    /// The sorts of what a predicate speaks of; equality has laws of its own.
    fn sorts(&self, predicate: Predicate) -> Vec<Sort> {
        match predicate {
            Predicate::Equal(_) | Predicate::Some(_) | Predicate::Case(_) => Vec::new(),
            Predicate::Given(given) => vec![given.sorts().0, given.sorts().1],
            Predicate::At(_) => vec![Sort::Key, Sort::Txn, Sort::Txn],
            Predicate::Closure(number) => vec![self.translator.closures[number].relation.sorts().0; 2],
            Predicate::Order(_) => vec![Sort::Txn; 2],
            Predicate::Prefix(number) => {
                std::iter::once(Sort::Txn).chain(self.translator.prefixes[number].parameters.iter().copied()).collect()
            }
        }
    }
}

/// The texts of a construction, read.
struct Read {
    orders: Vec<(usize, Arc<Relation>, String)>,
    bounds: Vec<(usize, (Arc<Relation>, String))>,
}

fn for_both(ids: [u32; 2], node: Node) -> Node {
    ids.iter().fold(node, |body, id| bound(*id, Sort::Txn, &Arc::from("t"), false, body))
}

fn for_some(ids: [u32; 2], node: Node) -> Node {
    ids.iter().fold(node, |body, id| bound(*id, Sort::Txn, &Arc::from("t"), true, body))
}

/// The parts of a conjunction, also below "for all".
fn split(formula: &Arc<Formula>, parts: &mut Vec<Arc<Formula>>) {
    match &**formula {
        Formula::And(left, right) => {
            split(left, parts);
            split(right, parts);
        }
        _ => parts.push(Arc::clone(formula)),
    }
}

/// What is true of every history.
fn histories() -> &'static [Spec] {
    static READ: OnceLock<Vec<Spec>> = OnceLock::new();
    READ.get_or_init(|| {
        let module = iso_spec::parse(super::HISTORIES, "history.spec", &mut |_| Err("no files".to_owned()));
        module.expect("the sentences about histories are well-formed").levels().to_vec()
    })
}
