//! The construction of objects of named types, such as `Object.spec{replicas: 1}`.

use std::sync::Arc;

use super::ast::{Create, Expr, ExprKind, Field};
use super::names::is_literal;
use super::nodes::node;
use super::parse::Parser;
use super::token::{Problem, Token};

impl Parser {
    /// Parses the construction of an object. Returns `None`, and takes nothing, if the next token does not begin one.
    pub(super) fn create(&mut self) -> Result<Option<Expr>, Problem> {
        let Some(name) = self.type_name() else { return Ok(None) };
        let at = self.at();
        self.expect("{")?;
        let fields = self.separated("}", Self::field)?;
        node(at, ExprKind::Create(Box::new(Create { name, fields }))).map(Some)
    }

    fn field(&mut self) -> Result<Field, Problem> {
        let optional = self.accept("?");
        let Some(name) = name_of(self.peek()) else { return self.expected("IDENTIFIER") };
        self.take();
        let at = self.at();
        self.expect(":")?;
        Ok(Field { at, optional, name, value: self.ternary()? })
    }

    /// Takes the names with dots between them that a `{` follows.
    fn type_name(&mut self) -> Option<Arc<str>> {
        let mut tokens = self.tokens.get(self.next..)?.iter().map(|(_, token)| token);
        let mut name = name_of(tokens.next()?)?.to_string();
        let mut taken = 1;
        loop {
            match tokens.next()? {
                Token::Symbol("{") => break,
                Token::Symbol(".") => {
                    name.push('.');
                    name.push_str(&name_of(tokens.next()?)?);
                    taken += 2;
                }
                _ => return None,
            }
        }
        self.next += taken;
        Some(name.into())
    }
}

/// Returns the text of an identifier. The literals `true`, `false` and `null`, and `in`, are no identifiers.
fn name_of(token: &Token) -> Option<Arc<str>> {
    match token {
        Token::Ident(name) if !is_literal(name) => Some(name.clone()),
        _ => None,
    }
}
