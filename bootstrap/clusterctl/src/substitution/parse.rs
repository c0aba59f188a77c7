//! Parses a template into text and expansions.

use std::sync::LazyLock;

use regex::Regex;

use crate::{Error, Result};

/// A part of a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// Text that is copied unchanged.
    Text(String),
    /// An expansion that is replaced.
    Expansion(Expansion),
}

/// Templates and arguments consist of the same parts.
pub(super) use Part as Node;

/// An expansion, `${…}`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expansion {
    /// Name of the variable.
    pub name: String,
    /// The operation on its value.
    pub operation: Operation,
    /// The arguments after the operator.
    pub arguments: Vec<Vec<Part>>,
}

/// An operation on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// Leaves the value unchanged; a mixture of `^` and `,` means this too.
    Keep,
    Length,
    Default,
    FirstUpper,
    Upper,
    FirstLower,
    Lower,
    Substring,
    TrimPrefix {
        longest: bool,
    },
    TrimSuffix {
        longest: bool,
    },
    Replace,
    ReplaceAll,
    ReplacePrefix,
    ReplaceSuffix,
}

#[expect(clippy::unwrap_used, reason = "a constant pattern, compiled by the tests")]
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[\p{L}\p{Nd}_]*").unwrap());

const NO_NAME: &str = "unable to parse variable name";
const NO_BRACE: &str = "missing closing brace";
const NO_ARGUMENT: &str = "unable to parse substitution within function";
const BAD: &str = "bad substitution";

/// How deep defaults may be nested; far deeper than in any template written by hand.
const DEPTH_MAX: usize = 100;

fn failed<T>(reason: &str) -> Result<T> {
    Err(Error::Template(reason.to_owned()))
}

/// Parses a template into its parts.
///
/// # Errors
/// A `${` does not begin a known form.
pub(super) fn parse(template: &str) -> Result<Vec<Node>> {
    let mut parser = Parser { rest: template, depth: 0 };
    let mut nodes = Vec::new();
    let mut text = String::new();
    while let Some(next) = parser.rest.chars().next() {
        if parser.eat("$$") {
            text.push('$');
        } else if parser.eat("${") {
            nodes.push(Node::Text(std::mem::take(&mut text)));
            nodes.push(Node::Expansion(parser.expansion()?));
        } else {
            text.push(next);
            parser.rest = &parser.rest[next.len_utf8()..];
        }
    }
    nodes.push(Node::Text(text));
    Ok(nodes)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn name(&mut self) -> &'a str {
        let length = NAME.find(self.rest).map_or(0, |found| found.end());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        name
    }

    /// Parses the rest of an expansion after `${`, including the closing brace.
    fn expansion(&mut self) -> Result<Expansion> {
        if self.depth == DEPTH_MAX {
            return failed(BAD);
        }
        self.depth += 1;
        let length = self.eat("#");
        let name = self.name().to_owned();
        let (operation, arguments) = match (length, name.is_empty()) {
            (true, true) => return failed(BAD),
            (true, false) => (Operation::Length, Vec::new()),
            (false, true) => return failed(NO_NAME),
            (false, false) => self.operation()?,
        };
        if operation != Operation::Default && !self.eat("}") {
            return failed(if operation == Operation::Keep && arguments.is_empty() { NO_BRACE } else { BAD });
        }
        self.depth -= 1;
        Ok(Expansion { name, operation, arguments })
    }

    /// Parses the operator and its arguments. A default includes the closing brace, the others end before it.
    fn operation(&mut self) -> Result<(Operation, Vec<Vec<Part>>)> {
        if [":-", ":=", ":?", ":+", "="].iter().any(|operator| self.eat(operator)) {
            return Ok((Operation::Default, vec![self.default()?]));
        }
        if self.eat(":") {
            return self.substring();
        }
        if self.rest.starts_with(['^', ',']) {
            return self.case();
        }
        for (operator, longest) in [("##", true), ("#", false)] {
            if self.eat(operator) {
                return Ok((Operation::TrimPrefix { longest }, vec![self.argument(&['}'], false)?]));
            }
        }
        for (operator, longest) in [("%%", true), ("%", false)] {
            if self.eat(operator) {
                return Ok((Operation::TrimSuffix { longest }, vec![self.argument(&['}'], false)?]));
            }
        }
        let replacements = [
            ("//", Operation::ReplaceAll),
            ("/#", Operation::ReplacePrefix),
            ("/%", Operation::ReplaceSuffix),
            ("/", Operation::Replace),
        ];
        for (operator, operation) in replacements {
            if self.eat(operator) {
                return self.replacement(operation);
            }
        }
        Ok((Operation::Keep, Vec::new()))
    }

    /// Parses any mixture of text and expansions, including the closing brace.
    fn default(&mut self) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            let end = self.rest.find(['}', '$']).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            parts.push(Part::Text(text.to_owned()));
            self.rest = rest;
            if self.eat("}") {
                return Ok(parts);
            }
            if self.eat("${") {
                parts.push(Part::Expansion(self.expansion()?));
            } else if self.eat("$") {
                parts.push(Part::Text("$".to_owned()));
            } else {
                return failed(NO_ARGUMENT);
            }
        }
    }

    fn substring(&mut self) -> Result<(Operation, Vec<Vec<Part>>)> {
        let mut arguments = vec![self.argument(&[':', '}'], false)?];
        if self.eat(":") {
            arguments.push(self.argument(&['}'], false)?);
        }
        Ok((Operation::Substring, arguments))
    }

    fn case(&mut self) -> Result<(Operation, Vec<Vec<Part>>)> {
        let operation = match () {
            () if self.eat("^^") => Operation::Upper,
            () if self.eat(",,") => Operation::Lower,
            () if self.eat("^,") || self.eat(",^") => Operation::Keep,
            () if self.eat("^") => Operation::FirstUpper,
            () => {
                self.eat(",");
                Operation::FirstLower
            }
        };
        if self.rest.starts_with('}') { Ok((operation, Vec::new())) } else { failed(BAD) }
    }

    fn replacement(&mut self, operation: Operation) -> Result<(Operation, Vec<Vec<Part>>)> {
        let mut arguments = vec![self.argument(&['/'], true)?];
        if !self.eat("/") {
            return failed(BAD);
        }
        if !self.rest.starts_with('}') {
            arguments.push(self.argument(&['}'], true)?);
        }
        Ok((operation, arguments))
    }

    /// Parses one expansion, or one text up to one of `ends`; an empty argument is an error. With `escapes`, `\/`, `\\` and `$$` mean
    /// their last character.
    fn argument(&mut self, ends: &[char], escapes: bool) -> Result<Vec<Part>> {
        if self.eat("${") {
            return Ok(vec![Part::Expansion(self.expansion()?)]);
        }
        let mut text = String::new();
        while let Some(next) = self.rest.chars().next() {
            if escapes && ["\\/", "\\\\", "$$"].iter().any(|escape| self.rest.starts_with(escape)) {
                text.push_str(&self.rest[1..2]);
                self.rest = &self.rest[2..];
                continue;
            }
            if ends.contains(&next) || self.rest.starts_with("${") {
                break;
            }
            text.push(next);
            self.rest = &self.rest[next.len_utf8()..];
        }
        if text.is_empty() { failed(NO_ARGUMENT) } else { Ok(vec![Part::Text(text)]) }
    }
}
