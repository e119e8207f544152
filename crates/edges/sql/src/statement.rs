//! Statements of transactions: what each becomes, and how IF nests them.

use crate::Piece;
use crate::condition::{Key, keys_among, mentions, named, taken_apart};
use crate::expression::{Found, RowInScope, Scope};
use crate::names::{name, plain};
use crate::query::{Simple, bare};
use crate::tokens::{Done, Mistake, at, expression, fail, is_word, statement};
use sqlparser::ast::{BinaryOperator, Expr, FromTable, Query, Statement, TableWithJoins, Update};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What stands in a transaction.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// A statement of SQL, without its semicolon.
    Sql(Vec<TokenWithSpan>),
    /// `IF .. THEN .. ELSE .. END IF`.
    If {
        at: (u32, u32),
        condition: Vec<TokenWithSpan>,
        then: Vec<Item>,
        otherwise: Option<((u32, u32), Vec<Item>)>,
        end: (u32, u32),
    },
    Rollback((u32, u32)),
}

impl Scope<'_> {
    pub(crate) fn block(&mut self, items: &[Item], indent: usize, out: &mut Vec<Piece>) -> Done<()> {
        let n_values = self.values.len();
        for (idx, item) in items.iter().enumerate() {
            let asks = matches!(items.get(idx + 1), Some(Item::If { condition, .. }) if asks_for_found(condition));
            self.item(item, asks, indent, out)?;
        }
        self.values.truncate(n_values);
        self.found = None;
        Ok(())
    }

    fn item(&mut self, item: &Item, asks: bool, indent: usize, out: &mut Vec<Piece>) -> Done<()> {
        let mut piece = |at: (u32, u32), text: String| out.push(Piece { line: at.0, indent, text });
        match item {
            Item::Rollback(at) => piece(*at, "abort".to_owned()),
            Item::Sql(tokens) => {
                self.at = tokens.first().map_or(self.at, at);
                self.found = None;
                let line = self.at;
                for text in self.sql(tokens, asks)? {
                    piece(line, text);
                }
            }
            Item::If { at: start, condition, then, otherwise, end } => {
                self.at = *start;
                let condition = self.expr(&expression(condition)?)?;
                piece(*start, format!("if {} {{", bare(&condition)));
                self.found = None;
                self.block(then, indent + 1, out)?;
                if let Some((at, otherwise)) = otherwise {
                    out.push(Piece { line: at.0, indent, text: "} else {".to_owned() });
                    self.block(otherwise, indent + 1, out)?;
                }
                out.push(Piece { line: end.0, indent, text: "}".to_owned() });
            }
        }
        Ok(())
    }

    /// One statement of SQL, as statements of a program.
    fn sql(&mut self, tokens: &[TokenWithSpan], asks: bool) -> Done<Vec<String>> {
        if is_word(&tokens[0], "set") || is_word(&tokens[0], "assert") {
            return self.other(tokens);
        }
        if ["for", "foreach", "while", "loop", "repeat"].iter().any(|it| is_word(&tokens[0], it)) {
            let hint = "write one statement for all rows, as in UPDATE t SET a = a + 1 WHERE .., or one for each row";
            return fail(self.at, "loops are not understood", hint);
        }
        let (names, tokens) = self.without_into(tokens)?;
        match statement(&tokens).map_err(|it| begun_wrongly(*it, &tokens[0]))? {
            Statement::Query(query) => self.select(&query, &names, asks),
            Statement::Insert(insert) => {
                let count = asks.then(|| self.count());
                self.insert(&insert, count.as_deref())
            }
            Statement::Update(update) => self.update(&update, asks),
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                let [from] = &from[..] else {
                    return fail(self.at, "DELETE is about one table", "as in DELETE FROM t WHERE id = 1");
                };
                let is_plain = delete.using.is_none() && delete.returning.is_none() && delete.limit.is_none();
                if !is_plain || !delete.order_by.is_empty() {
                    return fail(
                        self.at,
                        "USING, RETURNING, ORDER BY and LIMIT are not understood",
                        "DELETE FROM t WHERE ..",
                    );
                }
                self.change(from, delete.selection.as_ref(), None, asks)
            }
            other => {
                let hint = "a transaction has SELECT, INSERT, UPDATE, DELETE, IF, SET name = .. and ROLLBACK";
                let words = other.to_string();
                let first: Vec<&str> = words.split_whitespace().take(3).collect();
                fail(self.at, format!("`{} ..` is not understood in a transaction", first.join(" ")), hint)
            }
        }
    }

    /// `SET name = e` and `ASSERT c`.
    fn other(&mut self, tokens: &[TokenWithSpan]) -> Done<Vec<String>> {
        if is_word(&tokens[0], "assert") {
            let condition = self.expr(&expression(&tokens[1..])?)?;
            return Ok(vec![format!("assert {}", bare(&condition))]);
        }
        let colon = usize::from(tokens.get(1).is_some_and(|it| it.token == Token::Colon));
        let (Some(target), Some(sign)) = (tokens.get(1 + colon), tokens.get(2 + colon)) else {
            return fail(self.at, "SET needs a name and a value", "as in SET total = :a + :b");
        };
        let (Token::Word(word), Token::Eq | Token::Assignment) = (&target.token, &sign.token) else {
            let hint = "levels are asked about with --database or --level; SET name = .. names a value";
            return fail(self.at, "this SET is not understood", hint);
        };
        let value = self.expr(&expression(&tokens[3 + colon..])?)?;
        let name = self.new_value(&word.value, at(target))?;
        Ok(vec![format!("let {name} = {}", bare(&value))])
    }

    fn new_value(&mut self, text: &str, at: (u32, u32)) -> Done<String> {
        let name = plain(&text.to_lowercase());
        if self.values.contains(&name) || self.params.contains(&name) {
            return fail(at, format!("`{name}` has a value already"), "a value keeps its name: choose another one");
        }
        self.values.push(name.clone());
        Ok(name)
    }

    fn count(&mut self) -> String {
        let name = self.fresh.name("n");
        self.found = Some(Found::Count(name.clone()));
        name
    }

    /// Takes `INTO a, b` out of a SELECT.
    fn without_into(&mut self, tokens: &[TokenWithSpan]) -> Done<(Vec<String>, Vec<TokenWithSpan>)> {
        if !is_word(&tokens[0], "select") {
            return Ok((Vec::new(), tokens.to_vec()));
        }
        let Some(into) = tokens.iter().position(|it| is_word(it, "into")) else {
            return Ok((Vec::new(), tokens.to_vec()));
        };
        let mut names = Vec::new();
        let mut next = into + 1;
        loop {
            if tokens.get(next).is_some_and(|it| it.token == Token::Colon) {
                next += 1;
            }
            let Some(Token::Word(word)) = tokens.get(next).map(|it| &it.token) else {
                return fail(at(&tokens[into]), "INTO needs names", "as in SELECT a, b INTO x, y FROM t WHERE id = 1");
            };
            names.push((word.value.clone(), at(&tokens[next])));
            next += 1;
            if tokens.get(next).is_none_or(|it| it.token != Token::Comma) {
                break;
            }
            next += 1;
        }
        let names = names.into_iter().map(|(text, at)| self.new_value(&text, at)).collect::<Done<Vec<_>>>()?;
        Ok((names, [&tokens[..into], &tokens[next..]].concat()))
    }

    fn select(&mut self, query: &Query, names: &[String], asks: bool) -> Done<Vec<String>> {
        let mut exists_only = None;
        if let sqlparser::ast::SetExpr::Select(select) = &*query.body
            && let ([sqlparser::ast::SelectItem::UnnamedExpr(Expr::Exists { subquery, negated })], []) =
                (&select.projection[..], &select.from[..])
        {
            exists_only = Some((subquery, *negated));
        }
        if let Some((subquery, negated)) = exists_only {
            let value = crate::expression::negation(negated, &self.exists(subquery)?);
            let name = self.only_name(names, query)?;
            return Ok(vec![format!("let {name} = {}", bare(&value))]);
        }
        let simple = self.simple(query)?;
        if let [only] = simple.projection[..]
            && let Some(value) = self.aggregate(only, &simple)?
        {
            let name = self.only_name(names, query)?;
            return Ok(vec![format!("let {name} = {}", bare(&value))]);
        }
        if simple.projection.len() > 1 && simple.projection.iter().any(|it| is_aggregate(it)) {
            let hint = "ask for one after the other, each with a statement of its own";
            return fail(self.at, "a SELECT has one count or sum", hint);
        }
        self.select_row(query, &simple, names, asks)
    }

    fn only_name(&mut self, names: &[String], query: &Query) -> Done<String> {
        match names {
            [] => Ok(self.fresh.name("unused")),
            [name] => Ok(name.clone()),
            _ => fail(self.place(query), "this SELECT has one value", "name it with INTO name"),
        }
    }

    /// Values of a row that is named by its key, or a look at all rows.
    fn select_row(&mut self, query: &Query, simple: &Simple<'_>, names: &[String], asks: bool) -> Done<Vec<String>> {
        let (of, rest) = self.one_row(simple)?;
        if of.is_none() && names.is_empty() {
            return self.look_at_all(simple, &rest, asks);
        }
        let values = self.of_one_row(simple, query)?;
        if !names.is_empty() && names.len() != values.len() {
            let message = format!("{} values go into {} names", values.len(), names.len());
            return fail(self.place(query), message, "each value has one name: SELECT a, b INTO x, y");
        }
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (idx, value) in values.iter().enumerate() {
            let name = match names.get(idx) {
                Some(name) => name.clone(),
                None => self.fresh.name("unused"),
            };
            pairs.push((name, bare(value).to_owned()));
        }
        if asks || pairs.is_empty() {
            let name = self.fresh.name(if asks { "found" } else { "unused" });
            pairs.push((name.clone(), bare(&self.exists_in(simple)?).to_owned()));
            if asks {
                self.found = Some(Found::Truth(name));
            }
        }
        let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name} = {value}")).collect();
        Ok(vec![format!("let {}", pairs.join(", "))])
    }

    /// A SELECT whose rows nobody takes: it reads, and perhaps locks.
    fn look_at_all(&mut self, simple: &Simple<'_>, rest: &[&Expr], asks: bool) -> Done<Vec<String>> {
        if simple.locks && !rest.is_empty() {
            let keys = keys_among(rest, &self.tables[simple.table], &simple.names);
            return match keys {
                Some(keys) => self.lock_each(simple, &keys, asks),
                None => self.no_locked_range(rest[0]),
            };
        }
        let name = self.fresh.name(if asks { "found" } else { "unused" });
        let value = self.exists_in(simple)?;
        if asks {
            self.found = Some(Found::Truth(name.clone()));
        }
        Ok(vec![format!("let {name} = {}", bare(&value))])
    }

    /// One statement that locks several rows.
    fn lock_each(&mut self, simple: &Simple<'_>, keys: &[Key<'_>], asks: bool) -> Done<Vec<String>> {
        let table = self.tables[simple.table].name.clone();
        let (mut names, mut locked) = (Vec::new(), Vec::new());
        for key in keys {
            let key = match key {
                Key::Said(expr) => self.expr(expr)?,
                Key::Number(number) => number.to_string(),
            };
            let name = self.fresh.name("locked");
            locked.push(format!("{name} = exists {table}[{}] for update", bare(&key)));
            names.push(name);
        }
        let mut texts = vec![format!("let {}", locked.join(", "))];
        if asks {
            let found = self.fresh.name("found");
            texts.push(format!("let {found} = {}", names.join(" or ")));
            self.found = Some(Found::Truth(found));
        }
        Ok(texts)
    }

    fn update(&mut self, update: &Update, asks: bool) -> Done<Vec<String>> {
        let is_plain =
            update.from.is_none() && update.returning.is_none() && update.or.is_none() && update.limit.is_none();
        if !is_plain || !update.order_by.is_empty() {
            let hint = "write UPDATE t SET a = .. WHERE ..; what else is needed is read before, SELECT .. INTO";
            return fail(self.at, "FROM, RETURNING, ORDER BY and LIMIT are not understood", hint);
        }
        self.change(&update.table, update.selection.as_ref(), Some(update), asks)
    }

    /// UPDATE and DELETE.
    fn change(
        &mut self,
        from: &TableWithJoins,
        selection: Option<&Expr>,
        update: Option<&Update>,
        asks: bool,
    ) -> Done<Vec<String>> {
        let (table, names) = self.table_of(from)?;
        let of = self.tables[table].clone();
        let found = taken_apart(selection, &of, &names);
        let key = found.key.map(|it| self.expr(it)).transpose()?;
        if let (Some(key), [], false) = (&key, &found.rest[..], asks) {
            let access = format!("{}[{}]", of.name, bare(key));
            match update {
                None => return Ok(vec![format!("delete {access}")]),
                Some(update) => {
                    if let Some(text) = self.simple_update(&access, update, (table, &names))? {
                        return Ok(vec![text]);
                    }
                }
            }
        }
        let row = self.row_name();
        let named = named(&names, table, &row);
        let condition = self.conditions(&found.rest, named.clone())?;
        let condition = condition.map(|it| format!(" where {}", bare(&it))).unwrap_or_default();
        let of = key.map_or(of.name.clone(), |it| format!("{}[{}]", of.name, bare(&it)));
        let count = if asks { format!("let {} = ", self.count()) } else { String::new() };
        let text = match update {
            None => format!("{count}delete {row} in {of}{condition}"),
            Some(update) => {
                let fields = self.set(update, (table, named))?;
                format!("{count}update {row} in {of}{condition} {{ {fields} }}")
            }
        };
        Ok(vec![text])
    }

    fn set(&mut self, update: &Update, (table, row): (usize, RowInScope)) -> Done<String> {
        self.rows.push(row);
        let fields = self.assigned(table, &update.assignments);
        self.rows.pop();
        Ok(fields?.into_iter().map(|(field, value)| format!("{field}: {value}")).collect::<Vec<_>>().join(", "))
    }

    /// `t[k].f += e`, or `t[k].f = e` with a value that does not depend on the row.
    fn simple_update(&mut self, access: &str, update: &Update, of: (usize, &[String])) -> Done<Option<String>> {
        let [only] = &update.assignments[..] else { return Ok(None) };
        let table = self.tables[of.0].clone();
        let sqlparser::ast::AssignmentTarget::ColumnName(column) = &only.target else { return Ok(None) };
        let column = crate::names::object(column)?;
        if column == table.key.name || table.column(&column).is_none() {
            return Ok(None);
        }
        let is_column = |it: &Expr| match it {
            Expr::Identifier(ident) => name(ident) == column,
            Expr::CompoundIdentifier(parts) => {
                matches!(&parts[..], [table, it] if of.1.contains(&name(table)) && name(it) == column)
            }
            _ => false,
        };
        let is_free = |it: &Expr| !mentions(it, &table, of.1);
        match &only.value {
            value if is_free(value) => Ok(Some(format!("{access}.{column} = {}", bare(&self.expr(value)?)))),
            Expr::BinaryOp { left, op, right } => {
                let (sign, by) = match op {
                    BinaryOperator::Plus if is_column(left) && is_free(right) => ("+=", right),
                    BinaryOperator::Plus if is_column(right) && is_free(left) => ("+=", left),
                    BinaryOperator::Minus if is_column(left) && is_free(right) => ("-=", right),
                    _ => return Ok(None),
                };
                Ok(Some(format!("{access}.{column} {sign} {}", bare(&self.expr(by)?))))
            }
            _ => Ok(None),
        }
    }
}

