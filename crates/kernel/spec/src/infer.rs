//! Finds out what each expression is (formula, relation, set, element) and what each variable ranges over.
//!
//! Unification over two kinds of unknowns: what a parameter is, and the sort of an element. Every item is checked by
//! itself, so that one mistake gives one error.

use crate::builtin::{Builtin, Predicate};
use crate::error::{Problem, Span, did_you_mean};
use crate::formula::{Given, Sort, WitnessKind};
use crate::module::{Module, Resolved};
use crate::syntax::{Annotation, Binary, Binder, Expr, ExprKind, ItemKind, Name, Param, Postfix};
use crate::types::{Signature, Ty, Unifier, open};

/// The result of checking one item: its signature and the sorts of its binders, or what is wrong.
pub(crate) type Checked = Result<(Signature, Vec<(u32, Sort)>), Vec<Problem>>;

/// Checks the item at `item_idx`; those before it are checked.
pub(crate) fn check_item(module: &Module, item_idx: usize) -> Checked {
    let mut infer = Infer::new(module, item_idx);
    let mut params = Vec::new();
    let result = match &module.items[item_idx].kind {
        ItemKind::Import { .. } => Ty::Formula,
        ItemKind::Def { params: declared, body } => {
            params = infer.declare(declared);
            infer.expr(body)
        }
        ItemKind::Level { framework, framework_span, body, .. } => {
            if module.framework(framework).is_none() {
                let known = module.framework_names();
                let hint =
                    did_you_mean(&framework.name, known.iter().map(String::as_str), "import its module, or declare it");
                let message = format!("there is no framework `{}`", framework.name);
                infer.problems.push(Problem::new(*framework_span, message, hint));
            }
            infer.expect(body, Ty::Formula);
            Ty::Formula
        }
        ItemKind::Framework { requirements, .. } => {
            for requirement in requirements {
                infer.expect(requirement, Ty::Formula);
            }
            Ty::Formula
        }
    };
    infer.finish(params, result)
}

struct Infer<'m> {
    module: &'m Module,
    item_idx: usize,
    types: Unifier,
    locals: Vec<(String, Ty)>,
    binders: Vec<(Binder, usize)>,
    params: Vec<Param>,
    problems: Vec<Problem>,
}

impl<'m> Infer<'m> {
    fn new(module: &'m Module, item_idx: usize) -> Self {
        Self {
            module,
            item_idx,
            types: Unifier::new(),
            locals: Vec::new(),
            binders: Vec::new(),
            params: Vec::new(),
            problems: Vec::new(),
        }
    }

    fn declare(&mut self, params: &[Param]) -> Vec<Ty> {
        let mut types: Vec<Ty> = Vec::new();
        for (idx, param) in params.iter().enumerate() {
            if params[..idx].iter().any(|it| it.name == param.name) {
                self.problem(param.span, format!("`{}` is a parameter twice", param.name), "give one another name");
            }
            let ty = match param.annotation {
                None => self.types.fresh_type(),
                Some(Annotation::Element(sort)) => Ty::Elem(sort as usize),
                Some(Annotation::Relation) => Ty::Rel(self.types.fresh(), self.types.fresh()),
                Some(Annotation::Set) => Ty::Set(self.types.fresh()),
                Some(Annotation::Formula) => Ty::Formula,
            };
            self.locals.push((param.name.clone(), ty));
            types.push(ty);
        }
        self.params = params.to_vec();
        types
    }

    fn finish(mut self, params: Vec<Ty>, result: Ty) -> Checked {
        for ty in &params {
            self.types.default_to_txns(*ty);
        }
        let mut sorts = Vec::new();
        for (binder, cell) in std::mem::take(&mut self.binders) {
            match self.types.sort(cell) {
                Some(sort) => sorts.push((binder.id, sort)),
                None if !self.problems.is_empty() => {}
                None => {
                    let name = &binder.name;
                    let hint = format!("write `{name}: txn`, `{name}: key` or `{name}: read`");
                    self.problem(binder.span, format!("nothing says what `{name}` ranges over"), hint);
                }
            }
        }
        let declared = std::mem::take(&mut self.params);
        let mut types = Vec::new();
        for (param, ty) in declared.iter().zip(params) {
            match self.types.resolve(ty) {
                Ty::Open(_) if self.problems.is_empty() => {
                    let name = &param.name;
                    let hint = format!(
                        "write `{name}: txn`, `{name}: key`, `{name}: relation`, `{name}: set` or `{name}: formula`"
                    );
                    self.problem(param.span, format!("nothing says what the parameter `{name}` is"), hint);
                }
                ty => types.push(self.types.closed(ty)),
            }
        }
        let result = self.types.resolve(result);
        if self.problems.is_empty() {
            Ok((Signature { params: types, result: self.types.closed(result) }, sorts))
        } else {
            Err(self.problems)
        }
    }

