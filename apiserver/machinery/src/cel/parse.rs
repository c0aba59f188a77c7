//! From source to syntax tree: precedence climbing, with the macros expanded to [`Macro`] nodes.

use std::sync::Arc;

use super::ast::{Call, Expr, ExprKind, Macro, MacroKind, Select};
use super::token::{Problem, Token, tokens};

/// Expressions nested deeper than this are refused.
const MAX_DEPTH: usize = 200;

const PRIMARY: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
                       STRING, BYTES, IDENTIFIER}";

/// Parses a rule.
///
/// # Errors
/// The first syntax error.
pub fn parse(source: &str) -> Result<Expr, Problem> {
    let mut parser = Parser { tokens: tokens(source)?, next: 0, depth: 0 };
    let expr = parser.ternary()?;
    match parser.peek() {
        Token::End => Ok(expr),
        _ => {
            let message = format!("Syntax error: mismatched input '{}' expecting <EOF>", parser.text());
            Err(Problem { at: parser.at(), message })
        }
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

fn call(at: usize, function: &str, args: Vec<Expr>) -> Expr {
    let call = Call { target: None, function: function.into(), args, pattern: None };
    Expr { at, kind: ExprKind::Call(Box::new(call)) }
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |(at, _)| *at)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        token
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.take();
        }
        found
    }

    fn text(&self) -> String {
        match self.peek() {
            Token::Ident(name) => name.to_string(),
            Token::Quoted(name) => format!("`{name}`"),
            Token::Int(n) | Token::Uint(n) => n.to_string(),
            Token::Double(n) => n.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Bytes(_) => "b''".into(),
            Token::Symbol(symbol) => (*symbol).to_owned(),
            Token::End => "<EOF>".into(),
        }
    }

    fn expected<T>(&self, what: &str) -> Result<T, Problem> {
        let message = format!("Syntax error: mismatched input '{}' expecting {what}", self.text());
        Err(Problem { at: self.at(), message })
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Problem> {
        if self.accept(symbol) { Ok(()) } else { self.expected(&format!("'{symbol}'")) }
    }

    fn ternary(&mut self) -> Result<Expr, Problem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem { at: self.at(), message: "expression recursion limit exceeded".into() });
        }
        let condition = self.binary(0)?;
        let at = self.at();
        let result = if self.accept("?") {
            let then = self.binary(0)?;
            self.expect(":")?;
            let other = self.ternary()?;
            call(at, "_?_:_", vec![condition, then, other])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    /// The operator at the next token: its level and internal name.
    fn operator(&self) -> Option<(u8, &'static str)> {
        Some(match self.peek() {
            Token::Symbol("||") => (0, "_||_"),
            Token::Symbol("&&") => (1, "_&&_"),
            Token::Symbol("==") => (2, "_==_"),
            Token::Symbol("!=") => (2, "_!=_"),
            Token::Symbol("<") => (2, "_<_"),
            Token::Symbol("<=") => (2, "_<=_"),
            Token::Symbol(">") => (2, "_>_"),
            Token::Symbol(">=") => (2, "_>=_"),
            Token::Ident(name) if &**name == "in" => (2, "@in"),
            Token::Symbol("+") => (3, "_+_"),
            Token::Symbol("-") => (3, "_-_"),
            Token::Symbol("*") => (4, "_*_"),
            Token::Symbol("/") => (4, "_/_"),
            Token::Symbol("%") => (4, "_%_"),
            _ => return None,
        })
    }

    fn binary(&mut self, level: u8) -> Result<Expr, Problem> {
        let mut left = self.unary()?;
        while let Some((found, name)) = self.operator().filter(|(found, _)| *found >= level) {
            let at = self.at();
            self.take();
            let right = self.binary(found + 1)?;
            left = call(at, name, vec![left, right]);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, Problem> {
        let at = self.at();
        if self.is("!") || self.is("-") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Problem { at, message: "expression recursion limit exceeded".into() });
            }
            let negation = self.accept("!");
            let result = if negation {
                call(at, "!_", vec![self.unary()?])
            } else {
                self.take();
                self.negative(at)?
            };
            self.depth -= 1;
            return Ok(result);
        }
        self.member()
    }

    fn negative(&mut self, at: usize) -> Result<Expr, Problem> {
        match *self.peek() {
            Token::Int(n) => match 0i64.checked_sub_unsigned(n) {
                Some(value) => {
                    self.take();
                    self.postfix(Expr { at, kind: ExprKind::Int(value) })
                }
                None => Err(Problem { at, message: "invalid int literal".into() }),
            },
            Token::Double(n) => {
                self.take();
                self.postfix(Expr { at, kind: ExprKind::Double(-n) })
            }
            _ => Ok(call(at, "-_", vec![self.unary()?])),
        }
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
                    Token::Ident(name) | Token::Quoted(name) => {
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
                    expr = select(at, expr, field, optional);
                }
            } else if self.accept("[") {
                let optional = self.accept("?");
                let index = self.ternary()?;
                self.expect("]")?;
                let name = if optional { "_[?_]" } else { "_[_]" };
                expr = call(at, name, vec![expr, index]);
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
            Token::Symbol(".") => {
                self.take();
                return self.primary();
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
                self.take();
                return self.ident(at, name);
            }
            _ => return self.expected(PRIMARY),
        };
        Ok(Expr { at, kind })
    }

    fn ident(&mut self, at: usize, name: Arc<str>) -> Result<Expr, Problem> {
        let kind = match &*name {
            "true" => ExprKind::Bool(true),
            "false" => ExprKind::Bool(false),
            "null" => ExprKind::Null,
            _ => {
                let open = self.at();
                if self.accept("(") {
                    let args = self.arguments(")")?;
                    return global_call(open, &name, args);
                }
                ExprKind::Ident(name)
            }
        };
        Ok(Expr { at, kind })
    }

    fn list(&mut self) -> Result<Vec<(bool, Expr)>, Problem> {
        let mut items = Vec::new();
        while !self.accept("]") {
            if !items.is_empty() {
                self.expect(",")?;
                if self.accept("]") {
                    break;
                }
            }
            let optional = self.accept("?");
            items.push((optional, self.ternary()?));
        }
        Ok(items)
    }

    fn map(&mut self) -> Result<Vec<(bool, Expr, Expr)>, Problem> {
        let mut entries = Vec::new();
        while !self.accept("}") {
            if !entries.is_empty() {
                self.expect(",")?;
                if self.accept("}") {
                    break;
                }
            }
            let optional = self.accept("?");
            let key = self.ternary()?;
            self.expect(":")?;
            entries.push((optional, key, self.ternary()?));
        }
        Ok(entries)
    }
}

