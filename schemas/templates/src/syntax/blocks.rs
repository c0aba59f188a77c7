//! Parses what has an `end`: branches, loops and definitions.

use super::parser::{Parser, literal, unexpected};
use super::tokens::Kind;
use super::{Branch, MAIN, Node, Wrong, is_blank};
use crate::values::Bytes;

/// What ended a list of nodes.
enum Ended {
    End,
    Else,
}

/// What an action is.
enum Action {
    Node(Node),
    Ended(Ended),
}

impl Parser<'_> {
    /// The text itself, with the definitions in it.
    pub(super) fn main(&mut self) -> Result<(), Wrong> {
        let mut nodes = Vec::new();
        while self.peek().kind != Kind::End {
            if self.peek().kind == Kind::Open {
                let start = self.position();
                self.next();
                let token = self.next_word();
                if token.kind == Kind::Keyword && token.text == "define" {
                    self.definition()?;
                    continue;
                }
                self.back_to(start);
            }
            match self.text_or_action()? {
                Action::Node(node) => nodes.push(node),
                Action::Ended(Ended::End) => return self.wrong("an {{end}} without its beginning"),
                Action::Ended(Ended::Else) => return self.wrong("an {{else}} without its beginning"),
            }
        }
        self.add(MAIN.as_bytes().into(), nodes)
    }

    /// Adds a template. A name has only one definition that is not blank.
    fn add(&mut self, name: Bytes, nodes: Vec<Node>) -> Result<(), Wrong> {
        match self.templates.get(&name) {
            Some(known) if !is_blank(known) => {
                if !is_blank(&nodes) {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    return self.wrong(format!("the template {name:?} is defined twice"));
                }
            }
            _ => {
                self.templates.insert(name, nodes);
            }
        }
        Ok(())
    }

    fn definition(&mut self) -> Result<(), Wrong> {
        let name = self.template_name("define")?;
        self.expect_close("define")?;
        let nodes = self.separate_template("define")?;
        self.add(name, nodes)
    }

    /// The body of a definition, which sees no variables and no loops of the text around it.
    fn separate_template(&mut self, context: &str) -> Result<Vec<Node>, Wrong> {
        let variables = std::mem::replace(&mut self.variables, vec!["$"]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, ended) = self.list()?;
        self.variables = variables;
        self.loops = loops;
        match ended {
            Ended::End => Ok(nodes),
            Ended::Else => self.wrong(format!("an {{{{else}}}} in {context}")),
        }
    }

    fn template_name(&mut self, context: &str) -> Result<Bytes, Wrong> {
        let token = self.next_word();
        match token.kind {
            Kind::Quoted | Kind::RawQuoted => Ok(literal(token)?.into()),
            _ => Err(unexpected(token, context)),
        }
    }

    /// Nodes up to an `end` or `else`.
    fn list(&mut self) -> Result<(Vec<Node>, Ended), Wrong> {
        self.nested(|parser| {
            let mut nodes = Vec::new();
            while parser.peek_word().kind != Kind::End {
                match parser.text_or_action()? {
                    Action::Node(node) => nodes.push(node),
                    Action::Ended(ended) => return Ok((nodes, ended)),
                }
            }
            parser.wrong("an {{end}} is missing")
        })
    }

    fn text_or_action(&mut self) -> Result<Action, Wrong> {
        let token = self.next_word();
        match token.kind {
            Kind::Text => Ok(Action::Node(Node::Text(token.text.as_bytes().into()))),
            Kind::Open => self.action(),
            _ => Err(unexpected(token, "the text")),
        }
    }

    fn action(&mut self) -> Result<Action, Wrong> {
        let start = self.position();
        let token = self.next_word();
        let keyword = if token.kind == Kind::Keyword { token.text } else { "" };
        Ok(Action::Node(match keyword {
            "block" => self.block(token.line)?,
            "break" | "continue" => {
                self.expect_close(keyword)?;
                if self.loops == 0 {
                    return self.wrong(format!("a {{{{{keyword}}}}} outside of {{{{range}}}}"));
                }
                if keyword == "break" { Node::Break } else { Node::Continue }
            }
            "else" => {
                let next = self.peek_word();
                if !(next.kind == Kind::Keyword && ["if", "with"].contains(&next.text)) {
                    self.expect_close("else")?;
                }
                return Ok(Action::Ended(Ended::Else));
            }
            "end" => {
                self.expect_close("end")?;
                return Ok(Action::Ended(Ended::End));
            }
            "if" | "with" | "range" => self.control(keyword)?,
            "template" => self.call(token.line)?,
            _ => {
                self.back_to(start);
                Node::Action(self.pipeline("an action", Kind::Close)?)
            }
        }))
    }

    fn control(&mut self, keyword: &str) -> Result<Node, Wrong> {
        let declared = self.variables.len();
        let pipeline = self.pipeline(keyword, Kind::Close)?;
        let is_loop = keyword == "range";
        self.loops += usize::from(is_loop);
        let (body, ended) = self.list()?;
        self.loops -= usize::from(is_loop);
        let otherwise = match ended {
            Ended::End => Vec::new(),
            Ended::Else => self.otherwise(keyword)?,
        };
        self.variables.truncate(declared);
        let branch = Branch { pipeline, body, otherwise };
        Ok(match keyword {
            "if" => Node::If(branch),
            "with" => Node::With(branch),
            _ => Node::Range(branch),
        })
    }

    /// What comes after `else`. `else if` is an `if` in the `else`, with the same `end`.
    fn otherwise(&mut self, keyword: &str) -> Result<Vec<Node>, Wrong> {
        let next = self.peek();
        if keyword != "range" && next.kind == Kind::Keyword && next.text == keyword {
            self.next();
            return Ok(vec![self.nested(|parser| parser.control(keyword))?]);
        }
        match self.list()? {
            (nodes, Ended::End) => Ok(nodes),
            (_, Ended::Else) => self.wrong("a second {{else}}"),
        }
    }

    fn block(&mut self, line: usize) -> Result<Node, Wrong> {
        let name = self.template_name("block")?;
        let argument = self.pipeline("block", Kind::Close)?;
        let nodes = self.separate_template("block")?;
        self.add(name.clone(), nodes)?;
        Ok(Node::Call { line, name, argument: Some(argument) })
    }

    fn call(&mut self, line: usize) -> Result<Node, Wrong> {
        let name = self.template_name("template")?;
        if self.peek_word().kind == Kind::Close {
            self.next();
            return Ok(Node::Call { line, name, argument: None });
        }
        let argument = self.pipeline("template", Kind::Close)?;
        Ok(Node::Call { line, name, argument: Some(argument) })
    }
}
