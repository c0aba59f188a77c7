//! A folder that stands for a node, in which scripts really run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Output, Stdio};
use std::time::Duration;

use node_bootstrap::{
    Action, Bootstrap, Command, Place, Report, Step, WriteFile, deliver_command, end_command, script,
    start_command, status_command,
};

/// Time enough for all that is not to end by time.
pub const LONG: Duration = Duration::from_secs(300);

/// The shells that stand for the node's. The first one is always there.
pub fn shells() -> Vec<Vec<&'static str>> {
    let all = [vec!["/bin/sh"], vec!["/bin/dash"], vec!["/bin/bash", "--posix"], vec!["/bin/busybox", "sh"]];
    all.into_iter().filter(|words| words[0] == "/bin/sh" || Path::new(words[0]).exists()).collect()
}

/// A node.
pub struct Node {
    folder: tempfile::TempDir,
    shell: Vec<&'static str>,
}

impl Node {
    pub fn new() -> Self {
        Self::with_shell(&["/bin/sh"])
    }

    pub fn with_shell(shell: &[&'static str]) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), shell: shell.to_vec() }
    }

    pub fn place(&self) -> Place {
        Place::below(self.folder.path().to_str().unwrap())
    }

    /// The path of a file of the node.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path.trim_start_matches('/'))
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_default()
    }

    pub fn state(&self) -> PathBuf {
        PathBuf::from(self.place().folder())
    }

    fn process(&self, words: &[String]) -> Process {
        assert_eq!(words[0], "/bin/sh");
        let mut process = Process::new(self.shell[0]);
        process.args(&self.shell[1..]).args(&words[1..]).stdin(Stdio::null());
        process
    }

    /// Puts the script into the node.
    pub fn deliver(&self, bootstrap: &Bootstrap, limit: Duration) {
        let text = script(bootstrap, &self.place(), limit).unwrap();
        let output = self.deliver_text(&text, text.as_bytes());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Sends `sent` where the script `text` is expected.
    pub fn deliver_text(&self, text: &str, sent: &[u8]) -> Output {
        let mut process = self.process(&deliver_command(&self.place(), text));
        let mut child =
            process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(sent).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Starts the script.
    pub fn start(&self) -> Child {
        let mut process = self.process(&start_command(&self.place()));
        process.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The same as a controller does.
    pub fn start_in_session(&self) -> Child {
        let mut process = Process::new("setsid");
        process.arg("--wait").args(self.shell.iter()).args(&start_command(&self.place())[1..]);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Kills the script.
    pub fn end(&self) {
        let output = self.process(&end_command(&self.place())).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }

    /// Runs the script to its end. Returns its exit code.
    pub fn run(&self, bootstrap: &Bootstrap, limit: Duration) -> Option<i32> {
        self.deliver(bootstrap, limit);
        self.start().wait().unwrap().code()
    }

    pub fn report(&self) -> Report {
        let output = self.process(&status_command(&self.place())).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        Report::parse(&output.stdout).unwrap()
    }
}

/// A step that runs a shell text.
pub fn shell(text: &str) -> Step {
    Step { what: text.to_owned(), action: Action::Run(Command::Shell(text.to_owned())) }
}

/// A step that writes a file of the node.
pub fn file(path: &str, content: &[u8]) -> Step {
    let file = WriteFile {
        path: path.to_owned(),
        content: content.to_vec(),
        mode: None,
        owner: None,
        append: false,
    };
    Step { what: format!("write {path}"), action: Action::WriteFile(file) }
}

pub fn bootstrap(steps: Vec<Step>) -> Bootstrap {
    Bootstrap { steps, warnings: Vec::new() }
}
