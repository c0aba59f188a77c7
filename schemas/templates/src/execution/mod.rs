//! Renders a parsed template: walks its nodes, and counts what it costs.
//!
//! [`evaluate`] has pipelines, fields and calls, [`arguments`] the types of arguments; [`Work`] counts.

mod arguments;
mod evaluate;
mod variables;

use crate::error::{Error, Failure};
use crate::format;
use crate::limits;
use crate::syntax::{Branch, MAIN, Node, Pipeline, Templates};
use crate::values::{Bytes, Value, Work};
use variables::Variables;

/// What a map gives for a key that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingKey {
    /// No value.
    NoValue,
    /// An error.
    Error,
}

/// Why the rest of a list of nodes is left out.
enum Flow {
    Next,
    Break,
    Continue,
}

/// A rendering.
pub(crate) struct Renderer<'a> {
    templates: &'a Templates,
    missing: MissingKey,
    work: Work,
    variables: Variables,
    output: Vec<u8>,
    depth: usize,
    /// The line of the pipeline that is evaluated, for errors.
    line: usize,
}

/// A result whose error has its line.
type Rendered<T> = Result<T, Error>;

/// Renders the main template with the data. The steps that it makes are taken off `steps`.
pub(crate) fn render(
    templates: &Templates,
    missing: MissingKey,
    data: &serde_json::Value,
    steps: &mut u64,
) -> Rendered<Vec<u8>> {
    let mut work = Work::new(limits::STEPS_MAX.min(*steps));
    let converted = work.json(data, 0);
    let mut renderer = Renderer {
        templates,
        missing,
        work,
        variables: Variables::new(Value::Missing),
        output: Vec::new(),
        depth: 0,
        line: 1,
    };
    let rendered = converted.map_err(|failure| failure.at(1)).and_then(|data| {
        renderer.variables = Variables::new(data.clone());
        match templates.get(MAIN.as_bytes()) {
            Some(nodes) => renderer.nodes(&data, nodes).map(drop),
            None => Ok(()),
        }
    });
    *steps = steps.saturating_sub(renderer.work.counted());
    rendered.map(|()| renderer.output)
}