    fn problem(&mut self, at: Span, message: impl Into<String>, hint: impl Into<String>) -> Ty {
        self.problems.push(Problem::new(at, message, hint));
        Ty::Wrong
    }

    fn expect(&mut self, expr: &Expr, wanted: Ty) {
        let found = self.expr(expr);
        if !self.types.unify(found, wanted) {
            let message = format!("expected {}, found {}", self.types.describe(wanted), self.types.describe(found));
            let hint = self.types.conversion_hint(found, wanted);
            self.problem(expr.span, message, hint);
        }
    }

    fn expr(&mut self, expr: &Expr) -> Ty {
        match &expr.kind {
            ExprKind::Truth(_) => Ty::Formula,
            ExprKind::Not(of) => {
                self.expect(of, Ty::Formula);
                Ty::Formula
            }
            ExprKind::Name(name) => self.name(name, expr.span),
            ExprKind::Apply(callee, args) => self.apply(callee, args, expr.span),
            ExprKind::Index(callee, args) => self.index(callee, args, expr.span),
            ExprKind::Tuple(_) => {
                self.problem(expr.span, "a pair stands alone", "a pair belongs before `in`, as in `(t1, t2) in so`")
            }
            ExprKind::Quantified(_, binders, body) => {
                self.bind(binders, body);
                Ty::Formula
            }
            ExprKind::Such(binders, body) => self.such(binders, body, expr.span),
            ExprKind::On(set) => {
                let sort = self.types.fresh();
                self.expect(set, Ty::Set(sort));
                Ty::Rel(sort, sort)
            }
            ExprKind::Postfix(Postfix::Inverse, of) => {
                let (left, right) = (self.types.fresh(), self.types.fresh());
                self.expect(of, Ty::Rel(left, right));
                Ty::Rel(right, left)
            }
            ExprKind::Postfix(_, of) => {
                let sort = self.types.fresh();
                self.expect(of, Ty::Rel(sort, sort));
                Ty::Rel(sort, sort)
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right),
        }
    }

    fn bind(&mut self, binders: &[Binder], body: &Expr) -> Vec<usize> {
        let mark = self.locals.len();
        let mut cells = Vec::new();
        for binder in binders {
            let cell = binder.sort.map_or_else(|| self.types.fresh(), |it| it as usize);
            self.locals.push((binder.name.clone(), Ty::Elem(cell)));
            self.binders.push((binder.clone(), cell));
            cells.push(cell);
        }
        self.expect(body, Ty::Formula);
        self.locals.truncate(mark);
        cells
    }

