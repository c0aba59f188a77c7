//! What became of a bootstrap, read back from the node.

use std::collections::BTreeMap;

use crate::error::Error;

/// Lines of a failed step's outputs in a message, as Cluster API's provider shows them.
const STDOUT_LINES: usize = 10;
const STDERR_LINES: usize = 5;
/// Characters of one line in a message.
const LINE_MAX: usize = 1000;

/// The state of a bootstrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nobody has started the script.
    NotStarted,
    /// Cluster API's own provider has run kubeadm in this node, before it was taken over.
    Foreign {
        /// Whether the bootstrap has written its success file.
        succeeded: bool,
    },
    /// The script runs.
    Running(At),
    /// All steps have succeeded.
    Completed,
    /// A step ended with another exit code than 0. No step follows.
    Failed {
        /// The step.
        at: At,
        /// Its exit code.
        code: i32,
        /// What it wrote.
        output: Output,
    },
    /// The script was killed, or the node stopped, in this step. No step follows, and none is repeated.
    Interrupted(At),
    /// The time ended in this step. No step follows.
    TimedOut {
        /// The step.
        at: At,
        /// What it wrote.
        output: Output,
    },
    /// The time has ended long ago, and the script has not noticed: it waits for something else than a command. Whoever saw that has killed it.
    Overdue(Option<At>),
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// Its number, from 1; 0 before the first.
    pub step: usize,
    /// How many steps there are.
    pub of: usize,
    /// What it does, in one line.
    pub what: String,
}

/// The last lines of what a step wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Standard output.
    pub stdout: Vec<String>,
    /// Standard error.
    pub stderr: Vec<String>,
}

/// What a node says about its bootstrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The state.
    pub outcome: Outcome,
    /// What steps could not do, and the node can do without, one sentence each.
    pub warnings: Vec<String>,
}

impl Report {
    /// Reads the output of [`status_command`](crate::status_command).
    ///
    /// # Errors
    /// The output is not complete.
    pub fn parse(output: &[u8]) -> Result<Self, Error> {
        let cut = || Error::Data("has a state in the node that cannot be read: its output is cut".to_owned());
        let (first, rest) = line(output).ok_or_else(cut)?;
        let words: Vec<&str> = first.split(' ').collect();
        let ["runner", life, total] = words.as_slice() else { return Err(cut()) };
        let without_steps = match *life {
            "none" => Some(Outcome::NotStarted),
            "foreign" => Some(Outcome::Foreign { succeeded: *total == "1" }),
            _ => None,
        };
        if let Some(outcome) = without_steps {
            return Ok(Self { outcome, warnings: Vec::new() });
        }
        let sections = sections(rest).ok_or_else(cut)?;
        let text = |name: &str| String::from_utf8_lossy(sections.get(name).copied().unwrap_or_default());
        let output = Output {
            stdout: last_lines(&text("stdout"), STDOUT_LINES),
            stderr: last_lines(&text("stderr"), STDERR_LINES),
        };
        let of = total.parse().unwrap_or_default();
        let outcome = outcome(&text("journal"), of, *life == "alive", output);
        let warnings = text("warnings").lines().map(|line| hide_secrets(&cut_line(line))).collect();
        Ok(Self { outcome, warnings })
    }
}

fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

/// Reads sections: a line with the name and the number of bytes, the bytes, a line break.
fn sections(mut rest: &[u8]) -> Option<BTreeMap<&str, &[u8]>> {
    let mut sections = BTreeMap::new();
    for name in ["journal", "warnings", "stdout", "stderr"] {
        let (head, body) = line(rest)?;
        let length: usize = head.strip_prefix(name)?.trim().parse().ok()?;
        let (body, behind) = body.split_at_checked(length)?;
        sections.insert(name, body);
        rest = behind.strip_prefix(b"\n")?;
    }
    Some(sections)
}

