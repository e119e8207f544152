//! From tokens to a syntax tree, by recursive descent with operator precedence. After an error it goes on at the next item.

use crate::error::{Problem, Span};
use crate::formula::{Sort, WitnessKind};
use crate::lexer::{Lexed, Tok, Token, lex};
use crate::syntax::{
    Annotation, Binary, Binder, Declared, Expr, ExprKind, Item, ItemKind, Name, Param, Postfix, Quantifier,
};

/// How deeply expressions may nest: later passes recurse over them.
const MAX_DEPTH: u32 = 100;
/// Texts beyond this are no specs.
const MAX_BYTES: usize = 1 << 20;

/// What was read: items, the number of binders in them, and everything that is wrong.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) items: Vec<Item>,
    pub(crate) n_binders: u32,
    pub(crate) problems: Vec<Problem>,
}

/// Reads a text. The items are those that could be read.
pub(crate) fn parse_items(text: &str) -> Parsed {
    if text.len() > MAX_BYTES {
        let problem = Problem::new(Span::default(), "this text is longer than a mebibyte", "a spec is a short text");
        return Parsed { problems: vec![problem], ..Parsed::default() };
    }
    let Lexed { tokens, docs, problems } = lex(text);
    let mut parser = Parser { text, tokens, docs, at: 0, depth: 0, n_binders: 0 };
    let mut parsed = Parsed { problems, ..Parsed::default() };
    while parser.peek() != Tok::End {
        match parser.item() {
            Ok(item) => parsed.items.push(item),
            Err(problem) => {
                parsed.problems.push(*problem);
                parser.skip_item();
            }
        }
    }
    parsed.n_binders = parser.n_binders;
    parsed
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    docs: Vec<Span>,
    at: usize,
    depth: u32,
    n_binders: u32,
}

/// Boxed, since errors are rare and results are many.
type Parse<T> = Result<T, Box<Problem>>;

fn fail<T>(at: Span, message: impl Into<String>, hint: impl Into<String>) -> Parse<T> {
    Err(Box::new(Problem::new(at, message, hint)))
}

