//! Serves boot files on an interface to every machine that asks: `serve INTERFACE UNIFIED-IMAGE KERNEL INITRD TFTP-FOLDER [proxy|full]
//! [disk]`, with `-` for a file that does not exist. With `disk`, machines are told to start from their disks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::dhcp4::link::Mode;
use metal_boot::machine::{Boot, Machine};
use metal_boot::services::InterfaceConfiguration;
use metal_boot::table::MachineTable;
use metal_provisioning::{Configuration, Dependencies};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::from_default_env()).init();
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().unwrap_or_else(|| "-".into());
    let mut interface = InterfaceConfiguration::new(next());
    let mut path = || Some(next()).filter(|path| path != "-").map(PathBuf::from);
    let one = |path: Option<PathBuf>| {
        path.map(|path| (Processor::X86_64, path)).into_iter().collect::<BTreeMap<_, _>>()
    };
    let boot = BootFiles {
        unified: one(path()),
        kernels: one(path()),
        initial: one(path()),
        tftp: path().into_iter().collect(),
        arguments: "console=ttyS0".into(),
        ..BootFiles::default()
    };
    if path().is_some_and(|mode| mode.as_os_str() == "proxy") {
        interface.mode = Some(Mode::Proxy);
    }
    let boot_from = if path().is_some() { Boot::Disk } else { Boot::Agent };
    let directory = MachineTable::default();
    directory.set_others(Machine { known: true, boot: boot_from, ..Machine::default() });
    let configuration = Configuration {
        interfaces: vec![interface],
        boot,
        images: Some(std::env::current_dir()?),
        bundles: Default::default(),
        bundle_files: None,
        registry: None,
        leases: std::env::current_dir()?.join("leases"),
        http_port: metal_provisioning::HTTP_PORT,
        https_port: metal_provisioning::HTTPS_PORT,
        tls: None,
    };
    let dependencies = Dependencies {
        clock: Clock::system(),
        random: Random::system(),
        metrics: Default::default(),
        directory: Arc::new(directory),
        kube: None,
    };
    let handle = metal_provisioning::start(configuration, dependencies).await?;
    tokio::signal::ctrl_c().await?;
    handle.stop().await;
    Ok(())
}
