//! The parser, which climbs operator precedences.

use std::sync::Arc;

use super::ast::{Expr, ExprKind};
use super::macros::member_call;
use super::names::RESERVED;
use super::nodes::{balanced, call, global_call, node, select, too_deep};
use super::token::{NOWHERE, Problem, Token, tokens};
use crate::limits::{MAX_CEL_DEPTH, MAX_CEL_SOURCE};

const PRIMARY: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
                       STRING, BYTES, IDENTIFIER}";

/// Parses a rule.
///
/// Invariant: no tree is higher than [`MAX_CEL_DEPTH`], whether it consists of brackets or of chains of operators,
/// fields or calls. Chains of `&&` and `||` become balanced trees, so they may be as long as the source.
///
/// # Errors
/// The first syntax error.
pub(crate) fn parse(source: &str) -> Result<Expr, Problem> {
    let size = source.chars().count();
    if size > MAX_CEL_SOURCE {
        let message =
            format!("expression code point size exceeds limit: size: {size}, limit {MAX_CEL_SOURCE}");
        return Err(Problem { at: NOWHERE, message });
    }
    let mut parser = Parser { tokens: tokens(source)?, next: 0, depth: 0 };
    let expr = parser.ternary()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => {
            // ANTLR calls a single surplus token extraneous, because it can recover by skipping it.
            let what = if parser.next + 2 >= parser.tokens.len() { "extraneous" } else { "mismatched" };
            let message = format!("Syntax error: {what} input '{}' expecting <EOF>", parser.text());
            Err(Problem { at: parser.at(), message })
        }
    }
}

pub(super) struct Parser {
    pub(super) tokens: Vec<(usize, Token)>,
    pub(super) next: usize,
    depth: usize,
}

