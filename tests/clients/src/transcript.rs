//! The text of a transcript: parsing and writing.

use anyhow::{Result, bail};

/// A part of the text, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Prose, empty lines and options, which are kept unchanged.
    Text(String),
    /// A command with its expected output.
    Step(Step),
}

/// A command with its expected output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// Line number in the transcript, from 1.
    pub line: usize,
    /// The command, one or more lines.
    pub command: String,
    /// Expected output, without the last line feed.
    pub output: String,
    /// Expected exit code.
    pub code: i32,
    /// Whether the command is repeated until it matches.
    pub wait: bool,
}

/// A parsed transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// Arguments of the server that runs meanwhile; `None` if the transcript starts its own.
    pub server: Option<Vec<String>>,
    /// The text, in order.
    pub parts: Vec<Part>,
}

impl Transcript {
    /// Parses a transcript.
    ///
    /// # Errors
    /// A line out of place, with its number.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { server: Some(Vec::new()), parts: Vec::new(), step: None, wait: false };
        for (index, line) in text.lines().enumerate() {
            parser.line(index + 1, line)?;
        }
        parser.end_step();
        Ok(Self { server: parser.server, parts: parser.parts })
    }

    /// Parses a documentation page: text between ```` ```console ```` and ```` ``` ```` is a transcript that
    /// starts its own servers.
    ///
    /// # Errors
    /// The errors of [`Transcript::parse`].
    pub fn parse_markdown(text: &str) -> Result<Self> {
        let mut parser = Parser { server: None, parts: Vec::new(), step: None, wait: false };
        let mut inside = false;
        for (index, line) in text.lines().enumerate() {
            if inside && line != "```" {
                parser.line(index + 1, line)?;
                continue;
            }
            parser.end_step();
            inside = line == "```console";
            parser.parts.push(Part::Text(line.to_owned()));
        }
        parser.end_step();
        Ok(Self { server: None, parts: parser.parts })
    }

    /// Returns the transcript's text.
    pub fn write(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(line) => text.push_str(line),
                Part::Step(step) => text.push_str(&step.write()),
            }
            text.push('\n');
        }
        text
    }
}

impl Step {
    fn write(&self) -> String {
        let mut lines = Vec::new();
        if self.wait {
            lines.push("wait:".to_owned());
        }
        for (index, line) in self.command.lines().enumerate() {
            lines.push(format!("{} {line}", if index == 0 { '$' } else { '>' }).trim_end().to_owned());
        }
        if !self.output.is_empty() {
            lines.push(self.output.clone());
        }
        if self.code != 0 {
            lines.push(format!("? {}", self.code));
        }
        lines.join("\n")
    }
}

struct Parser {
    server: Option<Vec<String>>,
    parts: Vec<Part>,
    step: Option<Step>,
    wait: bool,
}

impl Parser {
    fn line(&mut self, number: usize, line: &str) -> Result<()> {
        if line == "wait:" {
            self.end_step();
            self.wait = true;
        } else if let Some(command) = line.strip_prefix("$ ") {
            self.end_step();
            let wait = std::mem::take(&mut self.wait);
            self.step = Some(Step { line: number, command: command.to_owned(), wait, ..Step::default() });
        } else if line.starts_with("# ") || line == "#" {
            self.end_step();
            self.parts.push(Part::Text(line.to_owned()));
        } else if let Some(step) = &mut self.step {
            step.line(line);
        } else if let Some(options) = line.strip_prefix("server:") {
            let options: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
            self.server = (options != ["none"]).then_some(options);
            self.parts.push(Part::Text(line.to_owned()));
        } else if line.is_empty() {
            self.parts.push(Part::Text(String::new()));
        } else {
            bail!("line {number}: {line:?} stands below no command");
        }
        Ok(())
    }

    /// Ends the command; empty lines after its output only separate it from the next part.
    fn end_step(&mut self) {
        let Some(mut step) = self.step.take() else { return };
        let kept = step.output.trim_end_matches('\n').len();
        let empty = step.output.len() - kept;
        step.output.truncate(kept);
        self.parts.push(Part::Step(step));
        self.parts.extend(std::iter::repeat_n(Part::Text(String::new()), empty));
    }
}

impl Step {
    fn line(&mut self, line: &str) {
        let more = line.strip_prefix("> ").or((line == ">").then_some(""));
        if let Some(more) = more.filter(|_| self.output.is_empty()) {
            self.command.push('\n');
            self.command.push_str(more);
        } else if let Some(code) = line.strip_prefix("? ").and_then(|code| code.trim().parse().ok()) {
            self.code = code;
        } else if line.is_empty() {
            self.output.push('\n');
        } else {
            let separate = !self.output.is_empty();
            self.output.push_str(if separate { "\n" } else { "" });
            self.output.push_str(line);
        }
    }
}