    fn such(&mut self, binders: &[Binder], body: &Expr, span: Span) -> Ty {
        match self.bind(binders, body)[..] {
            [sort] => Ty::Set(sort),
            [left, right] => Ty::Rel(left, right),
            _ => {
                let hint = "use `{ t | ... }` for a set and `{ a, b | ... }` for a relation";
                self.problem(span, "only sets and relations of two sides can be built", hint)
            }
        }
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Ty {
        match operator {
            Binary::Iff | Binary::Implies | Binary::Or | Binary::And => {
                self.expect(left, Ty::Formula);
                self.expect(right, Ty::Formula);
                Ty::Formula
            }
            Binary::Composition => {
                let (first, middle, last) = (self.types.fresh(), self.types.fresh(), self.types.fresh());
                self.expect(left, Ty::Rel(first, middle));
                self.expect(right, Ty::Rel(middle, last));
                Ty::Rel(first, last)
            }
            Binary::In => self.within(left, right),
            Binary::Equal | Binary::NotEqual => {
                let ty = self.expr(left);
                if let Ty::Formula = self.types.resolve(ty) {
                    self.problem(
                        left.span,
                        "expected an element, a set or a relation, found a formula",
                        "use `iff` between formulas",
                    );
                }
                self.expect(right, ty);
                Ty::Formula
            }
            Binary::Union | Binary::Difference | Binary::Intersection => {
                let ty = self.expr(left);
                let hint = match (operator, self.types.resolve(ty)) {
                    (Binary::Union, Ty::Formula) => "use `or` between formulas",
                    (_, Ty::Formula) => "use `and` and `not` between formulas",
                    (_, Ty::Elem(_)) => "an element is no set; `{ t | t = a }` is the set of `a` alone",
                    _ => "",
                };
                if !hint.is_empty() {
                    let message = format!("expected a relation or a set, found {}", self.types.describe(ty));
                    return self.problem(left.span, message, hint);
                }
                self.expect(right, ty);
                ty
            }
        }
    }

    fn within(&mut self, left: &Expr, right: &Expr) -> Ty {
        if let ExprKind::Tuple(parts) = &left.kind {
            let cells: Vec<usize> = parts.iter().map(|_| self.types.fresh()).collect();
            for (part, cell) in parts.iter().zip(&cells) {
                self.expect(part, Ty::Elem(*cell));
            }
            match cells[..] {
                [first, second] => self.expect(right, Ty::Rel(first, second)),
                _ => {
                    self.problem(left.span, "relations have two sides", "write a pair, as in `(t1, t2) in so`");
                }
            }
            return Ty::Formula;
        }
        let (left_ty, right_ty) = (self.expr(left), self.expr(right));
        match (self.types.resolve(left_ty), self.types.resolve(right_ty)) {
            (Ty::Elem(sort), _) => self.expect_set_of(sort, right_ty, right.span),
            (Ty::Formula, _) => {
                self.problem(
                    left.span,
                    "expected an element, a set or a relation, found a formula",
                    "use `implies` between formulas",
                );
            }
            (Ty::Open(_), Ty::Set(_) | Ty::Open(_)) => {
                let hint = "annotate the parameter: `: txn`, `: key`, `: read`, `: set` or `: relation`";
                self.problem(left.span, "nothing says whether this is an element or a set", hint);
            }
            _ if !self.types.unify(left_ty, right_ty) => {
                let message =
                    format!("expected {}, found {}", self.types.describe(left_ty), self.types.describe(right_ty));
                let hint = self.types.conversion_hint(right_ty, left_ty);
                self.problem(right.span, message, hint);
            }
            _ => {}
        }
        Ty::Formula
    }

    fn expect_set_of(&mut self, sort: usize, found: Ty, at: Span) {
        if !self.types.unify(found, Ty::Set(sort)) {
            let message =
                format!("expected {}, found {}", self.types.describe(Ty::Set(sort)), self.types.describe(found));
            self.problem(at, message, "an element is in a set, a pair `(a, b)` in a relation");
        }
    }

    fn local(&self, name: &Name) -> Option<Ty> {
        if name.module.is_some() {
            return None;
        }
        self.locals.iter().rev().find(|it| it.0 == name.name).map(|it| it.1)
    }

    fn lookup(&mut self, name: &Name, span: Span) -> Option<Resolved<'m>> {
        match self.module.resolve(name, self.item_idx) {
            Ok(found) => Some(found),
            Err(mut problem) => {
                let locals = self.locals.iter().map(|it| it.0.as_str());
                let near = did_you_mean(&name.name, locals, "");
                if !near.is_empty() {
                    problem.1 = near;
                }
                self.problem(span, problem.0, problem.1);
                None
            }
        }
    }

    fn name(&mut self, name: &Name, span: Span) -> Ty {
        if let Some(ty) = self.local(name) {
            return ty;
        }
        match self.lookup(name, span) {
            None => Ty::Wrong,
            Some(Resolved::Witness(..)) => Ty::Rel(0, 0),
            Some(Resolved::Builtin(builtin)) => match builtin {
                Builtin::Given(given) => Ty::Rel(given.sorts().0 as usize, given.sorts().1 as usize),
                Builtin::InitialTxn => Ty::Elem(Sort::Txn as usize),
                Builtin::InitialSet => Ty::Set(Sort::Txn as usize),
                Builtin::Predicate(_) => {
                    let message = format!("`{}` needs a relation", name.name);
                    self.problem(span, message, format!("write `{}(R)`", name.name))
                }
            },
            Some(Resolved::Item(module, item_idx)) => match &module.signatures[item_idx] {
                None => Ty::Wrong,
                Some(signature) if signature.params.is_empty() => open(signature.result),
                Some(signature) => self.wrong_count(name, signature.params.len(), 0, span),
            },
        }
    }

    fn wrong_count(&mut self, name: &Name, wanted: usize, found: usize, span: Span) -> Ty {
        let plural = if wanted == 1 { "" } else { "s" };
        let message = format!("`{}` takes {wanted} argument{plural}, found {found}", name.name);
        let hint = if found == 0 { format!("write `{}(...)`", name.name) } else { "look at its definition".to_owned() };
        self.problem(span, message, hint)
    }

