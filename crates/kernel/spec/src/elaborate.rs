//! From a checked level to its typed tree: fills in definitions and gives every variable a number.

use crate::builtin::{Builtin, Predicate};
use crate::error::{Problem, Span};
use crate::formula::{Elem, Formula, Given, Relation, Set, Variable, Witness};
use crate::module::{Module, Resolved, witnesses};
use crate::program::Program;
use crate::spec::{About, Body, Definition, DirtyReads, HiddenRows, Spec};
use crate::syntax::{Binary, Binder, Expr, ExprKind, ItemKind, Name, Postfix, Quantifier};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A level that fills more nodes than this is a mistake.
const MAX_NODES: usize = 20_000;
/// Definitions in definitions nest no deeper than this, and neither do the trees that come out.
const MAX_DEPTH: usize = 300;

/// Makes the spec of the level at `item_idx` of a checked module.
pub(crate) fn elaborate_level(module: &Module, item_idx: usize) -> Result<Spec, Problem> {
    let item = &module.items[item_idx];
    let ItemKind::Level { framework, body, dirty_reads, hidden_rows, .. } = &item.kind else {
        unreachable!("only levels are elaborated")
    };
    let (home, framework_idx) = module.framework(framework).expect("the checker found the framework");
    let framework = &home.items[framework_idx];
    let mut elaborator = Elaborator::new(witnesses(framework));
    let stop = |it: Stop| it.problem(item.name_span, &framework.name);
    let ItemKind::Framework { requirements, .. } = &framework.kind else { unreachable!("a framework") };
    elaborator.used.push(framework.span.text(&home.text).to_owned());
    let mut required = Vec::new();
    for requirement in requirements {
        let scope = Scope { module: home, item_idx: framework_idx };
        required.push(elaborator.formula(scope, &mut Vec::new(), requirement).map_err(stop)?);
    }
    let scope = Scope { module, item_idx };
    let formula = elaborator.formula(scope, &mut Vec::new(), body).map_err(stop)?;
    let witnesses: Vec<Witness> =
        witnesses(framework).iter().map(|it| Witness { name: it.name.clone(), kind: it.kind }).collect();
    let program = Program::compile(&witnesses, &required, &formula)
        .map_err(|why| Problem::new(item.name_span, why, "name its parts with `def`, or use fewer variables"))?;
    Ok(Spec {
        name: format!("{}.{}", module.name, item.name),
        module_len: module.name.len(),
        framework: framework.name.clone(),
        witnesses,
        dirty_reads: if *dirty_reads { DirtyReads::Allowed } else { DirtyReads::Forbidden },
        hidden_rows: if *hidden_rows { HiddenRows::Allowed } else { HiddenRows::Forbidden },
        about: About::from_docs(&item.docs),
        text: item.span.text(&module.text).to_owned(),
        uses: elaborator.used,
        definitions: elaborator.definitions,
        requirements: required,
        formula,
        program: Arc::new(program),
    })
}

/// Where an expression stands, which says what its names mean.
#[derive(Clone, Copy)]
struct Scope<'m> {
    module: &'m Module,
    item_idx: usize,
}

#[derive(Clone)]
enum Value {
    Elem(Elem),
    Set(Arc<Set>),
    Relation(Arc<Relation>),
    Formula(Arc<Formula>),
}

impl Value {
    fn as_elem(&self) -> Option<Elem> {
        match self {
            Self::Elem(elem) => Some(*elem),
            _ => None,
        }
    }
}

impl Definition {
    /// A definition of a formula or relation that was filled in; others need no name.
    fn new(name: &str, arguments: Vec<Elem>, value: &Value) -> Option<Self> {
        let body = match value {
            Value::Relation(relation) => Body::Relation(Arc::clone(relation)),
            Value::Formula(formula) => Body::Formula(Arc::clone(formula)),
            Value::Elem(_) | Value::Set(_) => return None,
        };
        Some(Self { name: name.to_owned(), arguments, body })
    }
}

enum Stop {
    NoWitness(String),
    TooLarge,
}

impl Stop {
    fn problem(self, at: Span, framework: &str) -> Problem {
        match self {
            Self::NoWitness(name) => Problem::new(
                at,
                format!("the level uses `{name}`, which framework `{framework}` does not have"),
                "choose another framework after `in`, or other definitions",
            ),
            Self::TooLarge => Problem::new(
                at,
                "the level is too large once its definitions are filled in",
                "definitions that use others twice double each time",
            ),
        }
    }
}

/// Values of names, with the heights of their trees.
type Env = Vec<(String, Value, usize)>;

