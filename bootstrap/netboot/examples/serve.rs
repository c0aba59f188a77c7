//! Serves boot files on an interface to every machine that asks: `serve INTERFACE UNIFIED-IMAGE KERNEL INITRD TFTP-FOLDER [proxy|full]
//! [disk]`, with `-` for a file that does not exist. With `disk`, machines are told to start from their disks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use netboot::boot_files::BootFiles;
use netboot::client::Processor;
use netboot::dhcp4::plan::Mode;
use netboot::directory::Memory;
use netboot::machine::{Boot, Machine};
use netboot::{Configuration, Doors, InterfaceConfiguration};

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
    let directory = Memory::default();
    directory.set_others(Machine { known: true, boot: boot_from, ..Machine::default() });
    let configuration = Configuration {
        interfaces: vec![interface],
        boot,
        images: Some(std::env::current_dir()?),
        leases: std::env::current_dir()?.join("leases"),
        http_port: netboot::HTTP_PORT,
        https_port: netboot::HTTPS_PORT,
        tls: None,
    };
    let doors = Doors {
        clock: Clock::system(),
        random: Random::system(),
        directory: Arc::new(directory),
        kube: None,
    };
    let handle = netboot::start(configuration, doors).await?;
    tokio::signal::ctrl_c().await?;
    handle.stop().await;
    Ok(())
}
