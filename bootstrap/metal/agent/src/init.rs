//! Runs the agent as the first process of the machine, which must never end, since the kernel would panic.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::CONFIGURATION;
use anyhow::{Context, Result, ensure};
use machinery::clock::Clock;
use machinery::random::Random;
use rustix::mount::{MountFlags, mount};

use crate::devices::Devices;
use crate::journal::Journal;
use crate::machine::{Arguments, configuration};
use crate::modules::Loader;
use crate::network::lldp::Neighbours;
use crate::network::{Tools, ask_on_all};
use crate::work::Agent;

/// File system, mount point, options.
const MOUNTS: &[(&str, &str, &str)] = &[
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", "mode=0755"),
    ("tmpfs", "/run", "mode=0755"),
    ("tmpfs", "/tmp", "mode=1777"),
];
/// The pause before the agent's work starts again after an error or a panic.
const AGAIN: Duration = Duration::from_secs(5);

/// Whether this process is the first of a machine that was booted with an initramfs of [`agent_protocol::Configuration`]. In a container
/// a program is the first process too, but it has no configuration of an agent.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(CONFIGURATION).exists()
}

/// Runs the agent for ever.
///
/// # Errors
/// This process is not the first one of a machine. The check is necessary because an agent erases disks.
pub fn run() -> Result<Infallible> {
    ensure!(
        is_init(),
        "the agent runs as /init of an initramfs that firstlight has packed, and nowhere else"
    );
    let clock = Clock::system();
    let journal = Journal::new(clock.clone());
    journal.line(format!("agent {} starts", env!("CARGO_PKG_VERSION")));
    note_panics(&journal);
    mount_all(&journal);
    loop {
        let tools = Tools { clock: clock.clone(), random: Random::system(), journal: journal.clone() };
        match catch_unwind(AssertUnwindSafe(|| work(tools))) {
            Ok(Ok(never)) => match never {},
            Ok(Err(error)) => journal.line(format!("{error:#}")),
            // The panic hook has logged the message.
            Err(_panic) => {}
        }
        pause(&clock);
    }
}

fn pause(clock: &Clock) {
    // Without a runtime it is impossible to wait, so the work is retried at once.
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() {
        runtime.block_on(clock.sleep(AGAIN));
    }
}

fn work(tools: Tools) -> Result<Infallible> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.context("cannot start")?.block_on(async {
        let arguments = Arguments::read(&std::fs::read_to_string("/proc/cmdline").unwrap_or_default());
        let configuration = configuration(&arguments)?;
        let loader = Arc::new(Loader::of_initramfs(tools.journal.clone())?);
        let devices = Devices::watch(loader.clone(), tools.clock.clone(), &tools.journal)?;
        let drivers = tokio::task::spawn_blocking({
            let (journal, always) = (tools.journal.clone(), configuration.modules.clone());
            move || load_drivers(&loader, &always, &journal)
        });
        // Must precede the activation of the first interface: switches send LLDP messages when a link comes up.
        let neighbours = Neighbours::listen(&tools.clock, &tools.journal).unwrap_or_else(|error| {
            tools.journal.line(format!("{error:#}"));
            Neighbours::default()
        });
        let network = ask_on_all(arguments.boot, arguments.networks.clone(), tools.clone(), devices.clone())?;
        let agent = Agent::new(tools.clone(), arguments, configuration, network, neighbours, devices)?;
        let drivers = async {
            if let Err(error) = drivers.await {
                tools.journal.line(format!("cannot load drivers: {error}"));
            }
        };
        tokio::join!(agent.work(), drivers).0
    })
}

/// Loads the drivers of the present devices, and the modules that no device asks for.
fn load_drivers(loader: &Loader, always: &[String], journal: &Journal) {
    loader.load_for_all("/sys/bus".as_ref());
    always.iter().for_each(|module| loader.load(module));
    journal.line("drivers are loaded");
    // A machine that was booted by BIOS has no UEFI variables.
    if Path::new("/sys/firmware/efi").exists() {
        loader.load("efivarfs");
        mount_one("efivarfs", crate::firmware::VARIABLES, "", journal);
    }
}

fn mount_all(journal: &Journal) {
    for (kind, target, options) in MOUNTS {
        mount_one(kind, target, options, journal);
    }
}

fn mount_one(kind: &str, target: &str, options: &str, journal: &Journal) {
    // The folder may exist already; other errors appear in `mount`.
    let _ = std::fs::create_dir_all(target);
    let data = std::ffi::CString::new(options).unwrap_or_default();
    match mount(kind, target, kind, MountFlags::NOSUID, data.as_c_str()) {
        // The file system was mounted by the kernel, or before a panic.
        Ok(()) | Err(rustix::io::Errno::BUSY) => {}
        Err(error) => journal.line(format!("cannot mount {target}: {error}")),
    }
}

fn note_panics(journal: &Journal) {
    let journal = journal.clone();
    std::panic::set_hook(Box::new(move |panic| journal.line(format!("internal error: {panic}"))));
}
