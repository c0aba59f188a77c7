//! What a newcomer does first, in a terminal of 80 columns and 24 lines, with nothing but the README and the page that it names first: their
//! commands, without a network and with the address of a proxy that is dead; and files with nothing in them.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test, which says why it skips")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use clients::session::{Tools, root};
use machinery::clock::Clock;
use tempfile::TempDir;
use test_terminal::Terminal;

const SCREEN: (u16, u16) = (80, 24);
/// How these pages call the program.
const FROM_SOURCES: [&str; 2] = ["cargo -q first ", "cargo first "];
/// The time within which a refusal comes that needs no network, with room for a busy machine. Without one, some took 101 s.
const AT_ONCE: Duration = Duration::from_secs(30);
/// The longest time of a command.
const DEADLINE: &str = "120";
/// A proxy at which nobody listens.
const DEAD_PROXY: (&str, &str) = ("HTTPS_PROXY", "http://127.0.0.1:1");

/// A newcomer with an empty home, whose working directory has the examples.
struct Newcomer {
    home: TempDir,
    path: String,
    variables: Vec<(&'static str, &'static str)>,
    /// Holds the network in which the commands run: there is nothing but loopback, with every port free.
    network: Child,
}

impl Newcomer {
    /// `None` if there are no clients, which is a failure in CI.
    fn new() -> Option<Self> {
        let tools = Tools::find().map_err(|why| eprintln!("skipped: {why}")).ok()?;
        let home = tempfile::tempdir().unwrap();
        let programs = home.path().join("bin");
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(fs::canonicalize(&tools.firstlight).unwrap(), programs.join("firstlight"))
            .unwrap();
        std::os::unix::fs::symlink(root().join("examples"), home.path().join("examples")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{}:{path}", programs.display(), tools.clients.display());
        let mut network = Command::new("unshare")
            .args(["--net", "sh", "-c", "ip link set lo up && echo ready && exec sleep infinity"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(network.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Some(Self { home, path, variables: Vec::new(), network })
    }

    fn shell(&self, script: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.network.id().to_string(), "--", "sh", "-c"]);
        command.arg(script).env_clear().current_dir(self.home.path());
        command.env("HOME", self.home.path()).env("PATH", &self.path).envs(self.variables.iter().copied());
        command
    }

    fn terminal(&self, script: &str) -> Terminal {
        Terminal::start(SCREEN, &mut self.shell(&format!("exec {script}")), &[])
    }

    /// Runs a script and returns what it has written.
    fn run(&self, script: &str) -> Output {
        self.shell(&format!("timeout {DEADLINE} {script}")).output().unwrap()
    }

    /// Runs a script that succeeds, and returns what it has written to standard output.
    fn succeed(&self, script: &str) -> String {
        let output = self.run(script);
        assert!(output.status.success(), "{script}: {}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let _ = self.network.kill();
        let _ = self.network.wait();
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Returns the commands of a page's block of shell commands below a heading, for the program in the path.
fn commands(page: &str, heading: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join(page)).unwrap();
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let short = |line: &str| {
        FROM_SOURCES.iter().fold(line.to_owned(), |line, long| line.replace(long, "firstlight "))
    };
    block.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(short).collect()
}

fn has(lines: &[String], start: &str) -> bool {
    lines.iter().any(|line| line.starts_with(start))
}

/// Brings up the cluster of the README, does what the page about it says to try next, and starts the same once more.
fn follows_the_readme(newcomer: &Newcomer) {
    let up = commands("README.md", "One command").remove(0);
    let terminal = newcomer.terminal(&up);
    // The end of what it says, the whole tree and the footer fit the screen.
    let starts = ["All machines are there after", "✓ Cluster default/first", "Ctrl-C stops the server"];
    terminal.wait(|lines| starts.iter().all(|start| has(lines, start)));
    // A watch has no end of its own.
    let next = commands("docs/tutorials/first-cluster.md", "What to try next");
    let next: Vec<String> = next.iter().map(|line| line.replace(" -w", "")).collect();
    assert!(next.len() > 8 && next[0].starts_with("export KUBECONFIG="), "{next:?}");
    let output = newcomer.succeed(&format!("sh -euxc '{}'", next.join("\n").replace('\'', "'\\''")));
    assert!(output.contains("cluster.cluster.x-k8s.io \"first\" deleted"), "{output}");
    terminal.wait(|lines| has(lines, "No cluster is left."));
    assert_eq!(terminal.interrupt(), Some(0));
    let terminal = newcomer.terminal(&up);
    terminal.wait(|lines| starts.iter().all(|start| has(lines, start)));
    assert_eq!(terminal.interrupt(), Some(0));
}

#[test]
fn the_commands_of_the_readme_work_behind_a_dead_proxy() {
    let Some(mut newcomer) = Newcomer::new() else { return };
    newcomer.variables.push(DEAD_PROXY);
    follows_the_readme(&newcomer);
}

#[test]
fn the_commands_of_the_readme_work_without_a_network() {
    let Some(newcomer) = Newcomer::new() else { return };
    follows_the_readme(&newcomer);
}

#[test]
fn what_needs_a_network_says_at_once_that_there_is_none() {
    let Some(newcomer) = Newcomer::new() else { return };
    for command in [
        "generate provider --infrastructure docker",
        "generate cluster c --from https://github.com/a/b/blob/main/c.yaml --target-namespace default",
        "up -f https://example.com/cluster.yaml",
    ] {
        let clock = Clock::system();
        let begun = clock.now();
        let output = newcomer.run(&format!("firstlight {command}"));
        let took = (clock.now() - begun).to_std().unwrap_or_default();
        assert!(took < AT_ONCE, "{command}: {took:?}");
        let said = text(&output);
        assert!(!output.status.success(), "{command}: {said}");
        for way in ["cannot resolve", "local file", "--bundle", "HTTPS_PROXY"] {
            assert!(said.contains(way), "{command}, {way}: {said}");
        }
    }
}

#[test]
fn files_with_nothing_in_them_are_refused_at_once() {
    let Some(newcomer) = Newcomer::new() else { return };
    let file = |name: &str, content: &str| fs::write(newcomer.home.path().join(name), content).unwrap();
    file("empty.yaml", "");
    file("comments.yaml", "# a cluster\n---\n# and another\n");
    for input in ["empty.yaml", "comments.yaml", "/dev/null"] {
        let mut terminal = newcomer.terminal(&format!("firstlight up -f {input}"));
        assert_eq!(terminal.ended(), Some(1), "{input}");
        terminal.wait(|lines| lines.iter().any(|line| line.contains("no objects")));
    }
    // No server was begun for them.
    assert!(!Path::new(&newcomer.home.path().join(".local")).exists());
}
