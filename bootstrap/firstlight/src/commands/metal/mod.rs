//! The commands of `metal`, for bare metal hosts.

pub mod approve;
pub mod assets;
pub mod hosts;
pub mod import;
pub mod plan;
pub mod power;

use anyhow::Result;
use clap::Subcommand;

/// Commands under `metal`.
#[derive(Debug, Subcommand)]
pub enum Metal {
    /// Show hosts with their states and the events they wait for, and machines that wait for approval
    Hosts(hosts::HostsOptions),
    /// Let unknown machines become hosts
    ///
    /// A machine that was booted over the network and belongs to no BareMetalHost is shown by `firstlight metal hosts`.
    #[command(after_help = "Example:\n  firstlight metal approve 52:54:00:12:34:56")]
    Approve(approve::ApproveOptions),
    /// Create hosts, and the Secrets of their BMCs, from a list
    ///
    /// The server checks all objects first; if one of them is refused, nothing is created. The list is CSV with a header, or a YAML list
    /// of maps with the same names.
    #[command(after_help = import::HELP)]
    Import(import::ImportOptions),
    /// Show what provisioning a host would wipe and write; nothing is changed
    #[command(
        after_help = "Examples:\n  firstlight metal plan host-0\n  firstlight metal plan host-0 --image http://10.0.0.1:8080/images/debian.raw"
    )]
    Plan(plan::PlanOptions),
    /// Switch a host on; for a host without a BMC, record that somebody switched it on
    PowerOn(power::PowerOptions),
    /// Switch a host off; for a host without a BMC, record that somebody switched it off
    PowerOff(power::PowerOptions),
    /// Restart a host
    Reboot(power::RebootOptions),
    /// Manage boot files of this site: kernels, kernel modules, the stub of unified kernel images, iPXE
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
        Metal::Plan(options) => plan::run(&options).await,
        Metal::PowerOn(options) => power::switch(&options, true).await,
        Metal::PowerOff(options) => power::switch(&options, false).await,
        Metal::Reboot(options) => power::reboot(&options).await,
        Metal::Assets(command) => assets::run(&command),
    }
}
