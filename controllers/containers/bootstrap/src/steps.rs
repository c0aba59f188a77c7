//! The steps of a bootstrap.

use std::fmt;

use crate::error::Error;
use crate::limits::{MAX_ARGUMENT, MAX_CONTENT, MAX_STEPS};

/// The file with which bootstrap data says that it succeeded: the contract of Cluster API's bootstrap providers.
pub(crate) const SUCCESS_FILE: &str = "/run/cluster-api/bootstrap-success.complete";

/// Bootstrap data that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bootstrap {
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// What the data asks for and a node does not do, one sentence each. It does not stop the bootstrap.
    pub warnings: Vec<String>,
}

/// A step. Its position in [`Bootstrap::steps`] is its number minus 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What it does, for people: one line without secrets of this crate's making.
    pub what: String,
    /// What it does.
    pub action: Action,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Writes a file.
    WriteFile(WriteFile),
    /// Runs a command. An exit code other than 0 ends the bootstrap.
    Run(Command),
}

/// A file to write. Missing folders are made.
#[derive(Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// The absolute path.
    pub path: String,
    /// The content.
    pub content: Vec<u8>,
    /// The bits of the mode. `None` is 0644 for a new file, and leaves the mode of one that is there.
    pub mode: Option<u32>,
    /// `USER`, `USER:GROUP` or `:GROUP`, names or numbers. `None` is root for a new file, and leaves that of one that is
    /// there.
    pub owner: Option<String>,
    /// Whether the content is added to the end of the file.
    pub append: bool,
}

/// A command.
#[derive(Clone, PartialEq, Eq)]
pub enum Command {
    /// A program with its arguments.
    Arguments(Vec<String>),
    /// A text for `/bin/sh -c`.
    Shell(String),
}

/// The content may be a key.
impl fmt::Debug for WriteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteFile")
            .field("path", &self.path)
            .field("bytes", &self.content.len())
            .field("mode", &self.mode.map(|mode| format!("{mode:04o}")))
            .field("owner", &self.owner)
            .field("append", &self.append)
            .finish()
    }
}

/// The text may hold a token.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(words) => write!(f, "Arguments({} words)", words.len()),
            Self::Shell(text) => write!(f, "Shell({} bytes)", text.len()),
        }
    }
}

impl Step {
    /// A step that writes a file.
    pub(crate) fn write(file: WriteFile) -> Self {
        Self { what: format!("write {}", file.path), action: Action::WriteFile(file) }
    }

    /// A step that runs a command, which is shown as it is.
    pub(crate) fn run(command: Command) -> Self {
        let what = match &command {
            Command::Arguments(words) => words.join(" "),
            Command::Shell(text) => text.trim().to_owned(),
        };
        Self { what, action: Action::Run(command) }
    }

    /// A step of this crate's own making, which is shown as `what`.
    pub(crate) fn own(what: impl Into<String>, text: String) -> Self {
        Self { what: what.into(), action: Action::Run(Command::Shell(text)) }
    }
}

impl Bootstrap {
    /// Adds the step that looks for the success file, if the data mentions it: a bootstrap that leaves its own mark out
    /// has failed, whatever its exit codes. `wait` says that units make the file, maybe later.
    pub(crate) fn expect_success_file(&mut self, wait: bool) {
        let mentions =
            |text: &[u8]| text.windows(SUCCESS_FILE.len()).any(|window| window == SUCCESS_FILE.as_bytes());
        let expected = self.steps.iter().any(|step| match &step.action {
            Action::WriteFile(file) => mentions(&file.content),
            Action::Run(Command::Shell(text)) => mentions(text.as_bytes()),
            Action::Run(Command::Arguments(words)) => words.iter().any(|word| mentions(word.as_bytes())),
        });
        if !expected {
            return;
        }
        let text = if wait {
            format!("until [ -f {SUCCESS_FILE} ]; do sleep 1; done")
        } else {
            format!(
                "[ -f {SUCCESS_FILE} ] || {{ echo 'the commands ended without an error, but have not written \
                 {SUCCESS_FILE}' >&2; exit 1; }}"
            )
        };
        self.steps.push(Step::own(format!("look for {SUCCESS_FILE}"), text));
    }

    /// Checks what a shell or the kernel could not take.
    pub(crate) fn check(self) -> Result<Self, Error> {
        if self.steps.len() > MAX_STEPS {
            return Err(Error::Data(format!("has more than {MAX_STEPS} steps")));
        }
        let mut total = 0usize;
        for (index, step) in self.steps.iter().enumerate() {
            let named = || format!("step {} ({})", index + 1, shown(&step.what, 100));
            match &step.action {
                Action::WriteFile(file) => {
                    total = total.saturating_add(file.content.len());
                    check_path(&file.path).map_err(|why| Error::field(named(), why))?;
                    let owner = file.owner.as_deref().unwrap_or_default();
                    check_text(owner).map_err(|why| Error::field(named(), why))?;
                }
                Action::Run(Command::Shell(text)) => {
                    check_text(text).map_err(|why| Error::field(named(), why))?;
                }
                Action::Run(Command::Arguments(words)) => {
                    if words.first().is_none_or(String::is_empty) {
                        return Err(Error::field(named(), "the command has no program"));
                    }
                    words
                        .iter()
                        .try_for_each(|word| check_text(word))
                        .map_err(|why| Error::field(named(), why))?;
                }
            }
        }
        if total > MAX_CONTENT {
            return Err(Error::TooLarge { what: "the content of all files".to_owned(), limit: MAX_CONTENT });
        }
        Ok(self)
    }
}

fn check_path(path: &str) -> Result<(), String> {
    if !path.starts_with('/') {
        return Err("the path must be absolute, as /etc/example".to_owned());
    }
    if path.ends_with('/') || path.split('/').any(|part| part == "..") {
        return Err("the path must name a file, without ..".to_owned());
    }
    check_text(path)
}

fn check_text(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("it contains a NUL byte, which no path and no command can hold".to_owned());
    }
    if text.len() > MAX_ARGUMENT {
        return Err(format!("it is longer than {MAX_ARGUMENT} bytes: write it into a file and run that"));
    }
    Ok(())
}

/// Returns `text` as one line of at most `most` characters, without control characters.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let mut line: String = text.chars().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(most).is_some() {
        line.push('…');
    }
    line
}