/// The operators whose chains become balanced trees, weakest first.
const JUNCTIONS: [(&str, &str); 2] = [("||", "_||_"), ("&&", "_&&_")];

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    pub(super) fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |(at, _)| *at)
    }

    pub(super) fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        token
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    pub(super) fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.take();
        }
        found
    }

    fn text(&self) -> String {
        match self.peek() {
            Token::Ident(name) => name.to_string(),
            Token::Int(n) | Token::Uint(n) => n.to_string(),
            Token::Double(n) => n.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Bytes(_) => "b''".into(),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::End => "<EOF>".into(),
        }
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T, Problem> {
        let message = format!("Syntax error: mismatched input '{}' expecting {what}", self.text());
        Err(Problem { at: self.at(), message })
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Result<(), Problem> {
        if self.accept(symbol) { Ok(()) } else { self.expected(&format!("'{symbol}'")) }
    }

    /// Parses a whole expression. Brackets and arguments begin here, too, so `depth` limits the recursion.
    pub(super) fn ternary(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > MAX_CEL_DEPTH {
            return Err(too_deep());
        }
        let condition = self.junction(0)?;
        let at = self.at();
        let result = if self.accept("?") {
            let then = self.junction(0)?;
            self.expect(":")?;
            let other = self.ternary()?;
            call(at, "_?_:_", vec![condition, then, other])?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    /// Parses `a || b || c`, and on the next level `a && b && c`.
    fn junction(&mut self, level: usize) -> Result<Expr, Problem> {
        let Some((symbol, name)) = JUNCTIONS.get(level) else { return self.binary(0) };
        let first = self.junction(level + 1)?;
        if !self.is(symbol) {
            return Ok(first);
        }
        let (mut terms, mut operators) = (vec![first], Vec::new());
        while self.is(symbol) {
            operators.push(self.at());
            self.take();
            terms.push(self.junction(level + 1)?);
        }
        match balanced(name, &mut terms.into_iter(), &operators)? {
            Some(tree) => Ok(tree),
            None => self.expected(PRIMARY),
        }
    }

    /// Returns the precedence and the internal name of the operator at the next token.
    fn operator(&self) -> Option<(u8, &'static str)> {
        Some(match self.peek() {
            Token::Symbol("==") => (0, "_==_"),
            Token::Symbol("!=") => (0, "_!=_"),
            Token::Symbol("<") => (0, "_<_"),
            Token::Symbol("<=") => (0, "_<=_"),
            Token::Symbol(">") => (0, "_>_"),
            Token::Symbol(">=") => (0, "_>=_"),
            Token::Ident(name) if &**name == "in" => (0, "@in"),
            Token::Symbol("+") => (1, "_+_"),
            Token::Symbol("-") => (1, "_-_"),
            Token::Symbol("*") => (2, "_*_"),
            Token::Symbol("/") => (2, "_/_"),
            Token::Symbol("%") => (2, "_%_"),
            _ => return None,
        })
    }

    fn binary(&mut self, level: u8) -> Result<Expr, Problem> {
        let mut left = self.unary()?;
        while let Some((found, name)) = self.operator().filter(|(found, _)| *found >= level) {
            let at = self.at();
            self.take();
            let right = self.binary(found + 1)?;
            left = call(at, name, vec![left, right])?;
        }
        Ok(left)
    }

    /// Parses `!a` and `-a`. Two equal operators cancel each other out.
    fn unary(&mut self) -> Result<Expr, Problem> {
        let at = self.at();
        let (symbol, name) = if self.is("!") { ("!", "!_") } else { ("-", "-_") };
        let mut count = 0;
        while self.accept(symbol) {
            count += 1;
        }
        if count == 1
            && symbol == "-"
            && let Some(literal) = self.negative(at)?
        {
            return self.postfix(literal);
        }
        let member = self.member()?;
        if count % 2 == 0 { Ok(member) } else { call(at, name, vec![member]) }
    }

    /// Parses a number after its minus sign.
    fn negative(&mut self, at: usize) -> Result<Option<Expr>, Problem> {
        let kind = match *self.peek() {
            Token::Int(n) => match 0i64.checked_sub_unsigned(n) {
                Some(value) => ExprKind::Int(value),
                None => return Err(Problem { at, message: "invalid int literal".into() }),
            },
            Token::Double(n) => ExprKind::Double(-n),
            _ => return Ok(None),
        };
        self.take();
        node(at, kind).map(Some)
    }

    fn member(&mut self) -> Result<Expr, Problem> {
        let primary = self.primary()?;
        self.postfix(primary)
    }

    fn postfix(&mut self, mut expr: Expr) -> Result<Expr, Problem> {
        loop {
            let at = self.at();
            if self.accept(".") {
                let optional = self.accept("?");
                let field = match self.peek().clone() {
                    Token::Ident(name) => {
                        self.take();
                        name
                    }
                    _ => return self.expected("IDENTIFIER"),
                };
                let open = self.at();
                if !optional && self.accept("(") {
                    let args = self.arguments(")")?;
                    expr = member_call(open, expr, field, args)?;
                } else {
                    expr = select(at, expr, field, optional)?;
                }
            } else if self.accept("[") {
                let optional = self.accept("?");
                let index = self.ternary()?;
                self.expect("]")?;
                let name = if optional { "_[?_]" } else { "_[_]" };
                expr = call(at, name, vec![expr, index])?;
            } else {
                return Ok(expr);
            }
        }
    }

    fn arguments(&mut self, close: &str) -> Result<Vec<Expr>, Problem> {
        let mut args = Vec::new();
        while !self.accept(close) {
            if !args.is_empty() {
                if !self.accept(",") {
                    return self.expected(&format!("{{',', '{close}'}}"));
                }
                if close == "]" && self.accept(close) {
                    break;
                }
            }
            args.push(self.ternary()?);
        }
        Ok(args)
    }

    fn primary(&mut self) -> Result<Expr, Problem> {
        let at = self.at();
        let kind = match self.peek().clone() {
            Token::Symbol("(") => {
                self.take();
                let inner = self.ternary()?;
                if matches!(self.peek(), Token::End) {
                    let message = "Syntax error: missing ')' at '<EOF>'".to_owned();
                    return Err(Problem { at: self.at(), message });
                }
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Symbol("[") => {
                self.take();
                ExprKind::List(self.list()?)
            }
            Token::Symbol("{") => {
                self.take();
                ExprKind::Map(self.map()?)
            }
            // `.a` is `a` in the outermost scope.
            Token::Symbol(".") => {
                self.take();
                match self.peek() {
                    Token::Ident(_) => return self.primary(),
                    _ => return self.expected("IDENTIFIER"),
                }
            }
            Token::Int(n) => {
                self.take();
                match i64::try_from(n) {
                    Ok(n) => ExprKind::Int(n),
                    Err(_) => return Err(Problem { at, message: "invalid int literal".into() }),
                }
            }
            Token::Uint(n) => {
                self.take();
                ExprKind::Uint(n)
            }
            Token::Double(n) => {
                self.take();
                ExprKind::Double(n)
            }
            Token::Text(text) => {
                self.take();
                ExprKind::Text(text)
            }
            Token::Bytes(bytes) => {
                self.take();
                ExprKind::Bytes(bytes)
            }
            Token::Ident(name) if &*name != "in" => {
                if let Some(created) = self.create()? {
                    return Ok(created);
                }
                self.take();
                return self.ident(at, name);
            }
            _ => return self.expected(PRIMARY),
        };
        node(at, kind)
    }

    fn ident(&mut self, at: usize, name: Arc<str>) -> Result<Expr, Problem> {
        let kind = match &*name {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "null" => ExprKind::Null,
            word if RESERVED.contains(&word) => {
                return Err(Problem { at, message: format!("reserved identifier: {name}") });
            }
            _ => {
                let open = self.at();
                if self.accept("(") {
                    let args = self.arguments(")")?;
                    return global_call(open, &name, args);
                }
                ExprKind::Ident(name)
            }
        };
        node(at, kind)
    }

    fn list(&mut self) -> Result<Vec<(bool, Expr)>, Problem> {
        if self.is(",") && matches!(self.tokens.get(self.next + 1), Some((_, Token::Symbol("]")))) {
            self.take();
        }
        self.separated("]", |parser| {
            let optional = parser.accept("?");
            Ok((optional, parser.ternary()?))
        })
    }

    fn map(&mut self) -> Result<Vec<(bool, Expr, Expr)>, Problem> {
        self.separated("}", |parser| {
            let optional = parser.accept("?");
            let key = parser.ternary()?;
            parser.expect(":")?;
            Ok((optional, key, parser.ternary()?))
        })
    }

    /// Parses what stands between commas, of which the last one may be superfluous, up to `close`, and takes that.
    pub(super) fn separated<T>(
        &mut self,
        close: &'static str,
        mut one: impl FnMut(&mut Self) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let mut all = Vec::new();
        while !self.accept(close) {
            if !all.is_empty() {
                self.expect(",")?;
                if self.accept(close) {
                    break;
                }
            }
            all.push(one(self)?);
        }
        Ok(all)
    }
}
