//! `netboot-tests [NAME …]`: boots virtual machines with a real firstlight, each scenario in a network namespace of its own.
//! Run by `cargo xtask netboot`. Needs root, and what `tests/netboot/install-tools` installs.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use netboot_tests::scenarios::SCENARIOS;

/// Says that this process has the namespaces already; the name of a scenario follows.
const HERE: &str = "--here";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == HERE
    {
        let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).context("no such scenario")?;
        return tokio::runtime::Runtime::new()?.block_on((scenario.run)());
    }
    let is_chosen =
        |name: &str| arguments.is_empty() || arguments.iter().any(|part| name.contains(part.as_str()));
    let clock = machinery::clock::Clock::system();
    let mut failed = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| is_chosen(scenario.name)) {
        let start = clock.monotonic();
        let passed = run(scenario.name)?;
        let (how, seconds) =
            (if passed { "passed" } else { "FAILED" }, (clock.monotonic() - start).as_secs());
        writeln!(std::io::stdout(), "{}: {how} after {seconds} s", scenario.name)?;
        failed.extend((!passed).then_some(scenario.name));
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Runs a scenario in its own namespaces: what it leaves behind, processes and interfaces, ends with them.
fn run(name: &str) -> Result<bool> {
    let program = std::env::current_exe()?;
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
        .arg(program)
        .args([HERE, name])
        .status()
        .context("unshare (of util-linux) is needed")?;
    Ok(status.success())
}
