//! The commands of `metal`, for bare metal hosts.

pub mod approve;
pub mod assets;
pub mod hosts;
pub mod import;
pub mod power;

use anyhow::Result;
use clap::Subcommand;

/// What is done.
#[derive(Debug, Subcommand)]
pub enum Metal {
    /// Show hosts with what they are doing and waiting for, and machines that wait for approval
    Hosts(hosts::HostsOptions),
    /// Let unknown machines become hosts
    ///
    /// A machine that was booted over the network and belongs to no BareMetalHost is shown by `firstlight metal hosts`.
    #[command(after_help = "Example:\n  firstlight metal approve 52:54:00:12:34:56")]
    Approve(approve::ApproveOptions),
    /// Create hosts, and the Secrets of their BMCs, from a list
    ///
    /// Everything is checked by the server first; with one thing wrong, nothing is created. The list is CSV with a header, or a YAML list
    /// of maps with the same names.
    #[command(after_help = import::HELP)]
    Import(import::ImportOptions),
    /// Switch a host on; for one without a BMC: note that somebody did
    PowerOn(power::PowerOptions),
    /// Switch a host off; for one without a BMC: note that somebody did
    PowerOff(power::PowerOptions),
    /// Restart a host
    Reboot(power::RebootOptions),
    /// The site's own files that machines boot: kernels, their modules, the stub of unified kernel images, iPXE
    #[command(subcommand)]
    Assets(assets::Command),
}

/// Runs a command of `metal`.
///
/// # Errors
/// The errors of the command.
pub async fn run(metal: Metal) -> Result<()> {
    match metal {
        Metal::Hosts(options) => hosts::run(&options).await,
        Metal::Approve(options) => approve::run(&options).await,
        Metal::Import(options) => import::run(&options).await,
        Metal::PowerOn(options) => power::switch(&options, true).await,
        Metal::PowerOff(options) => power::switch(&options, false).await,
        Metal::Reboot(options) => power::reboot(&options).await,
        Metal::Assets(command) => assets::run(&command),
    }
}
