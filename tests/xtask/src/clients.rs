//! Implements `cargo xtask clients`: the transcripts, programs and scenarios of `tests/clients`, the envtest suites
//! of other projects, and the takeovers by programs of upstream's (`tests/takeover`).

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::suite::{run as run_program, server, tests};

/// The program that plays the scenarios of Cluster API's end-to-end specs.
const SCENARIOS: &str = "scenarios";

/// The envtest suites of other projects.
const SUITES: &str = "suites";

/// The takeover that takes names of Cluster API's end-to-end specs.
const E2E: &str = "e2e";

/// A takeover, which runs by name and with `all`, because it needs programs of its own.
struct Takeover {
    /// The name, and the arguments of the program `takeover`.
    name: &'static str,
    arguments: &'static [&'static str],
    /// The arguments of a longer run.
    long: &'static [&'static str],
    /// The argument of `tests/takeover/install-tools`.
    programs: &'static str,
}

const TAKEOVERS: [Takeover; 6] = [
    Takeover { name: "takeover", arguments: &["metal3"], long: &["metal3", "10"], programs: "metal3" },
    Takeover {
        name: "control-plane",
        arguments: &["control-plane"],
        long: &["control-plane"],
        programs: "cluster-api",
    },
    Takeover { name: "providers", arguments: &["providers"], long: &["providers"], programs: "providers" },
    Takeover { name: E2E, arguments: &["e2e"], long: &["e2e", "all"], programs: "e2e" },
    Takeover { name: "specs", arguments: &["specs"], long: &["specs", "all"], programs: "specs" },
    Takeover { name: "vsphere", arguments: &["vsphere"], long: &["vsphere"], programs: "vsphere" },
];

/// Builds the server unless `FIRSTLIGHT_BINARY` is set, then runs the transcripts: all, or those whose names
/// contain one of `names`, and the scenarios: all but those that take long, or those with one of the names; or the takeover of this name. After `e2e`
/// stand the names of specs. After `suites` stand words in the names of packages of envtest suites, of which all run without one; `build` only
/// builds them. With `all`, it also runs the long scenarios and, unless there are names, the envtest suites and all takeovers, each for as long as
/// it takes.
///
/// # Errors
/// A build, a transcript or a test of a suite fails. Tests of a suite that are listed as failing are allowed
/// to fail.
pub fn run(root: &Path, names: &[String], all: bool) -> Result<()> {
    let binary = server(root)?;
    let variables = [("FIRSTLIGHT_BINARY", binary.as_str())];
    if let [name, specs @ ..] = names
        && (specs.is_empty() || name == E2E)
        && let Some(takeover) = TAKEOVERS.iter().find(|takeover| takeover.name == name)
    {
        return takeover.run(root, all, specs, &variables);
    }
    let long = all.then(|| "--all".to_owned());
    if let [first, suites @ ..] = names
        && first == SUITES
    {
        return envtest_suites(root, suites, &variables);
    }
    if names == [SCENARIOS] {
        return run_program(root, SCENARIOS, long.as_slice(), &variables);
    }
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    tests(root, "clients", &parts, &variables)?;
    let arguments: Vec<String> = names.iter().cloned().chain(long).collect();
    run_program(root, SCENARIOS, &arguments, &variables)?;
    if all && names.is_empty() {
        run_program(root, "envtest-suites", &[], &variables)?;
        return TAKEOVERS.iter().try_for_each(|takeover| takeover.run(root, all, &[], &variables));
    }
    let why = "the envtest suites of tests/clients/suites and the takeovers were not run: that is `cargo xtask clients --all`";
    Ok(writeln!(std::io::stdout().lock(), "{why}")?)
}

/// Runs the envtest suites with one of `words` in the names of their packages, or only builds them, if the first word is `build`.
fn envtest_suites(root: &Path, words: &[String], variables: &[(&str, &str)]) -> Result<()> {
    let arguments = match words {
        [first, words @ ..] if first == "build" => [&["--build".to_owned()], words].concat(),
        words => words.to_vec(),
    };
    run_program(root, "envtest-suites", &arguments, variables)
}

impl Takeover {
    /// Gets upstream's programs, unless they are there, and runs the takeover.
    fn run(&self, root: &Path, long: bool, names: &[String], variables: &[(&str, &str)]) -> Result<()> {
        let install = root.join("tests/takeover/install-tools");
        let status = Command::new(install).arg(self.programs).status()?;
        ensure!(status.success(), "tests/takeover/install-tools {} failed", self.programs);
        let arguments = if long { self.long } else { self.arguments };
        let arguments = arguments.iter().map(|argument| (*argument).to_owned());
        let arguments: Vec<String> = arguments.chain(names.iter().cloned()).collect();
        run_program(root, "takeover", &arguments, variables)
    }
}
