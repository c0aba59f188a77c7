//! The scenarios.

mod by_hand;
mod chain;
mod cluster;
mod debian;
mod dhcp;
mod discovery;
mod faults;
mod faulty_bmc;
mod figures;
mod hardware;
mod hostile;
mod ipmi;
mod real_cluster;
mod redfish;
mod secure_boot;
mod tutorial;

use anyhow::Result;
use futures::future::BoxFuture;

use crate::kubernetes;

/// A scenario.
pub struct Named {
    /// Name of the scenario.
    pub name: &'static str,
    /// Whether it runs when no scenario is named.
    pub by_default: bool,
    /// Whether it must run alone, since it measures figures.
    pub alone: bool,
    /// Prepares what the scenario needs from the network, which scenarios are cut off from.
    pub prepare: Option<fn() -> Result<()>>,
    /// Runs the scenario.
    pub run: fn() -> BoxFuture<'static, Result<()>>,
}

/// Returns a scenario that runs by default.
const fn usual(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: true, alone: false, prepare: None, run }
}

/// Returns a scenario that runs when it is named, or with `--all`, since the default ones or the simulated
/// fleet cover its subject as well.
const fn further(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: false, alone: false, prepare: None, run }
}

/// Returns a scenario that measures figures; it runs when it is named, or with `--all`.
const fn figures(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: false, alone: true, prepare: None, run }
}

/// All scenarios, the longest first.
pub const SCENARIOS: &[Named] = &[
    further("libvirt", || Box::pin(redfish::libvirt())),
    usual("redfish-uefi-http", || Box::pin(redfish::uefi_http())),
    further("faults", || Box::pin(faults::all())),
    further("faulty-bmc", || Box::pin(faulty_bmc::all())),
    usual("cluster", || Box::pin(cluster::two_machines())),
    usual("proxy-dhcp", || Box::pin(dhcp::proxy())),
    usual("hostile", || Box::pin(hostile::beside_an_honest_machine())),
    usual("by-hand-bios", || Box::pin(by_hand::bios())),
    usual("discovery", || Box::pin(discovery::two())),
    further("virtual-media", || Box::pin(redfish::virtual_media())),
    usual("relay", || Box::pin(dhcp::relay())),
    further("ipmi", || Box::pin(ipmi::uefi_http())),
    further("lossy-dhcp", || Box::pin(dhcp::lossy())),
    usual("secure-boot", || Box::pin(secure_boot::unsigned_and_signed())),
    further("nvme", || Box::pin(hardware::nvme())),
    usual("tpm", || Box::pin(hardware::tpm())),
    usual("tutorial", || Box::pin(tutorial::three_machines())),
    Named {
        name: "real-cluster",
        by_default: false,
        alone: true,
        prepare: Some(kubernetes::prepare),
        run: || Box::pin(real_cluster::real_cluster()),
    },
    figures("debian", || Box::pin(debian::cloud_init())),
    figures("figures", || Box::pin(self::figures::all())),
    figures("figures-chain", || Box::pin(chain::both())),
];