/// What a statement of a transaction begins with.
const VERBS: [&str; 7] = ["SELECT", "INSERT", "UPDATE", "DELETE", "IF", "SET", "ROLLBACK"];

/// A first word that begins no statement gets the one that was meant, as far as that can be seen.
fn begun_wrongly(mistake: Mistake, first: &TokenWithSpan) -> Mistake {
    if mistake.at != at(first) || !mistake.message.starts_with("expected an SQL statement") {
        return mistake;
    }
    let word = first.token.to_string();
    let meant = VERBS.iter().find(|it| n_changes(&word.to_uppercase(), it) <= 2);
    let hint = match meant {
        Some(meant) => format!("perhaps this is to be {meant}"),
        None => "a transaction has SELECT, INSERT, UPDATE, DELETE, IF, SET name = .. and ROLLBACK".to_owned(),
    };
    Mistake { message: format!("no statement begins with `{word}`"), hint, ..mistake }
}

/// How many letters differ, are missing or are too many.
fn n_changes(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (idx, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], idx + 1);
        for place in 1..=other.len() {
            let changed = diagonal + usize::from(letter != other[place - 1]);
            diagonal = row[place];
            row[place] = changed.min(row[place - 1] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

fn is_aggregate(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_aggregate(inner),
        Expr::Function(function) => {
            ["count", "sum", "coalesce"].contains(&function.name.to_string().to_lowercase().as_str())
        }
        _ => false,
    }
}

fn asks_for_found(condition: &[TokenWithSpan]) -> bool {
    condition.iter().any(|it| is_word(it, "found") || is_word(it, "row_count"))
}
