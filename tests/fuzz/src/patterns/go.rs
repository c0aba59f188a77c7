//! The program in Go.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The program, which runs.
pub(super) struct Go {
    /// Go's version of Unicode.
    pub unicode: String,
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

/// What a pattern does.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    pub error: Option<String>,
    /// For each text the matches, of each the offsets of its groups.
    matches: Vec<Vec<Vec<i64>>>,
}

impl Answer {
    /// Describes the first difference from Go's answer for the texts.
    pub(super) fn difference(&self, theirs: &Self, texts: &[String]) -> Option<String> {
        if self.error != theirs.error {
            return Some(format!("gives {:?} here, and {:?} in Go", self.error, theirs.error));
        }
        let answers = self.matches.iter().zip(&theirs.matches).zip(texts);
        for ((ours, theirs), text) in answers {
            let longer = ours.len().max(theirs.len());
            if let Some(at) = (0..longer).find(|at| ours.get(*at) != theirs.get(*at)) {
                let text: String = text.chars().take(100).collect();
                let (ours, theirs) = (ours.get(at), theirs.get(at));
                return Some(format!("on {text:?} gives {ours:?} here, and {theirs:?} in Go, as match {at}"));
            }
        }
        None
    }

    pub(super) fn refusal(error: String) -> Self {
        Self { error: Some(error), matches: Vec::new() }
    }

    pub(super) fn matches(matches: Vec<Vec<Vec<i64>>>) -> Self {
        Self { error: None, matches }
    }
}

impl Go {
    /// Builds and starts the program.
    pub(super) fn start() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = std::env::current_exe()?.with_file_name("fuzz-patterns");
        let status = Command::new("go")
            .args(["build", "-o"])
            .arg(&program)
            .current_dir(folder.join("programs/patterns"))
            .env("GOWORK", "off")
            .status()
            .context("go")?;
        ensure!(status.success(), "the program in Go does not build");
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = BufWriter::new(child.stdin.take().context("no input")?);
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut go = Self { unicode: String::new(), child, input, output };
        go.unicode = go.read()?["unicode"].as_str().unwrap_or_default().to_owned();
        Ok(go)
    }

    /// Asks where a pattern matches.
    pub(super) fn ask(&mut self, pattern: &str, texts: &[String]) -> Result<Answer> {
        serde_json::to_writer(&mut self.input, &json!({"pattern": pattern, "texts": texts}))?;
        self.input.write_all(b"\n")?;
        self.input.flush()?;
        let answer = self.read()?;
        if let Some(error) = answer["error"].as_str() {
            return Ok(Answer::refusal(error.to_owned()));
        }
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let numbers =
            |value: &Value| list(value).iter().map(|number| number.as_i64().unwrap_or_default()).collect();
        let matches = |value: &Value| list(value).iter().map(numbers).collect();
        Ok(Answer::matches(list(&answer["matches"]).iter().map(matches).collect()))
    }

    fn read(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("the program in Go wrote {line:?}"))
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // It has ended already if its input was closed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
