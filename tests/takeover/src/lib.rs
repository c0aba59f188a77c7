//! Programs of upstream's take over from controllers of ours. `cargo xtask clients` runs one by name: `takeover metal3 [MINUTES]`,
//! `takeover control-plane`, `takeover providers`, `takeover specs [all]`, `takeover e2e [all | NAME...]` or `takeover vsphere`. `tests/takeover/install-tools` gets the programs.

mod certificate;
pub mod control_plane;
pub mod e2e;
pub mod metal3;
mod output;
mod program;
pub mod providers;

use anyhow::{Context as _, Result, bail};

use self::output::say;

/// Runs the takeover that the arguments name.
///
/// # Errors
/// It fails.
pub async fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let binary = std::env::var("FIRSTLIGHT_BINARY").context("`cargo xtask clients` runs this")?;
    let tools = clients::session::root().join("target/tools");
    let folder = tempfile::tempdir()?;
    let (binary, path) = (binary.as_ref(), folder.path());
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["metal3"] => metal3::run(binary, &tools, path, metal3::MINUTES).await,
        ["metal3", minutes] => metal3::run(binary, &tools, path, minutes.parse()?).await,
        ["control-plane"] => control_plane::run(binary, &tools, path).await,
        ["providers"] => providers::run(binary, &tools, path).await,
        ["specs"] => providers::specs::run(binary, &tools, path, false).await,
        ["specs", "all"] => providers::specs::run(binary, &tools, path, true).await,
        ["e2e", ..] => e2e::run(binary, &tools, path, arguments.get(1..).unwrap_or_default()).await,
        ["vsphere"] => providers::vsphere::run(binary, &tools, path).await,
        _ => bail!(
            "usage: takeover metal3 [MINUTES] | control-plane | providers | specs [all] | e2e [all | NAME...] | vsphere"
        ),
    };
    if outcome.is_err() {
        say(&format!("the logs are in {}", folder.keep().display()))?;
    }
    outcome
}