impl Renderer<'_> {
    fn fail<T>(&self, failure: impl Into<Failure>) -> Rendered<T> {
        Err(failure.into().at(self.line))
    }

    fn count(&mut self, steps: usize) -> Rendered<()> {
        self.work.steps(steps).map_err(|failure| failure.at(self.line))
    }

    /// Goes one level deeper. [`Renderer::leave`] goes up again; it need not after an error, which ends the rendering.
    fn enter(&mut self) -> Rendered<()> {
        self.depth += 1;
        if self.depth > limits::EXECUTION_DEPTH_MAX {
            return self.fail(Failure::Limit("nested blocks and calls", limits::EXECUTION_DEPTH_MAX as u64));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    fn nodes(&mut self, dot: &Value, nodes: &[Node]) -> Rendered<Flow> {
        for node in nodes {
            match self.node(dot, node)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn node(&mut self, dot: &Value, node: &Node) -> Rendered<Flow> {
        self.count(1)?;
        match node {
            Node::Text(text) => self.write(text)?,
            Node::Action(pipeline) => {
                let value = self.pipeline(dot, pipeline)?;
                if pipeline.variables.is_empty() {
                    self.print(&value)?;
                }
            }
            Node::If(branch) => return self.branch(dot, branch, false),
            Node::With(branch) => return self.branch(dot, branch, true),
            Node::Range(branch) => return self.range(dot, branch),
            Node::Call { line, name, argument } => self.call_template(dot, *line, name, argument.as_ref())?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn print(&mut self, value: &Value) -> Rendered<()> {
        let text = match value {
            Value::Missing => return self.write(b"<no value>"),
            Value::Text(text) => return self.write(text),
            value => format::text(&mut self.work, value).map_err(|failure| failure.at(self.line))?,
        };
        self.write(&text)
    }

    fn write(&mut self, text: &[u8]) -> Rendered<()> {
        if self.output.len() + text.len() > limits::OUTPUT_BYTES_MAX {
            return self.fail(Failure::Limit("bytes of text", limits::OUTPUT_BYTES_MAX as u64));
        }
        self.output.extend_from_slice(text);
        Ok(())
    }

    /// `if`, and `with`, whose body has the value as its dot.
    fn branch(&mut self, dot: &Value, branch: &Branch, with: bool) -> Rendered<Flow> {
        self.enter()?;
        let mark = self.variables.mark();
        let value = self.pipeline(dot, &branch.pipeline)?;
        let flow = match value.is_true() {
            true => self.nodes(if with { &value } else { dot }, &branch.body)?,
            false => self.nodes(dot, &branch.otherwise)?,
        };
        self.variables.forget(mark);
        self.leave();
        Ok(flow)
    }

    fn range(&mut self, dot: &Value, branch: &Branch) -> Rendered<Flow> {
        self.enter()?;
        let mark = self.variables.mark();
        let value = self.pipeline(dot, &branch.pipeline)?;
        let ran = self.iterate(&value, branch)?;
        let flow = if ran { Flow::Next } else { self.nodes(dot, &branch.otherwise)? };
        self.variables.forget(mark);
        self.leave();
        Ok(flow)
    }

    /// Runs the body for each element. Returns whether there was one.
    fn iterate(&mut self, value: &Value, branch: &Branch) -> Rendered<bool> {
        match value {
            Value::Missing | Value::Nil => Ok(false),
            Value::List(list) => {
                for (position, item) in list.items().iter().enumerate() {
                    if !self.iteration(branch, Value::Int(position as i64), item)? {
                        break;
                    }
                }
                Ok(!list.items().is_empty())
            }
            Value::Map(map) => {
                let entries = self.work.entries(map).map_err(|failure| failure.at(self.line))?;
                for (key, item) in &entries {
                    if !self.iteration(branch, Value::Text(key.clone()), item)? {
                        break;
                    }
                }
                Ok(!entries.is_empty())
            }
            other => self.iterate_integers(other, branch),
        }
    }

    fn iterate_integers(&mut self, end: &Value, branch: &Branch) -> Rendered<bool> {
        let (Some(count), true) = (
            end.signed().or_else(|| end.unsigned().and_then(|count| i64::try_from(count).ok())),
            branch.pipeline.variables.len() < 2,
        ) else {
            return self.fail(format!("range cannot go over a value of type {}", end.type_name()));
        };
        for number in 0..count {
            let item = match end {
                Value::Int64(_) => Value::Int64(number),
                Value::Uint64(_) => Value::Uint64(number as u64),
                Value::Uint8(_) => Value::Uint8(number as u8),
                _ => Value::Int(number),
            };
            if !self.iteration(branch, Value::Missing, &item)? {
                break;
            }
        }
        Ok(count > 0)
    }

    /// Runs the body once. Returns whether the loop goes on.
    fn iteration(&mut self, branch: &Branch, key: Value, item: &Value) -> Rendered<bool> {
        self.count(1)?;
        match branch.pipeline.variables.as_slice() {
            [] => {}
            [variable] => self.set_loop_variable(branch, variable, 1, item.clone()),
            [first, second, ..] => {
                self.set_loop_variable(branch, first, 2, key);
                self.set_loop_variable(branch, second, 1, item.clone());
            }
        }
        let mark = self.variables.mark();
        let flow = self.nodes(item, &branch.body)?;
        self.variables.forget(mark);
        Ok(!matches!(flow, Flow::Break))
    }

    fn set_loop_variable(&mut self, branch: &Branch, name: &str, from_top: usize, value: Value) {
        if branch.pipeline.assigns {
            self.variables.assign(name, value);
        } else {
            self.variables.set_from_top(from_top, value);
        }
    }

    /// `{{template}}`. The template called sees no variables but its own `$`.
    fn call_template(
        &mut self,
        dot: &Value,
        line: usize,
        name: &Bytes,
        argument: Option<&Pipeline>,
    ) -> Rendered<()> {
        self.line = line;
        let Some(nodes) = self.templates.get(name) else {
            return self.fail(format!("there is no template {:?}", String::from_utf8_lossy(name)));
        };
        self.enter()?;
        let value = match argument {
            Some(pipeline) => self.pipeline(dot, pipeline)?,
            None => Value::Missing,
        };
        let outer = std::mem::replace(&mut self.variables, Variables::new(value.clone()));
        self.nodes(&value, nodes)?;
        self.variables = outer;
        self.leave();
        Ok(())
    }
}
