//! Statements of transactions and of `init`.

use super::Parser;
use crate::error::Checked;
use crate::lexer::Tok;
use crate::syntax::{AssignOp, Expr, Ident, Stmt, StmtKind, Target};

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Checked<Vec<Stmt>> {
        self.deeper()?;
        self.expect(Tok::LeftBrace, "`{`", "statements stand in braces")?;
        let mut stmts = Vec::new();
        while !self.eat(Tok::RightBrace) {
            if self.eat(Tok::Semicolon) {
                continue;
            }
            stmts.push(self.stmt()?);
            self.separator()?;
        }
        self.depth -= 1;
        Ok(stmts)
    }

    /// What must stand between two statements: a semicolon, the end of the line, or a brace before or after.
    fn separator(&mut self) -> Checked<()> {
        if self.eat(Tok::Semicolon) || self.is_separated() {
            return Ok(());
        }
        self.expected("`;` or a new line", "a statement ends with its line, or with `;`")
    }

    /// What must stand between two fields; also a comma.
    pub(super) fn field_separator(&mut self) -> Checked<()> {
        if self.eat(Tok::Comma) || self.eat(Tok::Semicolon) || self.is_separated() {
            return Ok(());
        }
        self.expected("`,` or a new line", "fields stand on lines of their own, or have `,` or `;` between them")
    }

    fn is_separated(&self) -> bool {
        self.peek() == Tok::RightBrace || self.tokens[self.at].starts_line || self.last().tok == Tok::RightBrace
    }

    fn stmt(&mut self) -> Checked<Stmt> {
        let start = self.span();
        let kind = match self.peek() {
            Tok::Let => self.binding()?,
            Tok::If => self.branch()?,
            Tok::For => self.for_loop()?,
            Tok::Insert => {
                self.next();
                StmtKind::Insert { row: self.row("`insert seats[1] { free: true }`")?, fields: self.record()? }
            }
            Tok::Maybe => {
                self.next();
                StmtKind::Maybe { row: self.row("`maybe seats[1]`")?, fields: self.record()? }
            }
            Tok::Delete => {
                self.next();
                StmtKind::Delete(self.target("`delete seats[1]`")?)
            }
            Tok::Abort => {
                self.next();
                StmtKind::Abort
            }
            Tok::Assert => {
                self.next();
                StmtKind::Assert(self.expr()?)
            }
            Tok::Name => self.assignment()?,
            _ => {
                return self
                    .expected("a statement or `}`", "as in `let total = x + y` or `accounts[\"x\"].balance = 0`");
            }
        };
        Ok(Stmt { kind, span: self.since(start) })
    }

    fn binding(&mut self) -> Checked<StmtKind> {
        self.next();
        let name = self.ident("a name")?;
        self.expect(Tok::Assign, "`=`", "a name is given to a value with `let total = x + y`")?;
        Ok(StmtKind::Let { name, value: self.expr()? })
    }

    fn branch(&mut self) -> Checked<StmtKind> {
        self.deeper()?;
        self.next();
        let condition = self.expr()?;
        let then = self.block()?;
        let mut otherwise = Vec::new();
        if self.eat(Tok::Else) {
            if self.peek() == Tok::If {
                let start = self.span();
                let kind = self.branch()?;
                otherwise.push(Stmt { kind, span: self.since(start) });
            } else {
                otherwise = self.block()?;
            }
        }
        self.depth -= 1;
        Ok(StmtKind::If { condition, then, otherwise })
    }

    fn for_loop(&mut self) -> Checked<StmtKind> {
        self.next();
        let hint = "a loop is `for a in accounts { .. }` or `for i in 1..3 { .. }`";
        let name = self.ident("a name for the row or number")?;
        self.expect(Tok::In, "`in`", hint)?;
        let is_locked = self.peek_at(1) == Tok::For && self.is_word(2, "update") && self.peek_at(3) == Tok::LeftBrace;
        if self.peek() == Tok::Name && (self.peek_at(1) == Tok::LeftBrace || is_locked) {
            let table = self.ident("a table")?;
            let mode = self.locking()?;
            return Ok(StmtKind::ForRows { row: name, table, mode, body: self.block()? });
        }
        let low = self.expr()?;
        self.expect(Tok::DotDot, "`..`", hint)?;
        let high = self.expr()?;
        Ok(StmtKind::ForRange { name, low, high, body: self.block()? })
    }

    fn target(&mut self, example: &str) -> Checked<Target> {
        if self.peek() == Tok::Name && self.peek_at(1) != Tok::LeftBracket {
            return Ok(Target::Name(self.ident("a row")?));
        }
        Ok(Target::Row(self.row(example)?))
    }

    /// The fields in braces; nothing is no field.
    fn record(&mut self) -> Checked<Vec<(Ident, Expr)>> {
        let mut fields = Vec::new();
        if self.eat(Tok::LeftBrace) {
            while !self.eat(Tok::RightBrace) {
                let field = self.ident("the name of a field or `}`")?;
                self.expect(Tok::Colon, "`:`", "a field has its value after a colon, as in `{ balance: 0 }`")?;
                fields.push((field, self.expr()?));
                self.field_separator()?;
            }
        }
        Ok(fields)
    }

    fn assignment(&mut self) -> Checked<StmtKind> {
        let target = self.access()?;
        let op = match self.peek() {
            Tok::Assign => AssignOp::Set,
            Tok::AddAssign => AssignOp::Add,
            Tok::SubAssign => AssignOp::Sub,
            Tok::Equal => return self.expected("`=`", "`==` compares; a statement writes with `=`"),
            _ => return self.expected("`=`, `+=` or `-=`", "a statement that starts with a name writes to it"),
        };
        self.next();
        Ok(StmtKind::Assign { target, op, value: self.expr()? })
    }
}