impl Parser<'_> {
    fn peek(&self) -> Tok {
        self.tokens[self.at].tok
    }

    fn peek_second(&self) -> Tok {
        self.tokens.get(self.at + 1).map_or(Tok::End, |it| it.tok)
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, tok: Tok) -> bool {
        let found = self.peek() == tok;
        if found {
            self.next();
        }
        found
    }

    fn found(&self) -> String {
        match self.peek() {
            Tok::End => "the end of the text".to_owned(),
            _ => format!("`{}`", self.span().text(self.text)),
        }
    }

    fn expected<T>(&self, what: &str, hint: &str) -> Parse<T> {
        fail(self.span(), format!("expected {what}, found {}", self.found()), hint)
    }

    fn expect(&mut self, tok: Tok, what: &str, hint: &str) -> Parse<Span> {
        if self.peek() == tok { Ok(self.next().span) } else { self.expected(what, hint) }
    }

    fn name(&mut self, what: &str) -> Parse<(String, Span)> {
        let span = self.expect(Tok::Name, what, "a name is letters, digits and `_`, and no word of the language")?;
        Ok((span.text(self.text).to_owned(), span))
    }

    fn skip_item(&mut self) {
        self.depth = 0;
        while !self.peek().starts_item() {
            self.next();
        }
    }

    fn item(&mut self) -> Parse<Item> {
        let start = self.span();
        let docs = self.take_docs(start);
        let doc_start = docs.first().copied().unwrap_or(start);
        let docs = docs.iter().map(|it| it.text(self.text).trim_start_matches('/').trim().to_owned()).collect();
        let token = self.next();
        let (name, name_span, kind) = match token.tok {
            Tok::Import => self.import()?,
            Tok::Def => self.def()?,
            Tok::Level => self.level()?,
            Tok::Framework => self.framework()?,
            _ => {
                self.at = self.at.saturating_sub(1);
                let error = self.expected(
                    "`import`, `framework`, `def` or `level`",
                    "a spec is a list of these, as in `level ra in biswas = ...`",
                );
                self.next();
                return error;
            }
        };
        if !self.peek().starts_item() {
            return self
                .expected("the next definition", "an operator is missing before this, or it does not belong here");
        }
        Ok(Item { name, name_span, span: doc_start.to(self.last_span()), docs, kind })
    }

    /// The documentation lines between the item before and this one.
    fn take_docs(&mut self, item: Span) -> Vec<Span> {
        let from = if self.at == 0 { 0 } else { self.last_span().end };
        self.docs.iter().filter(|it| it.start >= from && it.start < item.start).copied().collect()
    }

    fn import(&mut self) -> Parse<(String, Span, ItemKind)> {
        if self.peek() == Tok::Text {
            let span = self.next().span;
            let path = span.text(self.text).trim_matches('"').to_owned();
            return Ok((path, span, ItemKind::Import { is_file: true }));
        }
        let (name, span) = self.name("a module of the catalogue, or a file in quotes")?;
        Ok((name, span, ItemKind::Import { is_file: false }))
    }

    fn def(&mut self) -> Parse<(String, Span, ItemKind)> {
        let (name, span) = self.name("the name of a definition")?;
        let close = match self.peek() {
            Tok::LeftParen => Some(Tok::RightParen),
            Tok::LeftBracket => Some(Tok::RightBracket),
            _ => None,
        };
        let mut params = Vec::new();
        if let Some(close) = close {
            self.next();
            params.push(self.param()?);
            while self.eat(Tok::Comma) {
                params.push(self.param()?);
            }
            self.expect(close, "`,` or the end of the parameters", "parameters are names, as in `def f(x, R) = ...`")?;
        }
        self.expect(Tok::Equal, "`=`", "a definition is `def name = ...` or `def name(parameters) = ...`")?;
        let body = self.expr()?;
        Ok((name, span, ItemKind::Def { params, body }))
    }

    fn param(&mut self) -> Parse<Param> {
        let (name, span) = self.name("the name of a parameter")?;
        let annotation = if self.eat(Tok::Colon) { Some(self.annotation()?) } else { None };
        Ok(Param { name, annotation, span })
    }

    fn annotation(&mut self) -> Parse<Annotation> {
        let word = self.span().text(self.text);
        let annotation = match word {
            "relation" => Some(Annotation::Relation),
            "set" => Some(Annotation::Set),
            "formula" => Some(Annotation::Formula),
            _ => sort_named(word).map(Annotation::Element),
        };
        match annotation {
            Some(annotation) => {
                self.next();
                Ok(annotation)
            }
            None => {
                self.expected("`txn`, `key`, `read`, `relation`, `set` or `formula`", "this says what a parameter is")
            }
        }
    }

    fn level(&mut self) -> Parse<(String, Span, ItemKind)> {
        let (name, span) = self.name("the name of a level")?;
        self.expect(Tok::In, "`in` and a framework", "a level says what must exist: `level ra in biswas = ...`")?;
        let framework_span = self.span();
        let framework = self.qualified("the name of a framework")?;
        let (mut dirty_reads, mut hidden_rows) = (false, false);
        if self.eat(Tok::Allowing) {
            let is_it = |it: &Self, word: &str| it.span().text(it.text) == word;
            hidden_rows = is_it(self, "hidden");
            dirty_reads = !hidden_rows;
            for word in if hidden_rows { ["hidden", "rows"] } else { ["dirty", "reads"] } {
                if !is_it(self, word) {
                    return self.expected(
                        "`dirty reads`",
                        "`allowing dirty reads` and `allowing hidden rows` are all that a level may allow",
                    );
                }
                self.next();
            }
        }
        self.expect(Tok::Equal, "`=`", "a level is `level name in framework = formula`")?;
        let body = self.expr()?;
        Ok((name, span, ItemKind::Level { framework, framework_span, dirty_reads, hidden_rows, body }))
    }

    fn qualified(&mut self, what: &str) -> Parse<Name> {
        let (first, _) = self.name(what)?;
        if self.peek() == Tok::Dot && self.peek_second() == Tok::Name {
            self.next();
            let (name, _) = self.name("a name")?;
            return Ok(Name { module: Some(first), name });
        }
        Ok(Name { module: None, name: first })
    }

    fn framework(&mut self) -> Parse<(String, Span, ItemKind)> {
        let (name, span) = self.name("the name of a framework")?;
        let hint = "a framework is `framework name { order co; require so | wr in co }`";
        self.expect(Tok::LeftBrace, "`{`", hint)?;
        let (mut witnesses, mut requirements) = (Vec::new(), Vec::new());
        while !self.eat(Tok::RightBrace) {
            match self.next().tok {
                Tok::Order => self.declare(WitnessKind::Order, &mut witnesses)?,
                Tok::Relation => self.declare(WitnessKind::Relation, &mut witnesses)?,
                Tok::Versions => self.declare(WitnessKind::Versions, &mut witnesses)?,
                Tok::Require => requirements.push(self.expr()?),
                Tok::Semicolon => {}
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return self.expected("`order`, `relation`, `versions`, `require` or `}`", hint);
                }
            }
        }
        Ok((name, span, ItemKind::Framework { witnesses, requirements }))
    }

    fn declare(&mut self, kind: WitnessKind, witnesses: &mut Vec<Declared>) -> Parse<()> {
        loop {
            let (name, span) = self.name("the name of a witness")?;
            witnesses.push(Declared { name, kind, span });
            if !self.eat(Tok::Comma) {
                return Ok(());
            }
        }
    }

    fn expr(&mut self) -> Parse<Expr> {
        self.binary(0)
    }

    fn node(&self, kind: ExprKind, start: Span, depth: u32) -> Parse<Expr> {
        let span = start.to(self.last_span());
        if depth > MAX_DEPTH {
            return fail(start, "this expression is nested too deeply", "name its parts with `def`");
        }
        Ok(Expr { kind, span, depth: depth + 1 })
    }

    /// An expression whose operators bind tighter than `least`.
    fn binary(&mut self, least: u8) -> Parse<Expr> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return fail(self.span(), "this expression is nested too deeply", "name its parts with `def`");
        }
        let mut left = self.prefix()?;
        while let Some((operator, power, right_power)) = infix(self.peek()) {
            let is_separator = self.peek() == Tok::Semicolon && self.peek_second().starts_clause();
            if power <= least || is_separator {
                break;
            }
            self.next();
            let right = self.binary(right_power)?;
            if power == COMPARISON && infix(self.peek()).is_some_and(|it| it.1 == COMPARISON) {
                let hint = "join them with `and`, or use parentheses";
                return fail(self.span(), "comparisons do not chain", hint);
            }
            let (start, depth) = (left.span, left.depth.max(right.depth));
            left = self.node(ExprKind::Binary(operator, Box::new(left), Box::new(right)), start, depth)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Parse<Expr> {
        let start = self.span();
        match self.peek() {
            Tok::Not => {
                self.next();
                let of = self.binary(COMPARISON - 1)?;
                let depth = of.depth;
                self.node(ExprKind::Not(Box::new(of)), start, depth)
            }
            Tok::Forall => self.quantified(Quantifier::Forall),
            Tok::Exists => self.quantified(Quantifier::Exists),
            _ => self.postfix(),
        }
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Parse<Expr> {
        let start = self.next().span;
        let binders = self.binders()?;
        let hint = "a quantifier is `forall x, t1, t2: ...`, a colon after its variables";
        self.expect(Tok::Colon, "`,` or `:`", hint)?;
        let body = self.binary(0)?;
        let depth = body.depth;
        self.node(ExprKind::Quantified(quantifier, binders, Box::new(body)), start, depth)
    }

    fn binders(&mut self) -> Parse<Vec<Binder>> {
        let mut binders: Vec<Binder> = Vec::new();
        loop {
            let (name, span) = self.name("a variable")?;
            if binders.iter().any(|it| it.name == name) {
                return fail(span, format!("`{name}` is bound twice here"), "give one of them another name");
            }
            let sort = if self.peek() == Tok::Colon { self.sort_after_colon()? } else { None };
            binders.push(Binder { name, sort, span, id: self.n_binders });
            self.n_binders += 1;
            if !self.eat(Tok::Comma) {
                return Ok(binders);
            }
        }
    }

    /// `: txn`, unless the colon starts the body: then a sort's name is no sort.
    fn sort_after_colon(&mut self) -> Parse<Option<Sort>> {
        let second = self.tokens.get(self.at + 1);
        let third = self.tokens.get(self.at + 2).map_or(Tok::End, |it| it.tok);
        let sort = second.and_then(|it| sort_named(it.span.text(self.text)));
        if sort.is_some() && matches!(third, Tok::Comma | Tok::Colon | Tok::Bar) {
            self.next();
            self.next();
            return Ok(sort);
        }
        let is_word = second.is_some_and(|it| it.tok == Tok::Name);
        if is_word && matches!(third, Tok::Comma | Tok::Colon) {
            self.next();
            return self.expected("`txn`, `key` or `read`", "these are the sorts of variables");
        }
        Ok(None)
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let mut of = self.primary()?;
        let start = of.span;
        loop {
            let simple = match self.peek() {
                Tok::Inverse => Some(Postfix::Inverse),
                Tok::Plus => Some(Postfix::Closure),
                Tok::Star => Some(Postfix::ReflexiveClosure),
                Tok::Question => Some(Postfix::Reflexive),
                _ => None,
            };
            let kind = match (simple, self.peek()) {
                (Some(postfix), _) => {
                    self.next();
                    let depth = of.depth;
                    of = self.node(ExprKind::Postfix(postfix, Box::new(of)), start, depth)?;
                    continue;
                }
                (None, Tok::LeftParen) => (Tok::RightParen, true),
                (None, Tok::LeftBracket) => (Tok::RightBracket, false),
                _ => return Ok(of),
            };
            self.next();
            let args = self.arguments(kind.0)?;
            let depth = args.iter().map(|it| it.depth).max().unwrap_or(0).max(of.depth);
            let of_box = Box::new(of);
            let applied = if kind.1 { ExprKind::Apply(of_box, args) } else { ExprKind::Index(of_box, args) };
            of = self.node(applied, start, depth)?;
        }
    }

    fn arguments(&mut self, close: Tok) -> Parse<Vec<Expr>> {
        let mut args = vec![self.expr()?];
        while self.eat(Tok::Comma) {
            args.push(self.expr()?);
        }
        let what = if close == Tok::RightParen { "`,` or `)`" } else { "`,` or `]`" };
        self.expect(close, what, "the arguments end here")?;
        Ok(args)
    }

    fn primary(&mut self) -> Parse<Expr> {
        let start = self.span();
        match self.peek() {
            Tok::Name => {
                let name = self.qualified("a name")?;
                self.node(ExprKind::Name(name), start, 0)
            }
            Tok::True | Tok::False => {
                let truth = self.next().tok == Tok::True;
                self.node(ExprKind::Truth(truth), start, 0)
            }
            Tok::LeftParen => {
                self.next();
                let mut inner = self.arguments(Tok::RightParen)?;
                let depth = inner.iter().map(|it| it.depth).max().unwrap_or(0);
                match inner.pop() {
                    Some(only) if inner.is_empty() => {
                        let depth = only.depth;
                        self.node(only.kind, start, depth - 1)
                    }
                    last => {
                        inner.extend(last);
                        self.node(ExprKind::Tuple(inner), start, depth)
                    }
                }
            }
            Tok::LeftBracket => {
                self.next();
                let set = self.expr()?;
                self.expect(Tok::RightBracket, "`]`", "`[S]` relates each member of the set S to itself")?;
                let depth = set.depth;
                self.node(ExprKind::On(Box::new(set)), start, depth)
            }
            Tok::LeftBrace => {
                self.next();
                let binders = self.binders()?;
                self.expect(Tok::Bar, "`|`", "a set is `{ t | ... }`, a relation `{ a, b | ... }`")?;
                let body = self.expr()?;
                self.expect(Tok::RightBrace, "`}`", "the formula of a set or relation ends with `}`")?;
                let depth = body.depth;
                self.node(ExprKind::Such(binders, Box::new(body)), start, depth)
            }
            _ => self.expected("a formula, a relation or a set", "something is missing here"),
        }
    }
}

const COMPARISON: u8 = 6;

/// The operator, how tightly it binds to its left, and to its right.
fn infix(tok: Tok) -> Option<(Binary, u8, u8)> {
    Some(match tok {
        Tok::Iff => (Binary::Iff, 1, 1),
        Tok::Implies => (Binary::Implies, 2, 1),
        Tok::Or => (Binary::Or, 3, 3),
        Tok::And => (Binary::And, 4, 4),
        Tok::In => (Binary::In, COMPARISON, COMPARISON),
        Tok::Equal => (Binary::Equal, COMPARISON, COMPARISON),
        Tok::NotEqual => (Binary::NotEqual, COMPARISON, COMPARISON),
        Tok::Bar => (Binary::Union, 7, 7),
        Tok::Minus => (Binary::Difference, 7, 7),
        Tok::Ampersand => (Binary::Intersection, 8, 8),
        Tok::Semicolon | Tok::Compose => (Binary::Composition, 9, 9),
        _ => return None,
    })
}

fn sort_named(word: &str) -> Option<Sort> {
    [Sort::Txn, Sort::Key, Sort::Read].into_iter().find(|it| it.name() == word)
}