    fn apply(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Ty {
        if let ExprKind::Name(name) = &callee.kind
            && self.local(name).is_none()
        {
            match self.lookup(name, callee.span) {
                None => {
                    self.check_all(args);
                    return Ty::Wrong;
                }
                Some(Resolved::Builtin(Builtin::Predicate(predicate))) => {
                    return self.predicate(predicate, name, args, span);
                }
                Some(Resolved::Item(module, item_idx)) => {
                    let signature = module.signatures[item_idx].clone();
                    if signature.as_ref().is_none_or(|it| !it.params.is_empty()) {
                        return self.call(name, signature, args, span);
                    }
                }
                _ => {}
            }
        }
        let callee_ty = self.expr(callee);
        self.member(callee, callee_ty, args)
    }

    fn check_all(&mut self, args: &[Expr]) {
        for arg in args {
            self.expr(arg);
        }
    }

    fn call(&mut self, name: &Name, signature: Option<Signature>, args: &[Expr], span: Span) -> Ty {
        let Some(signature) = signature else {
            self.check_all(args);
            return Ty::Wrong;
        };
        if signature.params.len() != args.len() {
            return self.wrong_count(name, signature.params.len(), args.len(), span);
        }
        for (arg, param) in args.iter().zip(&signature.params) {
            self.expect(arg, open(*param));
        }
        open(signature.result)
    }

    fn predicate(&mut self, predicate: Predicate, name: &Name, args: &[Expr], span: Span) -> Ty {
        let [arg] = args else { return self.wrong_count(name, 1, args.len(), span) };
        let sort = self.types.fresh();
        if predicate == Predicate::Empty {
            let ty = self.expr(arg);
            if !matches!(self.types.resolve(ty), Ty::Set(_) | Ty::Rel(..) | Ty::Wrong) {
                let message = format!("expected a relation or a set, found {}", self.types.describe(ty));
                self.problem(arg.span, message, "only these can be empty; annotate a parameter as `: relation`");
            }
        } else {
            self.expect(arg, Ty::Rel(sort, sort));
        }
        Ty::Formula
    }

    /// `R(a, b)` or `S(a)`.
    fn member(&mut self, callee: &Expr, callee_ty: Ty, args: &[Expr]) -> Ty {
        let cells: Vec<usize> = args.iter().map(|_| self.types.fresh()).collect();
        let wanted = match (self.types.resolve(callee_ty), &cells[..]) {
            (Ty::Wrong, _) => {
                self.check_all(args);
                return Ty::Formula;
            }
            (Ty::Rel(..) | Ty::Open(_), [left, right]) => Ty::Rel(*left, *right),
            (Ty::Set(_) | Ty::Open(_), [of]) => Ty::Set(*of),
            (Ty::Rel(..), _) => {
                return self.problem(callee.span, "a relation takes two arguments", "write `R(a, b)`");
            }
            (Ty::Set(_), _) => return self.problem(callee.span, "a set takes one argument", "write `S(a)`"),
            (other, _) => {
                let message =
                    format!("expected a relation or a set before the arguments, found {}", self.types.describe(other));
                return self.problem(callee.span, message, "an operator may be missing");
            }
        };
        self.types.unify(callee_ty, wanted);
        for (arg, cell) in args.iter().zip(cells) {
            self.expect(arg, Ty::Elem(cell));
        }
        Ty::Formula
    }

    fn index(&mut self, callee: &Expr, args: &[Expr], span: Span) -> Ty {
        if let ExprKind::Name(name) = &callee.kind
            && self.local(name).is_none()
        {
            match self.lookup(name, callee.span) {
                None => {
                    self.check_all(args);
                    return Ty::Wrong;
                }
                Some(
                    Resolved::Witness(WitnessKind::Versions)
                    | Resolved::Builtin(Builtin::Given(Given::WriteRead | Given::Listed)),
                ) => {
                    let [key] = args else { return self.wrong_count(name, 1, args.len(), span) };
                    self.expect(key, Ty::Elem(Sort::Key as usize));
                    return Ty::Rel(0, 0);
                }
                Some(Resolved::Item(module, item_idx)) => {
                    let signature = module.signatures[item_idx].clone();
                    return self.call(name, signature, args, span);
                }
                _ => {}
            }
        }
        let hint = "`wr[x]`, `listed[x]` and versions have one; elsewhere use `R(a, b)`, or `;` before `[S]`";
        self.problem(callee.span, "this has no part for each key", hint)
    }
}
