//! Expressions, by precedence climbing.

use super::{MAX_DEPTH, Parser};
use crate::error::{Checked, Span, fail};
use crate::lexer::{Tok, unquoted};
use crate::program::ReadMode;
use crate::syntax::{Binary, COMPARISON, Expr, ExprKind, NEGATION, Quantifier, Row, Target};

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Checked<Expr> {
        let expr = self.binary(0)?;
        if self.peek() == Tok::Assign {
            return self.expected("an operator or the end of the expression", "`==` compares, `=` writes");
        }
        Ok(expr)
    }

    fn node(&self, kind: ExprKind, start: Span, depth: u32) -> Checked<Expr> {
        if depth > MAX_DEPTH {
            return fail(start, "this is nested too deeply", "name its parts with `let`");
        }
        Ok(Expr { kind, span: self.since(start), depth: depth + 1 })
    }

    /// An expression whose operators bind tighter than `least`.
    fn binary(&mut self, least: u8) -> Checked<Expr> {
        self.deeper()?;
        let mut left = self.prefix()?;
        while let Some(operator) = infix(self.peek()) {
            let (power, right_power) = operator.powers();
            if power <= least {
                break;
            }
            self.next();
            let right = self.binary(right_power)?;
            if power == COMPARISON && infix(self.peek()).is_some_and(|it| it.powers().0 == COMPARISON) {
                return fail(self.span(), "comparisons do not chain", "join them with `and`, or use parentheses");
            }
            let (start, depth) = (left.span, left.depth.max(right.depth));
            left = self.node(ExprKind::Binary(operator, Box::new(left), Box::new(right)), start, depth)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Checked<Expr> {
        let start = self.span();
        match self.peek() {
            Tok::Not => {
                self.next();
                let of = self.binary(COMPARISON - 1)?;
                let depth = of.depth;
                self.node(ExprKind::Not(Box::new(of)), start, depth)
            }
            Tok::Minus if self.peek_at(1) == Tok::Int => {
                let number = self.signed()?;
                self.node(ExprKind::Int(number), start, 0)
            }
            Tok::Minus => {
                self.next();
                let of = self.binary(NEGATION)?;
                let depth = of.depth;
                self.node(ExprKind::Negated(Box::new(of)), start, depth)
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Checked<Expr> {
        let start = self.span();
        match self.peek() {
            Tok::Int => {
                let number = self.int("a number", "")?;
                self.node(ExprKind::Int(number), start, 0)
            }
            Tok::Text => self.text(),
            Tok::True | Tok::False => {
                let truth = self.next().tok == Tok::True;
                self.node(ExprKind::Bool(truth), start, 0)
            }
            Tok::LeftParen => {
                self.next();
                let inner = self.expr()?;
                self.expect(Tok::RightParen, "`)`", "a parenthesis is open")?;
                Ok(inner)
            }
            Tok::Forall => self.over(Quantifier::Forall),
            Tok::Exists if self.peek_at(2) == Tok::LeftBracket => self.row_exists(),
            Tok::Exists => self.over(Quantifier::Exists),
            Tok::If => self.conditional(),
            Tok::Any => self.any(),
            Tok::Name if self.peek_at(1) == Tok::Name && self.peek_at(2) == Tok::In => match start.text(self.text) {
                "count" => self.over(Quantifier::Count),
                "sum" => self.over(Quantifier::Sum),
                _ => self.locked_access(),
            },
            Tok::Name => self.locked_access(),
            _ => self.expected("a value or a condition", "something is missing here"),
        }
    }

    fn text(&mut self) -> Checked<Expr> {
        let span = self.next().span;
        self.node(ExprKind::Text(unquoted(span.text(self.text))), span, 0)
    }

    /// A constant that may be a key: a number or a text.
    pub(super) fn key_constant(&mut self) -> Checked<Expr> {
        match self.peek() {
            Tok::Text => self.text(),
            Tok::Int | Tok::Minus => self.prefix(),
            _ => self.expected("a number or a text", "keys are declared as in `no in 1..4` or `name in \"a\", \"b\"`"),
        }
    }

    fn conditional(&mut self) -> Checked<Expr> {
        let start = self.next().span;
        let hint = "a choice between values is `if x > 0 then 1 else 2`";
        let condition = self.expr()?;
        self.expect(Tok::Then, "`then`", hint)?;
        let then = self.expr()?;
        self.expect(Tok::Else, "`else`", hint)?;
        let otherwise = self.expr()?;
        let depth = condition.depth.max(then.depth).max(otherwise.depth);
        self.node(ExprKind::If(Box::new(condition), Box::new(then), Box::new(otherwise)), start, depth)
    }

    fn any(&mut self) -> Checked<Expr> {
        let start = self.next().span;
        let ty = self.ident("a type")?;
        let range = if self.eat(Tok::In) { Some(self.range()?) } else { None };
        self.node(ExprKind::Any { ty, range }, start, 0)
    }

    fn over(&mut self, quantifier: Quantifier) -> Checked<Expr> {
        let start = self.next().span;
        let hint = format!("as in `{0} a in accounts: a.balance ..`, or `exists accounts[\"x\"]`", quantifier.word());
        let row = self.ident("a name for the row")?;
        self.expect(Tok::In, "`in` and a table", &hint)?;
        let table = self.ident("a table")?;
        let mode = self.locking()?;
        self.expect(Tok::Colon, "`:`", &hint)?;
        let body = Box::new(self.expr()?);
        let depth = body.depth;
        self.node(ExprKind::Over { quantifier, row, table, mode, body }, start, depth)
    }

    /// `for update` behind a table whose rows are looked at.
    pub(super) fn locking(&mut self) -> Checked<ReadMode> {
        if self.peek() != Tok::For {
            return Ok(ReadMode::Plain);
        }
        if !self.is_word(1, "update") {
            return self.expected("`for update`", "rows are locked with `for r in t for update { .. }`");
        }
        self.next();
        self.next();
        Ok(ReadMode::ForUpdate)
    }

    fn row_exists(&mut self) -> Checked<Expr> {
        let start = self.next().span;
        let row = self.row("`exists accounts[\"x\"]`")?;
        let depth = row.key.depth;
        let exists = self.node(ExprKind::RowExists(row), start, depth)?;
        self.maybe_locked(exists)
    }

    /// `t[k]`.
    pub(super) fn row(&mut self, example: &str) -> Checked<Row> {
        let start = self.span();
        let table = self.ident("a table")?;
        self.expect(Tok::LeftBracket, "`[` and a key", &format!("as in {example}"))?;
        let key = Box::new(self.expr()?);
        self.expect(Tok::RightBracket, "`]`", "a key stands in brackets, as in `accounts[\"x\"]`")?;
        Ok(Row { table, key, span: self.since(start) })
    }

    /// A name, or a field of a row.
    pub(super) fn access(&mut self) -> Checked<Expr> {
        let start = self.span();
        if self.peek_at(1) == Tok::LeftBracket {
            let row = self.row("`accounts[\"x\"].balance`")?;
            self.expect(
                Tok::Dot,
                "`.` and a field",
                "a row is no value; name one of its fields, or ask if it `exists`",
            )?;
            let field = self.ident("a field")?;
            let depth = row.key.depth;
            return self.node(ExprKind::Field(Target::Row(row), field), start, depth);
        }
        let name = self.ident("a name")?;
        if self.eat(Tok::Dot) {
            let field = self.ident("a field")?;
            return self.node(ExprKind::Field(Target::Name(name), field), start, 0);
        }
        self.node(ExprKind::Name(name.text), start, 0)
    }

    fn locked_access(&mut self) -> Checked<Expr> {
        let access = self.access()?;
        self.maybe_locked(access)
    }

    /// `for update` may follow an access; a loop over rows called `update` is none.
    fn maybe_locked(&mut self, access: Expr) -> Checked<Expr> {
        if self.peek() != Tok::For || !self.is_word(1, "update") || self.peek_at(2) == Tok::In {
            return Ok(access);
        }
        self.next();
        self.next();
        let (start, depth) = (access.span, access.depth);
        self.node(ExprKind::Locked(Box::new(access)), start, depth)
    }
}

fn infix(tok: Tok) -> Option<Binary> {
    Some(match tok {
        Tok::Implies => Binary::Implies,
        Tok::Or => Binary::Or,
        Tok::And => Binary::And,
        Tok::Equal => Binary::Equal,
        Tok::NotEqual => Binary::NotEqual,
        Tok::Less => Binary::Less,
        Tok::LessEqual => Binary::LessEqual,
        Tok::Greater => Binary::Greater,
        Tok::GreaterEqual => Binary::GreaterEqual,
        Tok::Plus => Binary::Add,
        Tok::Minus => Binary::Sub,
        Tok::Star => Binary::Mul,
        _ => return None,
    })
}
