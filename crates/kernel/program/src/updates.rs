//! Programs that compute from a row inside of the statement that writes it, where they had read it before.

use crate::error::Span;
use crate::ids::{LocalId, ReadId, StatementId, UnitId};
use crate::program::{Arith, Expr, Instance, Program, Read, ReadMode, Stmt, UnitPart};
use std::collections::BTreeMap;

impl Program {
    /// The statements that write what was read before, and something added or taken away: `let n = x`, then `x = n + 1`.
    pub fn updatable(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for instance in &self.instances {
            let mut changed = instance.clone();
            Updating::new(instance, None).block(&mut changed.body, &mut spans);
        }
        spans.sort_unstable_by_key(|it| (it.start, it.end));
        spans.dedup();
        spans
    }

    /// The program in which the statements at these spans, of [`Program::updatable`], compute as `+=` and `-=` do.
    ///
    /// The reads that this adds come last in [`Instance::reads`].
    #[must_use]
    pub fn updating(&self, spans: &[Span]) -> Self {
        let mut changed = self.clone();
        for (old, instance) in self.instances.iter().zip(&mut changed.instances) {
            let mut updating = Updating::new(old, Some(spans));
            updating.block(&mut instance.body, &mut Vec::new());
            instance.reads.extend(updating.added);
        }
        changed
    }
}

struct Updating<'i> {
    instance: &'i Instance,
    lets: BTreeMap<LocalId, Expr>,
    /// Which ones are changed; all are only looked for if there are none.
    chosen: Option<&'i [Span]>,
    added: Vec<Read>,
}

impl<'i> Updating<'i> {
    fn new(instance: &'i Instance, chosen: Option<&'i [Span]>) -> Self {
        Self { instance, lets: BTreeMap::new(), chosen, added: Vec::new() }
    }

    fn block(&mut self, body: &mut Vec<Stmt>, found: &mut Vec<Span>) {
        let mut place = 0;
        while place < body.len() {
            let mut before = None;
            match &mut body[place] {
                Stmt::Let { local, value } => {
                    self.lets.insert(*local, value.clone());
                }
                Stmt::If { then, otherwise, .. } => {
                    self.block(then, found);
                    self.block(otherwise, found);
                }
                Stmt::Write { unit, row: Some(fields), statement, span } => {
                    for (position, field) in fields.iter_mut().enumerate() {
                        let Some((op, right, at)) = self.change(*unit, position, field) else { continue };
                        found.push(*span);
                        if self.chosen.is_some_and(|it| it.contains(span)) {
                            let (old, is_new) = self.old_row(*unit, *statement, *span);
                            before = is_new.then_some(Stmt::Read(old));
                            let left = Box::new(Expr::Read(old, UnitPart::Field(position)));
                            *field = Expr::Arith { op, left, right: Box::new(right), span: at };
                        }
                    }
                }
                _ => {}
            }
            if let Some(read) = before {
                body.insert(place, read);
                place += 1;
            }
            place += 1;
        }
    }

    /// What is added to, or taken from, what a plain read found in this field before.
    fn change(&self, unit: UnitId, position: usize, field: &Expr) -> Option<(Arith, Expr, Span)> {
        let Expr::Arith { op, left, right, span } = self.resolved(field) else { return None };
        let is_old = |it: &Expr| match self.resolved(it) {
            Expr::Read(read, UnitPart::Field(of)) => {
                let read = self.instance.reads.get(read.index());
                *of == position && read.is_some_and(|it| it.unit == unit && it.mode == ReadMode::Plain)
            }
            _ => false,
        };
        match op {
            Arith::Add | Arith::Sub if is_old(left) => Some((*op, (**right).clone(), *span)),
            Arith::Add if is_old(right) => Some((*op, (**left).clone(), *span)),
            _ => None,
        }
    }

    fn resolved<'e>(&'e self, expr: &'e Expr) -> &'e Expr {
        match expr {
            Expr::Local(local) => self.lets.get(local).map_or(expr, |it| self.resolved(it)),
            other => other,
        }
    }

    /// The read of the row by the statement that writes it; a variable has none yet.
    fn old_row(&mut self, unit: UnitId, statement: StatementId, span: Span) -> (ReadId, bool) {
        let is_it = |it: &Read| it.unit == unit && it.statement == statement && it.mode == ReadMode::Update;
        let reads = self.instance.reads.iter().chain(&self.added);
        if let Some(known) = reads.clone().position(is_it) {
            return (ReadId::from_index(known), false);
        }
        let id = ReadId::from_index(reads.count());
        self.added.push(Read { unit, mode: ReadMode::Update, statement, again: None, span });
        (id, true)
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn what_adds_to_what_was_read_before_can_be_one_statement() {
        let text = "var x: int\ntable t(id in 1..2) { a: int }\n\
            txn a() {\nlet n = x\nlet m = t[1].a\nx = n + 1\nt[1].a = m - n\nt[2].a = m - n\nx += 1\nx = 2 + x\n}\n\
            run a()\ninvariant true\n";
        let program = parse(text, "a.txn").unwrap();
        let spans = program.updatable();
        let texts: Vec<&str> = spans.iter().map(|it| program.place(*it).text).collect();
        assert_eq!(texts, ["x = n + 1", "t[1].a = m - n", "x = 2 + x"]);
        let changed = program.updating(&spans);
        assert_eq!(changed.instances()[0].reads.len(), program.instances()[0].reads.len() + 2);
        assert!(changed.updatable().is_empty());
        assert_eq!(program.updating(&[]).instances(), program.instances());
    }
}
