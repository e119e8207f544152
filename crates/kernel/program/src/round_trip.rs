//! Random trees, printed and read back: the same tree must come out.

use crate::error::Span;
use crate::parser::parse_items;
use crate::print::print;
use crate::program::ReadMode;
use crate::syntax::{
    AssignOp, Binary, Call, Change, ClaimKind, Conflict, Expr, ExprKind, Ident, Item, ItemKind, Keys, Param,
    Quantifier, Range, Row, Rows, Session, Stmt, StmtKind, Table, Target, TxnItem,
};

/// A linear congruential generator (Knuth's MMIX constants): the same seed gives the same trees.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn maybe(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len() as u64) as usize]
    }

    fn several<T>(&mut self, least: u64, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..least + self.below(3)).map(|_| one(self)).collect()
    }

    fn number(&mut self) -> i64 {
        self.below(20).cast_signed() - 10
    }

    /// Some of these are words in other places.
    fn name(&mut self) -> Ident {
        let text = self.pick(&["x", "y", "count", "sum", "width", "update", "int", "räume", "_1"]).to_owned();
        Ident { text, span: Span::default() }
    }

    fn range(&mut self) -> Range {
        let low = self.number();
        Range { low, high: low + self.number().abs(), span: Span::default() }
    }

    fn row(&mut self, depth: u32) -> Row {
        Row { table: self.name(), key: Box::new(self.expr(depth)), span: Span::default() }
    }

    fn target(&mut self, depth: u32) -> Target {
        if self.maybe() { Target::Row(self.row(depth)) } else { Target::Name(self.name()) }
    }

    fn access(&mut self, depth: u32) -> Expr {
        let kind = match self.below(3) {
            0 => ExprKind::Name(self.name().text),
            _ => ExprKind::Field(self.target(depth), self.name()),
        };
        node(kind)
    }

    fn boxed(&mut self, depth: u32) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    fn leaf(&mut self) -> ExprKind {
        match self.below(5) {
            0 => ExprKind::Int(self.number()),
            1 => ExprKind::Bool(self.maybe()),
            2 => ExprKind::Text(self.pick(&["", "a", "a \"b\"\\", "two\nlines", "// no comment"]).to_owned()),
            3 => ExprKind::Any { ty: self.name(), range: None },
            _ => ExprKind::Name(self.name().text),
        }
    }

    fn expr(&mut self, depth: u32) -> Expr {
        if depth == 0 {
            return node(self.leaf());
        }
        let depth = depth - 1;
        let kind = match self.below(12) {
            0 => ExprKind::Any { ty: self.name(), range: Some(self.range()) },
            1 => self.access(depth).kind,
            2 => ExprKind::RowExists(self.row(depth)),
            3 => {
                let quantifiers = [Quantifier::Forall, Quantifier::Exists, Quantifier::Count, Quantifier::Sum];
                let quantifier = self.pick(&quantifiers);
                let (row, table, mode) = (self.name(), self.name(), self.mode());
                ExprKind::Over { quantifier, row, table, mode, body: self.boxed(depth) }
            }
            4 => ExprKind::Locked(Box::new(self.access(depth))),
            5 => ExprKind::Negated(self.boxed(depth)),
            6 => ExprKind::Not(self.boxed(depth)),
            7 => ExprKind::If(self.boxed(depth), self.boxed(depth), self.boxed(depth)),
            _ => ExprKind::Binary(self.operator(), self.boxed(depth), self.boxed(depth)),
        };
        node(kind)
    }

    fn mode(&mut self) -> ReadMode {
        self.pick(&[ReadMode::Plain, ReadMode::ForUpdate])
    }

    fn operator(&mut self) -> Binary {
        use Binary::{Add, And, Equal, Greater, GreaterEqual, Implies, Less, LessEqual, Mul, NotEqual, Or, Sub};
        self.pick(&[Implies, Or, And, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Add, Sub, Mul])
    }

    fn block(&mut self, depth: u32) -> Vec<Stmt> {
        self.several(0, |it| it.stmt(depth))
    }

    fn record(&mut self) -> Vec<(Ident, Expr)> {
        self.several(0, |it| (it.name(), it.expr(1)))
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        let inner = depth.saturating_sub(1);
        let kind = match self.below(if depth == 0 { 9 } else { 12 }) {
            7 | 8 => StmtKind::Change { count: self.maybe().then(|| self.name()), change: self.change() },
            0 if self.maybe() => StmtKind::Select(self.several(2, |it| (it.name(), it.expr(1)))),
            0 => StmtKind::Let { name: self.name(), value: self.expr(2) },
            1 => {
                let op = self.pick(&[AssignOp::Set, AssignOp::Add, AssignOp::Sub]);
                StmtKind::Assign { target: self.access(1), op, value: self.expr(2) }
            }
            2 => StmtKind::Insert { row: self.row(1), fields: self.record() },
            3 => StmtKind::Maybe { row: self.row(1), fields: self.record() },
            4 => StmtKind::Delete(self.target(1)),
            5 => StmtKind::Abort,
            6 => StmtKind::Assert(self.expr(2)),
            9 => StmtKind::If { condition: self.expr(2), then: self.block(inner), otherwise: self.block(inner) },
            10 => {
                let (row, table, mode) = (self.name(), self.name(), self.mode());
                StmtKind::ForRows { row, table, mode, body: self.block(inner) }
            }
            _ => {
                StmtKind::ForRange { name: self.name(), low: self.expr(1), high: self.expr(1), body: self.block(inner) }
            }
        };
        Stmt { kind, span: Span::default() }
    }

    fn change(&mut self) -> Change {
        let row = self.name();
        let of = if self.maybe() { Rows::One(self.row(1)) } else { Rows::All(self.name()) };
        let condition = self.maybe().then(|| self.expr(2));
        match self.below(3) {
            0 => Change::Update { row, of, condition, fields: self.record() },
            1 => Change::Delete { row, of, condition },
            _ => {
                let conflict = if self.maybe() { Conflict::Nothing } else { Conflict::Update(self.record()) };
                let name = self.maybe().then_some(row);
                Change::Insert { name, row: self.row(1), fields: self.record(), conflict }
            }
        }
    }

    fn session(&mut self) -> Session {
        let calls =
            self.several(1, |it| Call { txn: it.name(), args: it.several(0, |it| it.expr(1)), span: Span::default() });
        Session { times: self.maybe().then(|| self.number().abs()), calls }
    }

    fn item(&mut self) -> Item {
        let kind = match self.below(9) {
            0 => ItemKind::Width(self.number().abs()),
            1 => ItemKind::Enum { name: self.name(), members: self.several(1, Self::name) },
            2 => {
                let initial = self.maybe().then(|| self.expr(3));
                ItemKind::Var { name: self.name(), ty: self.name(), initial }
            }
            3 => {
                let keys = match self.below(3) {
                    0 => None,
                    1 => Some(Keys::Range(self.range())),
                    _ => Some(Keys::List(self.several(1, |it| node(ExprKind::Int(it.number()))))),
                };
                let fields = self.several(0, |it| (it.name(), it.name()));
                ItemKind::Table(Table { name: self.name(), key: self.name(), keys, fields })
            }
            4 => ItemKind::Init(self.block(1)),
            5 => ItemKind::Assume(self.expr(4)),
            6 => {
                let params = self.several(0, |it| Param { name: it.name(), ty: it.maybe().then(|| it.name()) });
                ItemKind::Txn(TxnItem { name: self.name(), params, body: self.block(3) })
            }
            7 => ItemKind::Run(self.several(1, Self::session)),
            _ => {
                let kind = self.pick(&[ClaimKind::Invariant, ClaimKind::Observer]);
                let label = self.maybe().then(|| "a \"claim\"".to_owned());
                ItemKind::Claim { kind, label, holds: self.expr(5) }
            }
        };
        Item { kind, span: Span::default() }
    }
}

fn node(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default(), depth: 0 }
}

#[test]
fn printed_trees_read_back_as_the_same_trees() {
    for seed in 0..3000 {
        let mut random = Random(seed);
        let items = random.several(1, Random::item);
        let text = print(&items);
        let parsed = parse_items(&text);
        assert!(parsed.problems.is_empty(), "seed {seed}: {:?} in\n{text}", parsed.problems[0]);
        assert!(parsed.items == items, "seed {seed}:\n{text}\nreads back as\n{}", print(&parsed.items));
    }
}