struct Elaborator<'m> {
    witnesses: &'m [crate::syntax::Declared],
    /// Values of definitions without parameters, by module and place in it.
    shared: BTreeMap<(*const Module, usize), (Value, usize)>,
    /// Texts of what was used, a definition after those that it uses.
    used: Vec<String>,
    definitions: Vec<Definition>,
    n_nodes: usize,
    n_variables: u32,
    depth: usize,
    /// The height of the highest tree that was made or used at the present depth.
    height: usize,
}

impl<'m> Elaborator<'m> {
    fn new(witnesses: &'m [crate::syntax::Declared]) -> Self {
        let (shared, used, definitions) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { witnesses, shared, used, definitions, n_nodes: 0, n_variables: 0, depth: 0, height: 0 }
    }

    fn count(&mut self) -> Result<(), Stop> {
        self.n_nodes += 1;
        if self.n_nodes > MAX_NODES || self.depth > MAX_DEPTH { Err(Stop::TooLarge) } else { Ok(()) }
    }

    fn formula(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<Arc<Formula>, Stop> {
        match self.value(scope, env, expr)? {
            Value::Formula(formula) => Ok(formula),
            _ => unreachable!("the checker found a formula"),
        }
    }

    fn relation(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<Arc<Relation>, Stop> {
        match self.value(scope, env, expr)? {
            Value::Relation(relation) => Ok(relation),
            _ => unreachable!("the checker found a relation"),
        }
    }

    fn elem(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<Elem, Stop> {
        match self.value(scope, env, expr)? {
            Value::Elem(elem) => Ok(elem),
            _ => unreachable!("the checker found an element"),
        }
    }

    fn value(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<Value, Stop> {
        Ok(self.value_and_height(scope, env, expr)?.0)
    }

    fn value_and_height(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<(Value, usize), Stop> {
        self.depth += 1;
        self.count()?;
        let beside = std::mem::replace(&mut self.height, 0);
        let value = self.value_inside(scope, env, expr)?;
        let height = self.height + 1;
        if height > MAX_DEPTH {
            return Err(Stop::TooLarge);
        }
        self.height = beside.max(height);
        self.depth -= 1;
        Ok((value, height))
    }

    fn value_inside(&mut self, scope: Scope<'_>, env: &mut Env, expr: &Expr) -> Result<Value, Stop> {
        match &expr.kind {
            ExprKind::Truth(truth) => Ok(formula(Formula::Truth(*truth))),
            ExprKind::Not(of) => Ok(formula(Formula::Not(self.formula(scope, env, of)?))),
            ExprKind::Name(name) => self.name(scope, env, name),
            ExprKind::Apply(callee, args) => self.apply(scope, env, callee, args),
            ExprKind::Index(callee, args) => self.index(scope, env, callee, args),
            ExprKind::Tuple(_) => unreachable!("the checker refuses lone pairs"),
            ExprKind::Quantified(quantifier, binders, body) => {
                let (variables, body) = self.bind(scope, env, binders, body)?;
                Ok(formula(match quantifier {
                    Quantifier::Forall => Formula::Forall(variables, body),
                    Quantifier::Exists => Formula::Exists(variables, body),
                }))
            }
            ExprKind::Such(binders, body) => {
                let (mut variables, body) = self.bind(scope, env, binders, body)?;
                let last = variables.pop().expect("the parser wants a binder");
                Ok(match variables.pop() {
                    None => Value::Set(Arc::new(Set::Such(last, body))),
                    Some(first) => relation(Relation::Such(first, last, body)),
                })
            }
            ExprKind::On(of) => match self.value(scope, env, of)? {
                Value::Set(set) => Ok(relation(Relation::On(set))),
                _ => unreachable!("the checker found a set"),
            },
            ExprKind::Postfix(postfix, of) => {
                let of = self.relation(scope, env, of)?;
                Ok(relation(match postfix {
                    Postfix::Inverse => Relation::Inverse(of),
                    Postfix::Closure => Relation::Closure(of),
                    Postfix::Reflexive => Relation::Reflexive(of),
                    Postfix::ReflexiveClosure => Relation::Reflexive(Arc::new(Relation::Closure(of))),
                }))
            }
            ExprKind::Binary(Binary::In, left, right) => self.within(scope, env, left, right),
            ExprKind::Binary(operator, left, right) => {
                let left = self.value(scope, env, left)?;
                let right = self.value(scope, env, right)?;
                Ok(combine(*operator, left, right))
            }
        }
    }

    fn bind(
        &mut self,
        scope: Scope<'_>,
        env: &mut Env,
        binders: &[Binder],
        body: &Expr,
    ) -> Result<(Vec<Variable>, Arc<Formula>), Stop> {
        let mark = env.len();
        let mut variables = Vec::new();
        for binder in binders {
            let sort = scope.module.sorts[binder.id as usize];
            variables.push(Variable { id: self.n_variables, sort, name: binder.name.as_str().into() });
            env.push((binder.name.clone(), Value::Elem(Elem::Var(self.n_variables)), 0));
            self.n_variables += 1;
        }
        let body = self.formula(scope, env, body)?;
        env.truncate(mark);
        Ok((variables, body))
    }

    fn within(&mut self, scope: Scope<'_>, env: &mut Env, left: &Expr, right: &Expr) -> Result<Value, Stop> {
        if let ExprKind::Tuple(parts) = &left.kind {
            let first = self.elem(scope, env, &parts[0])?;
            let second = self.elem(scope, env, &parts[1])?;
            let of = self.relation(scope, env, right)?;
            return Ok(formula(Formula::Related(of, first, second)));
        }
        let left = self.value(scope, env, left)?;
        let right = self.value(scope, env, right)?;
        Ok(formula(subset(left, right)))
    }

    fn local<'e>(env: &'e Env, name: &Name) -> Option<&'e (String, Value, usize)> {
        if name.module.is_some() {
            return None;
        }
        env.iter().rev().find(|it| it.0 == name.name)
    }

    fn name(&mut self, scope: Scope<'_>, env: &Env, name: &Name) -> Result<Value, Stop> {
        if let Some((_, value, height)) = Self::local(env, name) {
            self.height = self.height.max(*height);
            return Ok(value.clone());
        }
        match scope.module.resolve(name, scope.item_idx) {
            Ok(Resolved::Witness(_)) => Ok(relation(Relation::Given(self.witness(&name.name)?))),
            Ok(Resolved::Builtin(Builtin::Given(given))) => Ok(relation(Relation::Given(given))),
            Ok(Resolved::Builtin(Builtin::InitialTxn)) => Ok(Value::Elem(Elem::Initial)),
            Ok(Resolved::Builtin(Builtin::InitialSet)) => Ok(Value::Set(Arc::new(Set::Initial))),
            Ok(Resolved::Item(module, item_idx)) => self.call(Scope { module, item_idx }, Vec::new()),
            _ => unreachable!("the checker resolved the name"),
        }
    }

    fn witness(&self, name: &str) -> Result<Given, Stop> {
        let found = self.witnesses.iter().position(|it| it.name == name);
        found.map(Given::Witness).ok_or_else(|| Stop::NoWitness(name.to_owned()))
    }

    /// The value of a definition or level; without arguments it is made once and shared.
    fn call(&mut self, home: Scope<'_>, args: Vec<(Value, usize)>) -> Result<Value, Stop> {
        let item = &home.module.items[home.item_idx];
        let id = (std::ptr::from_ref(home.module), home.item_idx);
        let is_shared = args.is_empty();
        let elems: Option<Vec<Elem>> = args.iter().map(|it| it.0.as_elem()).collect();
        if is_shared && let Some((value, height)) = self.shared.get(&id) {
            self.height = self.height.max(*height);
            return Ok(value.clone());
        }
        let (body, mut env) = match &item.kind {
            ItemKind::Def { params, body } => {
                let named = params.iter().zip(args).map(|(param, (value, height))| (param.name.clone(), value, height));
                (body, named.collect())
            }
            ItemKind::Level { body, .. } => (body, Env::new()),
            _ => unreachable!("only definitions and levels have a value"),
        };
        let (value, height) = self.value_and_height(home, &mut env, body)?;
        let text = item.span.text(&home.module.text);
        if !self.used.iter().any(|it| it == text) {
            self.used.push(text.to_owned());
        }
        if is_shared {
            self.shared.insert(id, (value.clone(), height));
        }
        if let (ItemKind::Def { .. }, Some(arguments)) = (&item.kind, elems) {
            self.definitions.extend(Definition::new(&item.name, arguments, &value));
        }
        Ok(value)
    }

    fn apply(&mut self, scope: Scope<'_>, env: &mut Env, callee: &Expr, args: &[Expr]) -> Result<Value, Stop> {
        if let ExprKind::Name(name) = &callee.kind
            && Self::local(env, name).is_none()
        {
            match scope.module.resolve(name, scope.item_idx) {
                Ok(Resolved::Builtin(Builtin::Predicate(predicate))) => {
                    let arg = self.value(scope, env, &args[0])?;
                    return Ok(formula(property(predicate, arg)));
                }
                Ok(Resolved::Item(module, item_idx)) if takes_arguments(module, item_idx) => {
                    let args = self.values(scope, env, args)?;
                    return self.call(Scope { module, item_idx }, args);
                }
                _ => {}
            }
        }
        let callee = self.value(scope, env, callee)?;
        let first = self.elem(scope, env, &args[0])?;
        Ok(formula(match callee {
            Value::Set(set) => Formula::Member(first, set),
            Value::Relation(of) => Formula::Related(of, first, self.elem(scope, env, &args[1])?),
            _ => unreachable!("the checker found a set or a relation"),
        }))
    }

    fn values(&mut self, scope: Scope<'_>, env: &mut Env, args: &[Expr]) -> Result<Vec<(Value, usize)>, Stop> {
        args.iter().map(|it| self.value_and_height(scope, env, it)).collect()
    }

    fn index(&mut self, scope: Scope<'_>, env: &mut Env, callee: &Expr, args: &[Expr]) -> Result<Value, Stop> {
        let ExprKind::Name(name) = &callee.kind else { unreachable!("the checker wants a name") };
        match scope.module.resolve(name, scope.item_idx) {
            Ok(Resolved::Item(module, item_idx)) => {
                let args = self.values(scope, env, args)?;
                self.call(Scope { module, item_idx }, args)
            }
            Ok(Resolved::Witness(_)) => {
                let given = self.witness(&name.name)?;
                Ok(relation(Relation::At(given, self.elem(scope, env, &args[0])?)))
            }
            Ok(Resolved::Builtin(Builtin::Given(given))) => {
                Ok(relation(Relation::At(given, self.elem(scope, env, &args[0])?)))
            }
            _ => unreachable!("the checker found a family"),
        }
    }
}

fn takes_arguments(module: &Module, item_idx: usize) -> bool {
    matches!(&module.items[item_idx].kind, ItemKind::Def { params, .. } if !params.is_empty())
}

fn formula(formula: Formula) -> Value {
    Value::Formula(Arc::new(formula))
}

fn relation(relation: Relation) -> Value {
    Value::Relation(Arc::new(relation))
}

fn property(predicate: Predicate, of: Value) -> Formula {
    match (predicate, of) {
        (Predicate::Empty, Value::Set(set)) => Formula::SetEmpty(set),
        (Predicate::Empty, Value::Relation(of)) => Formula::Empty(of),
        (Predicate::Acyclic, Value::Relation(of)) => Formula::Acyclic(of),
        (Predicate::Irreflexive, Value::Relation(of)) => Formula::Irreflexive(of),
        (Predicate::Total, Value::Relation(of)) => Formula::Total(of),
        (Predicate::Transitive, Value::Relation(of)) => Formula::Transitive(of),
        _ => unreachable!("the checker found a relation"),
    }
}

fn subset(left: Value, right: Value) -> Formula {
    match (left, right) {
        (Value::Elem(elem), Value::Set(set)) => Formula::Member(elem, set),
        (Value::Set(left), Value::Set(right)) => Formula::SetWithin(left, right),
        (Value::Relation(left), Value::Relation(right)) => Formula::Within(left, right),
        _ => unreachable!("the checker compared the types"),
    }
}

fn equal(left: Value, right: Value) -> Formula {
    match (left, right) {
        (Value::Elem(left), Value::Elem(right)) => Formula::Equal(left, right),
        (left, right) => {
            let there = subset(left.clone(), right.clone());
            Formula::And(Arc::new(there), Arc::new(subset(right, left)))
        }
    }
}

fn combine(operator: Binary, left: Value, right: Value) -> Value {
    match (operator, left, right) {
        (Binary::Equal, left, right) => formula(equal(left, right)),
        (Binary::NotEqual, left, right) => formula(Formula::Not(Arc::new(equal(left, right)))),
        (_, Value::Formula(left), Value::Formula(right)) => formula(match operator {
            Binary::And => Formula::And(left, right),
            Binary::Or => Formula::Or(left, right),
            Binary::Implies => Formula::Implies(left, right),
            _ => Formula::Iff(left, right),
        }),
        (_, Value::Set(left), Value::Set(right)) => Value::Set(Arc::new(match operator {
            Binary::Union => Set::Union(left, right),
            Binary::Intersection => Set::Intersection(left, right),
            _ => Set::Difference(left, right),
        })),
        (_, Value::Relation(left), Value::Relation(right)) => relation(match operator {
            Binary::Union => Relation::Union(left, right),
            Binary::Intersection => Relation::Intersection(left, right),
            Binary::Difference => Relation::Difference(left, right),
            _ => Relation::Composition(left, right),
        }),
        _ => unreachable!("the checker compared the types"),
    }
}