fn select(at: usize, target: Expr, field: Arc<str>, optional: bool) -> Expr {
    let property = unescape(&field);
    let select = Select { target, field, property, test: false, optional };
    Expr { at, kind: ExprKind::Select(Box::new(select)) }
}

/// The property that an escaped field name stands for.
pub fn unescape(field: &Arc<str>) -> Arc<str> {
    if !field.contains("__") {
        return field.clone();
    }
    if let Some(inner) = field.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && !inner.contains("__")
        && !["underscores", "dot", "dash", "slash"].contains(&inner)
    {
        return inner.into();
    }
    let mut out = field.to_string();
    for (escaped, plain) in
        [("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"), ("__underscores__", "__")]
    {
        out = out.replace(escaped, plain);
    }
    out.into()
}

fn global_call(at: usize, name: &str, mut args: Vec<Expr>) -> Result<Expr, Problem> {
    if name == "has" && args.len() == 1 {
        return match args.pop() {
            Some(Expr { at, kind: ExprKind::Select(mut select) }) if !select.optional => {
                select.test = true;
                Ok(Expr { at, kind: ExprKind::Select(select) })
            }
            _ => Err(Problem { at, message: "invalid argument to has() macro".into() }),
        };
    }
    Ok(call(at, name, args))
}

fn variable(expr: &Expr) -> Option<Arc<str>> {
    match &expr.kind {
        ExprKind::Ident(name) => Some(name.clone()),
        _ => None,
    }
}

fn member_call(at: usize, target: Expr, name: Arc<str>, args: Vec<Expr>) -> Result<Expr, Problem> {
    let one = match &*name {
        "all" => Some(MacroKind::All),
        "exists" => Some(MacroKind::Exists),
        "exists_one" | "existsOne" => Some(MacroKind::ExistsOne),
        "filter" => Some(MacroKind::Filter),
        "map" => Some(MacroKind::Map),
        "optMap" => Some(MacroKind::OptMap),
        "optFlatMap" => Some(MacroKind::OptFlatMap),
        "sortBy" => Some(MacroKind::SortBy),
        _ => None,
    };
    let two = match &*name {
        "all" => Some(MacroKind::All),
        "exists" => Some(MacroKind::Exists),
        "exists_one" | "existsOne" => Some(MacroKind::ExistsOne),
        "transformList" => Some(MacroKind::Map),
        "transformMap" => Some(MacroKind::TransformMap),
        "transformMapEntry" => Some(MacroKind::TransformMapEntry),
        _ => None,
    };
    let bad = |arg: &Expr| Err(Problem { at: arg.at, message: "argument is not an identifier".into() });
    let build = |kind, target, first, second, filter, body| {
        let call = Macro { kind, target, first, second, filter, body };
        Ok(Expr { at, kind: ExprKind::Macro(Box::new(call)) })
    };
    let mut rest = args.into_iter();
    match (one, two, rest.len()) {
        (Some(kind), _, 2) => {
            let (Some(first), Some(body)) = (rest.next(), rest.next()) else { return bad(&target) };
            let Some(first) = variable(&first) else { return bad(&first) };
            build(kind, target, first, None, None, body)
        }
        (Some(MacroKind::Map), None, 3) => {
            let (Some(first), filter, Some(body)) = (rest.next(), rest.next(), rest.next()) else {
                return bad(&target);
            };
            let Some(first) = variable(&first) else { return bad(&first) };
            build(MacroKind::Map, target, first, None, filter, body)
        }
        (_, Some(kind), 3 | 4) if rest.len() == 3 || one.is_none() => {
            let (Some(first), Some(second)) = (rest.next(), rest.next()) else { return bad(&target) };
            let (Some(one), Some(two)) = (variable(&first), variable(&second)) else { return bad(&first) };
            let filter = if rest.len() == 2 { rest.next() } else { None };
            let Some(body) = rest.next() else { return bad(&target) };
            build(kind, target, one, Some(two), filter, body)
        }
        _ => {
            let args: Vec<Expr> = rest.collect();
            let call = Call { target: Some(target), function: name, args, pattern: None };
            Ok(Expr { at, kind: ExprKind::Call(Box::new(call)) })
        }
    }
}