/// Follows the journal. A last line without its line break was never complete.
fn outcome(journal: &str, of: usize, alive: bool, output: Output) -> Outcome {
    let mut at = At { step: 0, of, what: "start".to_owned() };
    let complete = journal.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    for line in complete {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (number, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        match (word, number.parse()) {
            ("begin", Ok(step)) => at = At { step, of, what: hide_secrets(rest) },
            ("end", Ok(_)) if rest == "0" => {}
            ("end", Ok(_)) => {
                // A code that cannot be read is no success.
                return Outcome::Failed { at, code: rest.parse().unwrap_or(-1), output };
            }
            ("timeout", Ok(_)) => return Outcome::TimedOut { at, output },
            ("done", _) => return Outcome::Completed,
            _ => {}
        }
    }
    if alive { Outcome::Running(at) } else { Outcome::Interrupted(at) }
}

fn last_lines(text: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
    let skipped = lines.len().saturating_sub(most);
    lines[skipped..].iter().map(|line| hide_secrets(&cut_line(line))).collect()
}

fn cut_line(line: &str) -> String {
    crate::steps::shown(line, LINE_MAX)
}

/// Returns the text without kubeadm's tokens and certificate keys, which kubeadm writes into its output.
fn hide_secrets(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let key = word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_token(word.trim_end_matches('.')) {
            out.push_str("<token>");
        } else if key && out.trim_end_matches([' ', '=', ':', '"']).ends_with("key") {
            out.push_str("<key>");
        } else {
            out.push_str(word);
        }
        let next = behind.find(is_word).unwrap_or(behind.len());
        out.push_str(&behind[..next]);
        rest = &behind[next..];
    }
    out
}

fn is_token(word: &str) -> bool {
    let plain = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    word.split_once('.').is_some_and(|(id, secret)| plain(id, 6) && plain(secret, 16))
}

impl Outcome {
    /// Returns the message of the condition `BootstrapCompleted`: none for a completed bootstrap. It has what that of Cluster API's provider has,
    /// with the failure in its first line, which is the one that tools show.
    pub fn message(&self) -> String {
        match self {
            Self::NotStarted => "Bootstrap has not started".to_owned(),
            Self::Running(at) => format!("{} ({} of {})", at.running(), at.step, at.of),
            Self::Completed | Self::Foreign { succeeded: true } => String::new(),
            Self::Foreign { succeeded: false } => {
                "Another provider has begun to run kubeadm in this node, and it \
                has not succeeded. Delete the Machine, so that another takes its place"
                    .to_owned()
            }
            Self::Failed { at, code, output } => {
                let why = output.stderr.last().map(|line| format!(": {line}")).unwrap_or_default();
                format!("{} exited with status: {code}{why}\n{}", at.failed(), output.message())
            }
            Self::Interrupted(at) => format!(
                "{} interrupted: the node or the bootstrap in it was stopped, and no step is taken twice. Delete the Machine, so that \
                 another takes its place",
                at.failed(),
            ),
            Self::Overdue(at) => {
                let failed = at.as_ref().map_or_else(|| "Bootstrap failed:".to_owned(), At::failed);
                let said = if at.is_some() { "has not ended it" } else { "has not said how far it is" };
                format!(
                    "{failed} the node {said} when its time was over, and was not waited for. Delete the Machine, so that another \
                     takes its place"
                )
            }
            Self::TimedOut { at, output } => format!(
                "{} operation cancelled: context deadline exceeded\n{}",
                at.failed(),
                output.message()
            ),
        }
    }
}

impl At {
    fn running(&self) -> String {
        format!("Running bootstrap command [ {} ]", self.what)
    }

    fn failed(&self) -> String {
        format!("Bootstrap failed at command [ {} ] ({} of {}):", self.what, self.step, self.of)
    }
}

impl Output {
    fn message(&self) -> String {
        format!("STDOUT: {}\nSTDERR: {}", indented(&self.stdout), indented(&self.stderr))
    }
}

/// One line as it is; several below each other.
fn indented(lines: &[String]) -> String {
    match lines {
        [line] => line.clone(),
        lines => lines.iter().map(|line| format!("\n  * {line}")).collect(),
    }
}
