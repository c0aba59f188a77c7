//! Makes the tree of a template: pipelines, commands and operands. [`super::blocks`] has what stands between `if` and `end`.

use std::sync::Arc;

use super::tokens::{Kind, Token, tokens};
use super::{Operand, Pipeline, Templates, Wrong, strings};
use crate::format::numbers;
use crate::functions::Function;
use crate::limits;

/// Finds a function by its name.
pub(crate) type Lookup = fn(&str) -> Option<&'static Function>;

/// The state of the parser.
pub(crate) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    position: usize,
    lookup: Lookup,
    /// The variables that are declared here, with `$` as the first.
    pub(super) variables: Vec<&'a str>,
    /// The number of loops around this place, in the same definition.
    pub(super) loops: usize,
    depth: usize,
    pub(super) templates: Templates,
}

/// Parses a text.
pub(crate) fn parse(text: &str, lookup: Lookup) -> Result<Templates, Wrong> {
    if text.len() > limits::TEMPLATE_BYTES_MAX {
        return Err(Wrong {
            line: 1,
            message: format!("it has more than {} bytes", limits::TEMPLATE_BYTES_MAX),
        });
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        position: 0,
        lookup,
        variables: vec!["$"],
        loops: 0,
        depth: 0,
        templates: Templates::new(),
    };
    parser.main()?;
    Ok(parser.templates)
}

