//! The transactions of `run`: each becomes an instance with a body of its own.

use super::World;
use super::scope::{Binding, Mode, Possible, Scope, Typed};
use crate::error::{Checked, fail};
use crate::ids::LocalId;
use crate::print;
use crate::program::{Expr, Instance, Local};
use crate::syntax::{Call, ExprKind, Param, Session, TxnItem};
use crate::value::Type;
use std::collections::BTreeMap;

/// How many transactions may run.
const MAX_INSTANCES: usize = 64;

/// A call of a session and what tells its session from others.
struct Planned<'s> {
    call: &'s Call,
    session: usize,
    place: usize,
    group: usize,
}

impl<'s> World<'_, 's> {
    pub(super) fn instances(&mut self) -> Vec<Instance> {
        let planned = plan(self.declared.sessions);
        let planned = self.keep(planned).unwrap_or_default();
        let mut n_calls: BTreeMap<&str, usize> = BTreeMap::new();
        for it in &planned {
            *n_calls.entry(&it.call.txn.text).or_default() += 1;
        }
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut instances = Vec::new();
        for it in &planned {
            let txn = it.call.txn.text.as_str();
            let number = numbers.entry(txn).or_default();
            *number += 1;
            let name = if n_calls[txn] == 1 { txn.to_owned() } else { format!("{txn}#{number}") };
            let instance = self.instance(it, name);
            instances.extend(self.keep(instance));
        }
        instances
    }

    fn instance(&mut self, planned: &Planned<'s>, name: String) -> Checked<Instance> {
        let call = planned.call;
        let txn = self.declared.txn_named(&call.txn)?;
        if call.args.len() != txn.params.len() {
            let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            let (wanted, found) = (count(txn.params.len(), "argument"), call.args.len());
            let message = format!("`{}` takes {wanted} and is given {found}", txn.name.text);
            let params: Vec<&str> = txn.params.iter().map(|it| it.name.text.as_str()).collect();
            return fail(call.span, message, format!("it is `txn {}({})`", txn.name.text, params.join(", ")));
        }
        let mut arguments = Vec::new();
        for (param, arg) in txn.params.iter().zip(&call.args) {
            let symbol = format!("{name}.{}", param.name.text);
            let value = Scope::new(self, Mode::Constant).argument(param, arg, &symbol)?;
            arguments.push((param.name.text.clone(), value));
        }
        let values = arguments.iter().map(|it| it.1.clone()).collect();
        let scope = Scope::new(self, Mode::Txn).body(txn, values)?;
        Ok(Instance {
            txn: txn.name.text.clone(),
            name,
            call: print::call(call),
            arguments: arguments.into_iter().map(|(name, value)| (name, value.expr)).collect(),
            session: planned.session,
            place: planned.place,
            group: planned.group,
            reads: scope.reads,
            locals: scope.locals,
            body: scope.out,
            span: call.span,
        })
    }

    /// A transaction that does not run is checked as far as the types of its parameters are known.
    pub(super) fn check_idle_txns(&mut self, instances: &[Instance]) {
        for txn in &self.declared.txns {
            let is_idle = !instances.iter().any(|it| it.txn == txn.name.text);
            let types: Option<Vec<Checked<Type>>> =
                txn.params.iter().map(|it| it.ty.as_ref().map(|ty| self.declared.type_named(ty))).collect();
            let (true, Some(types)) = (is_idle && self.problems.is_empty(), types) else { continue };
            let types: Checked<Vec<Type>> = types.into_iter().collect();
            let (has_assert, size) = (self.has_assert, self.size);
            let checked = types.and_then(|it| Scope::new(self, Mode::Txn).unknown_body(txn, &it));
            self.keep(checked);
            (self.has_assert, self.size) = (has_assert, size);
        }
    }
}

impl Scope<'_, '_, '_> {
    fn argument(&mut self, param: &Param, arg: &crate::syntax::Expr, symbol: &str) -> Checked<Typed> {
        let ty = match (&param.ty, &arg.kind) {
            (Some(ty), _) | (None, ExprKind::Any { ty, .. }) => self.world.declared.type_named(ty)?,
            (None, _) => self.expr(arg)?.ty,
        };
        Ok(Typed { expr: self.open_value(arg, ty, symbol)?, ty })
    }

    fn body(mut self, txn: &TxnItem, values: Vec<Typed>) -> Checked<Self> {
        for (param, value) in txn.params.iter().zip(values) {
            self.define(&param.name, Binding::Value(value))?;
        }
        self.block(&txn.body)?;
        Ok(self)
    }

    fn unknown_body(mut self, txn: &TxnItem, types: &[Type]) -> Checked<()> {
        let mut values = Vec::new();
        for (idx, ty) in types.iter().enumerate() {
            self.locals.push(Local { name: String::new(), ty: *ty });
            self.possible.push(Possible::Unknown);
            values.push(Typed { expr: Expr::Local(LocalId::from_index(idx)), ty: *ty });
        }
        self.body(txn, values).map(|_| ())
    }
}

/// All calls, session by session. Sessions that say the same are interchangeable, wherever they stand.
fn plan(sessions: &[Session]) -> Checked<Vec<Planned<'_>>> {
    let mut planned = Vec::new();
    let mut n_sessions = 0;
    let mut groups: Vec<(&[Call], usize)> = Vec::new();
    for session in sessions {
        let times = session.times.unwrap_or(1);
        let calls = session.calls.as_slice();
        let at = calls[0].span;
        if times < 1 {
            return fail(at, format!("{times} sessions are none"), "leave this out");
        }
        let n_more = usize::try_from(times).unwrap_or(usize::MAX).saturating_mul(calls.len());
        if planned.len().saturating_add(n_more) > MAX_INSTANCES {
            return fail(at, "too many transactions run", format!("at most {MAX_INSTANCES} transactions run"));
        }
        let known = groups.iter().find(|it| it.0 == calls).map(|it| it.1);
        let first_group = known.unwrap_or_else(|| groups.iter().map(|it| it.0.len()).sum());
        if known.is_none() {
            groups.push((calls, first_group));
        }
        for _ in 0..times {
            let calls = calls.iter().enumerate();
            planned.extend(calls.map(|(place, call)| Planned {
                call,
                session: n_sessions,
                place,
                group: first_group + place,
            }));
            n_sessions += 1;
        }
    }
    Ok(planned)
}
