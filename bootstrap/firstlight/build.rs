//! Embeds the agent's program in the server: `FIRSTLIGHT_AGENT` is its path; it is compressed with zstd
//! (docs/decisions/agent-program.md). Without it the server program serves as its own agent.

use std::io::{Error, ErrorKind};
use std::path::PathBuf;

#[allow(clippy::print_stdout, reason = "cargo reads it")]
fn main() -> Result<(), Error> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FIRSTLIGHT_AGENT");
    let folder = std::env::var_os("OUT_DIR").ok_or(ErrorKind::NotFound)?;
    let out = PathBuf::from(folder).join("firstlight-agent");
    let Some(agent) = std::env::var_os("FIRSTLIGHT_AGENT").map(PathBuf::from) else {
        return std::fs::write(out, []);
    };
    println!("cargo:rerun-if-changed={}", agent.display());
    let failed = |error| Error::other(format!("FIRSTLIGHT_AGENT={}: {error}", agent.display()));
    std::fs::copy(&agent, out).map(|_| ()).map_err(failed)
}
