//! Statements of transactions and of `init`.

use super::Parser;
use crate::error::Checked;
use crate::lexer::Tok;
use crate::syntax::{AssignOp, Change, Conflict, Expr, Ident, Row, Rows, Stmt, StmtKind, Target};

/// The name of a new row, if it has one, its place, and its fields.
type NewRow = (Option<Ident>, Row, Vec<(Ident, Expr)>);

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
        let mut start = self.span();
        let kind = match self.peek() {
            Tok::Let if self.is_change(3) => {
                self.next();
                let count = self.ident("a name")?;
                self.expect(Tok::Assign, "`=`", "how many rows were changed is `let n = update r in t { .. }`")?;
                start = self.span();
                StmtKind::Change { count: Some(count), change: self.change()? }
            }
            Tok::Let => self.binding()?,
            _ if self.is_change(0) => self.plain_change()?,
            Tok::If => self.branch()?,
            Tok::For => self.for_loop()?,
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

    /// Does a change of rows begin so many tokens ahead?
    fn is_change(&self, ahead: usize) -> bool {
        let is_named = self.peek_at(ahead + 1) == Tok::Name && self.peek_at(ahead + 2) == Tok::In;
        match self.peek_at(ahead) {
            Tok::Insert => true,
            Tok::Delete => is_named,
            _ => is_named && self.is_word(ahead, "update"),
        }
    }

    /// A change that nobody counts. An `insert` without `on conflict` is a statement of its own.
    fn plain_change(&mut self) -> Checked<StmtKind> {
        if self.peek() != Tok::Insert {
            return Ok(StmtKind::Change { count: None, change: self.change()? });
        }
        let (name, row, fields) = self.new_row()?;
        if name.is_none() && !self.is_word(0, "on") {
            return Ok(StmtKind::Insert { row, fields });
        }
        Ok(StmtKind::Change { count: None, change: self.conflict(name, row, fields)? })
    }

    fn change(&mut self) -> Checked<Change> {
        if self.peek() == Tok::Insert {
            let (name, row, fields) = self.new_row()?;
            return self.conflict(name, row, fields);
        }
        let is_delete = self.next().tok == Tok::Delete;
        let row = self.ident("a name for the row")?;
        self.expect(Tok::In, "`in`", "as in `update a in accounts where a.balance < 0 { balance: 0 }`")?;
        let of = if self.peek_at(1) == Tok::LeftBracket {
            Rows::One(self.row("`accounts[\"x\"]`")?)
        } else {
            Rows::All(self.ident("a table")?)
        };
        let has_condition = self.is_word(0, "where");
        if has_condition {
            self.next();
        }
        let condition = if has_condition { Some(self.expr()?) } else { None };
        if is_delete {
            return Ok(Change::Delete { row, of, condition });
        }
        if self.peek() != Tok::LeftBrace {
            return self.expected("`where` or `{`", "as in `update a in accounts where a.balance < 0 { balance: 0 }`");
        }
        Ok(Change::Update { row, of, condition, fields: self.record()? })
    }

    fn new_row(&mut self) -> Checked<NewRow> {
        self.next();
        let mut name = None;
        if self.peek() == Tok::Name && self.peek_at(1) == Tok::In {
            name = Some(self.ident("a name for the row")?);
            self.next();
        }
        Ok((name, self.row("`insert seats[1] { free: true }`")?, self.record()?))
    }

    fn conflict(&mut self, name: Option<Ident>, row: Row, fields: Vec<(Ident, Expr)>) -> Checked<Change> {
        let hint = "write `on conflict nothing`, or `on conflict update { f: e }`";
        if !self.is_word(0, "on") || !self.is_word(1, "conflict") {
            return self.expected("`on conflict`", hint);
        }
        self.next();
        self.next();
        let conflict = if self.is_word(0, "nothing") {
            self.next();
            Conflict::Nothing
        } else if self.is_word(0, "update") {
            self.next();
            Conflict::Update(self.record()?)
        } else {
            return self.expected("`nothing` or `update`", hint);
        };
        Ok(Change::Insert { name, row, fields, conflict })
    }

    fn binding(&mut self) -> Checked<StmtKind> {
        self.next();
        let name = self.ident("a name")?;
        self.expect(Tok::Assign, "`=`", "a name is given to a value with `let total = x + y`")?;
        let value = self.expr()?;
        if self.peek() != Tok::Comma {
            return Ok(StmtKind::Let { name, value });
        }
        let mut all = vec![(name, value)];
        while self.eat(Tok::Comma) {
            let name = self.ident("a name")?;
            self.expect(Tok::Assign, "`=`", "several values of one SELECT are `let a = t[1].a, b = t[1].b`")?;
            all.push((name, self.expr()?));
        }
        Ok(StmtKind::Select(all))
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
