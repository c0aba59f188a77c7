//! A balancer in a container: its process. Its image is made of this program (`docker::program`).

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use metal_boot::images::program::Entry;
use system_containers::balancer::FOLDER;

/// The path of the program in its image, by which it knows what it is.
pub const PROGRAM: &str = "/firstlight-node-balancer";

/// Returns the files that this program needs to run elsewhere ([`metal_boot::images::program::of_this_process`]). The program itself has the given path
/// there.
pub type Program = fn(&str) -> Result<Vec<Entry>>;

/// Acts as a balancer if this process was started as one, and does not return then. A program whose balancers run in Docker calls it first
/// of all.
pub fn run_if_started_as_one() {
    if std::env::args_os().next().is_none_or(|name| name != PROGRAM) {
        return;
    }
    let code = match run() {
        Ok(()) => 0,
        Err(error) => {
            writeln!(std::io::stderr(), "{error:#}").ok();
            1
        }
    };
    std::process::exit(code)
}

fn run() -> Result<()> {
    let opened = node_balancer::open(Path::new(FOLDER))?;
    if rustix::process::geteuid().is_root() {
        node_runtime::supervisor::renounce()?;
    }
    opened.run(|| ())
}
