//! The scenarios, each with what a machine goes through.

mod by_hand;
mod chain;
mod debian;
mod dhcp;
mod discovery;
mod faults;
mod faulty_bmc;
mod figures;
mod hardware;
mod hostile;
mod ipmi;
mod redfish;
mod secure_boot;
mod tutorial;

use anyhow::Result;
use futures::future::BoxFuture;

/// One scenario.
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Whether it belongs to what runs when nothing is named.
    pub by_default: bool,
    /// Whether nothing runs beside it, since it takes figures.
    pub alone: bool,
    /// What it does.
    pub run: fn() -> BoxFuture<'static, Result<()>>,
}

/// One that runs when nothing is named.
const fn usual(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: true, alone: false, run }
}

/// One whose subject the usual ones or the simulated fleet reach as well; it runs when it is named, or with `--all`.
const fn further(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: false, alone: false, run }
}

/// One that takes figures; it runs when it is named, or with `--all`.
const fn figures(name: &'static str, run: fn() -> BoxFuture<'static, Result<()>>) -> Named {
    Named { name, by_default: false, alone: true, run }
}

/// All of them, the longest first.
pub const SCENARIOS: &[Named] = &[
    further("libvirt", || Box::pin(redfish::libvirt())),
    usual("redfish-uefi-http", || Box::pin(redfish::uefi_http())),
    further("faults", || Box::pin(faults::all())),
    further("faulty-bmc", || Box::pin(faulty_bmc::all())),
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
    figures("debian", || Box::pin(debian::cloud_init())),
    figures("figures", || Box::pin(self::figures::all())),
    figures("figures-chain", || Box::pin(chain::both())),
];
