//! The shell script that takes the steps in the node, and the commands around it.

use crate::error::Error;
use crate::limits::MAX_OUTPUT;
use crate::shell::quote;
use crate::steps::{Action, Bootstrap, Command, SUCCESS_FILE, Step, WriteFile, shown};

/// The variable with the file into which steps write what they could not do, one line each.
pub(crate) const WARNINGS_VARIABLE: &str = "BOOTSTRAP_WARNINGS";

/// Characters of what a step does that the journal keeps.
const WHAT_MAX: usize = 400;

/// Seconds between the two signals with which a command ends whose time is over.
const GRACE: u64 = 10;

/// The file that Cluster API's own provider leaves before it runs kubeadm.
const FOREIGN: &str = "/run/cluster-api/capd.bootstrap.started";

/// Bytes of content in one `printf`.
const CHUNK: usize = 4096;

/// Where a bootstrap is in a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    root: String,
}

impl Default for Place {
    /// The node itself.
    fn default() -> Self {
        Self { root: String::new() }
    }
}

impl Place {
    /// A folder that stands for the node's root: all files of steps and the state are below it. Commands run as they are.
    /// This is for tests, and for a look at what a bootstrap writes.
    pub fn below(root: &str) -> Self {
        Self { root: root.trim_end_matches('/').to_owned() }
    }

    /// Returns the folder of the state. It is not below `/run`, which is empty after a restart of the node: then a
    /// bootstrap that was cut by it would begin again.
    pub fn folder(&self) -> String {
        format!("{}/var/lib/cluster-api/bootstrap", self.root)
    }

    fn file(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }
}

/// Returns the script. It needs `sh`, `mkdir`, `cat`, `ln`, `rm`, `chmod`, `chown`, and `timeout` of coreutils in the node,
/// and `/proc`. It contains the secrets of the bootstrap, and removes itself at the end.
///
/// After `limit` in all, the process group of the running command is ended (TERM, 10 s later KILL), and no other step
/// begins. The limit is at least one second; parts of a second are left out.
///
/// # Errors
/// A step has what no shell can take: see [`parse`](crate::parse).
pub fn script(bootstrap: &Bootstrap, place: &Place, limit: std::time::Duration) -> Result<String, Error> {
    let bootstrap = bootstrap.clone().check()?;
    let mut out = String::from("#!/bin/sh\n");
    out.push_str(&format!("state={}\n", quote(&place.folder())));
    out.push_str(&format!(
        "limit={}\ngrace={GRACE}\ntotal={}\n",
        limit.as_secs().max(1),
        bootstrap.steps.len()
    ));
    out.push_str(include_str!("script/runner.sh"));
    out.push_str(&format!("mkdir -p -- {}\n", quote(&place.file("/run/cluster-api"))));
    for (index, step) in bootstrap.steps.iter().enumerate() {
        write_step(&mut out, index + 1, step, place);
    }
    out.push_str("record done\nfinish 0\n");
    Ok(out)
}

fn write_step(out: &mut String, number: usize, step: &Step, place: &Place) {
    out.push_str(&format!("\nbegin {number} {}\n", quote(&shown(&step.what, WHAT_MAX))));
    match &step.action {
        Action::Run(Command::Shell(text)) => {
            out.push_str(&format!("run /bin/sh -c {}\n", always_quoted(text)))
        }
        Action::Run(Command::Arguments(words)) => {
            let words: Vec<String> = words.iter().map(|word| always_quoted(word)).collect();
            out.push_str(&format!("run {}\n", words.join(" ")));
        }
        Action::WriteFile(file) => write_file(out, file, place),
    }
    out.push_str(&format!("end {number} $?\n"));
}

/// A word in quotes is never a reserved word or an assignment.
fn always_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Nobody but root can read a file before it has its mode. The owner comes before the mode, because a change of the owner
/// takes away the bits for other users.
fn write_file(out: &mut String, file: &WriteFile, place: &Place) {
    let path = place.file(&file.path);
    let folder =
        path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder });
    let path = quote(&path);
    out.push_str(&format!("{{\nplace {path} {} &&\n", quote(folder)));
    if file.mode.is_some() {
        out.push_str("umask 077 &&\n");
    }
    let arrow = if file.append { ">>" } else { ">" };
    out.push_str("{\n:");
    for chunk in file.content.chunks(CHUNK) {
        out.push_str(" &&\nprintf ");
        out.push_str(&format_string(chunk));
    }
    out.push_str(&format!("\n}} {arrow}{path}"));
    if let Some(owner) = &file.owner {
        out.push_str(&format!(" &&\nchown -- {} {path}", quote(owner)));
    }
    if let Some(mode) = file.mode {
        out.push_str(&format!(" &&\nchmod -- {mode:04o} {path}"));
    }
    out.push_str("\n} </dev/null >\"$state/stdout\" 2>\"$state/stderr\"\n");
}

/// Returns bytes as the first argument of `printf`, in ASCII: a shell may have its own meaning for other bytes.
fn format_string(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('\'');
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'\'' => out.push_str("'\\''"),
            b'\\' => out.push_str("\\\\"),
            b'%' => out.push_str("%%"),
            // It would be an option.
            b'-' if index == 0 => out.push_str("\\055"),
            b'\n' | b'\t' | 0x20..=0x7e => out.push(char::from(*byte)),
            byte => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('\'');
    out
}

/// Returns the command that puts the script, which is its standard input, into the node. It may be run again and again: it
/// leaves a bootstrap alone that has begun. Its exit code is not 0 if the input was cut.
pub fn deliver_command(place: &Place, script: &str) -> Vec<String> {
    let folder = quote(&place.folder());
    let length = script.len();
    let text = format!(
        "umask 077; state={folder}; mkdir -p -- \"$state\" || exit 1\n\
         if [ -e \"$state/runner\" ]; then cat >/dev/null; exit 0; fi\n\
         new=$state/script.$$\n\
         if cat >\"$new\" && [ \"$(wc -c <\"$new\")\" -eq {length} ]; then mv -f -- \"$new\" \"$state/script\"; exit; fi\n\
         rm -f -- \"$new\"; echo 'the script did not arrive as a whole' >&2; exit 1"
    );
    vec!["/bin/sh".to_owned(), "-c".to_owned(), text]
}

/// Returns the command that runs the script. It lasts as long as the bootstrap, has no output, and goes on when whoever
/// started it has gone. A second run ends at once with the exit code 75.
pub fn start_command(place: &Place) -> Vec<String> {
    vec!["/bin/sh".to_owned(), format!("{}/script", place.folder())]
}

/// Returns the command whose output [`Report::parse`](crate::Report::parse) reads. It changes nothing.
pub fn status_command(place: &Place) -> Vec<String> {
    let head = format!(
        "state={}\nlimit={MAX_OUTPUT}\nforeign={}\nsuccess={}\n",
        quote(&place.folder()),
        quote(&place.file(FOREIGN)),
        quote(&place.file(SUCCESS_FILE))
    );
    vec!["/bin/sh".to_owned(), "-c".to_owned(), head + include_str!("script/status.sh")]
}

/// Returns the command that kills the script and its commands, if `setsid` has started it. Nothing happens if it does not run.
pub fn end_command(place: &Place) -> Vec<String> {
    let head = format!("state={}\n", quote(&place.folder()));
    vec!["/bin/sh".to_owned(), "-c".to_owned(), head + include_str!("script/end.sh")]
}