impl<'a> Parser<'a> {
    pub(super) fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { line: self.peek().line, message: message.into() })
    }

    /// The next token, which is [`Kind::End`] after the last.
    pub(super) fn peek(&self) -> Token<'a> {
        let last = self.tokens.len() - 1;
        self.tokens[self.position.min(last)]
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.position += 1;
        token
    }

    pub(super) fn peek_word(&mut self) -> Token<'a> {
        while self.peek().kind == Kind::Space {
            self.position += 1;
        }
        self.peek()
    }

    pub(super) fn next_word(&mut self) -> Token<'a> {
        self.peek_word();
        self.next()
    }

    pub(super) fn back_to(&mut self, position: usize) {
        self.position = position;
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn expect_close(&mut self, context: &str) -> Result<(), Wrong> {
        let token = self.next_word();
        if token.kind == Kind::Close {
            return Ok(());
        }
        Err(unexpected(token, context))
    }

    /// Goes one level deeper, and up again after `inner`.
    pub(super) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Wrong>,
    ) -> Result<T, Wrong> {
        if self.depth == limits::SYNTAX_DEPTH_MAX {
            return self.wrong(format!("more than {} nested blocks", limits::SYNTAX_DEPTH_MAX));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// A pipeline up to the token `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipeline, Wrong> {
        let line = self.peek_word().line;
        let mut pipeline = Pipeline { line, variables: Vec::new(), assigns: false, commands: Vec::new() };
        self.declarations(&mut pipeline, context)?;
        loop {
            let start = self.position;
            let token = self.next_word();
            match token.kind {
                kind if kind == end => break,
                kind if begins_operand(kind, token.text) => {
                    self.back_to(start);
                    let command = self.command()?;
                    pipeline.commands.push(command);
                }
                _ => return Err(unexpected(token, context)),
            }
        }
        if pipeline.commands.is_empty() {
            return self.wrong(format!("no value for {context}"));
        }
        for (position, command) in pipeline.commands.iter().enumerate().skip(1) {
            if let Some(
                Operand::Bool(_) | Operand::Dot | Operand::Nil | Operand::Number(_) | Operand::Text(_),
            ) = command.first()
            {
                return self.wrong(format!("command {} of the pipeline is no function", position + 1));
            }
        }
        Ok(pipeline)
    }

    /// `$x :=`, `$x =`, and in loops `$i, $x :=`.
    fn declarations(&mut self, pipeline: &mut Pipeline, context: &str) -> Result<(), Wrong> {
        loop {
            let variable = self.peek_word();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            let before = self.position;
            self.next();
            let next = self.peek_word();
            let comma = next.kind == Kind::Other && next.text == ",";
            if !comma && !matches!(next.kind, Kind::Assign | Kind::Declare) {
                self.back_to(before);
                return Ok(());
            }
            self.next_word();
            pipeline.variables.push(Arc::from(variable.text));
            self.variables.push(variable.text);
            if !comma {
                pipeline.assigns = next.kind == Kind::Assign;
                return Ok(());
            }
            if context != "range" || pipeline.variables.len() >= 2 {
                return self.wrong(format!("too many variables in {context}"));
            }
            if !matches!(self.peek_word().kind, Kind::Variable | Kind::Close | Kind::RightParenthesis) {
                return self.wrong("only variables can be declared in range");
            }
        }
    }

    /// Operands up to a pipe, which is taken, or the end of the pipeline.
    fn command(&mut self) -> Result<Vec<Operand>, Wrong> {
        let mut operands = Vec::new();
        loop {
            self.peek_word();
            operands.extend(self.operand()?);
            let start = self.position;
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::Close | Kind::RightParenthesis => self.back_to(start),
                Kind::Pipe => {}
                _ => return Err(unexpected(token, "an operand")),
            }
            break;
        }
        if operands.is_empty() {
            return self.wrong("an empty command");
        }
        Ok(operands)
    }

    /// A term with its fields. `None` if the next token begins no term.
    fn operand(&mut self) -> Result<Option<Operand>, Wrong> {
        let Some(term) = self.term()? else { return Ok(None) };
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            fields.push(self.next().text.as_bytes()[1..].into());
        }
        if fields.is_empty() {
            return Ok(Some(term));
        }
        Ok(Some(match term {
            Operand::Field(mut names) => {
                names.append(&mut fields);
                Operand::Field(names)
            }
            Operand::Variable(name, _) => Operand::Variable(name, fields),
            Operand::Bool(_) | Operand::Text(_) | Operand::Number(_) | Operand::Nil | Operand::Dot => {
                return self.wrong("a field of something that has none");
            }
            other => Operand::Chain(Box::new(other), fields),
        }))
    }

    fn term(&mut self) -> Result<Option<Operand>, Wrong> {
        let start = self.position;
        let token = self.next_word();
        let text = token.text;
        Ok(Some(match token.kind {
            Kind::Identifier => match (self.lookup)(text) {
                Some(function) => Operand::Function(function),
                None => return Err(wrong(token, format!("there is no function {text:?}"))),
            },
            Kind::Dot => Operand::Dot,
            Kind::Keyword if text == "nil" => Operand::Nil,
            Kind::Variable if self.variables.contains(&text) => {
                Operand::Variable(Arc::from(text), Vec::new())
            }
            Kind::Variable => return Err(wrong(token, format!("the variable {text:?} is not declared"))),
            Kind::Field => Operand::Field(vec![text.as_bytes()[1..].into()]),
            Kind::Bool => Operand::Bool(text == "true"),
            Kind::Number => match numbers::number(text) {
                Some(number) => Operand::Number(number),
                None => return Err(wrong(token, format!("{text:?} is no number, or too large"))),
            },
            Kind::Character => match strings::character(&text[1..text.len() - 1]) {
                Some(code) => Operand::Number(numbers::character(code)),
                None => return Err(wrong(token, format!("{text} is no character"))),
            },
            Kind::LeftParenthesis => {
                let pipeline =
                    self.nested(|parser| parser.pipeline("a parenthesis", Kind::RightParenthesis))?;
                Operand::Pipeline(Box::new(pipeline))
            }
            Kind::Quoted | Kind::RawQuoted => Operand::Text(literal(token)?.into()),
            _ => {
                self.back_to(start);
                return Ok(None);
            }
        }))
    }
}

/// The bytes of a string's literal.
pub(super) fn literal(token: Token<'_>) -> Result<Vec<u8>, Wrong> {
    let inner = &token.text[1..token.text.len() - 1];
    if token.kind == Kind::RawQuoted {
        return Ok(inner.replace('\r', "").into_bytes());
    }
    strings::quoted(inner).ok_or_else(|| wrong(token, format!("{} has a wrong escape", token.text)))
}

pub(super) fn wrong(token: Token<'_>, message: String) -> Wrong {
    Wrong { line: token.line, message }
}

pub(super) fn unexpected(token: Token<'_>, context: &str) -> Wrong {
    wrong(token, format!("unexpected {:?} in {context}", token.text))
}

fn begins_operand(kind: Kind, text: &str) -> bool {
    match kind {
        Kind::Bool | Kind::Character | Kind::Dot | Kind::Field | Kind::Identifier | Kind::Number => true,
        Kind::RawQuoted | Kind::Quoted | Kind::Variable | Kind::LeftParenthesis => true,
        Kind::Keyword => text == "nil",
        _ => false,
    }
}
