//! The first process of a container, until it becomes the init of the image, or a balancer ([`balancer`]).
//!
//! It is outside of the container at first, except for its processes: it makes the other namespaces, waits for its link to the network, mounts,
//! and leaves the machine. Its standard input is the conversation with the supervisor, which ends when the init runs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use nix::sched::{CloneFlags, unshare};
use rustix::process::{Signal, set_parent_process_death_signal};

use super::watch::block_on;
use super::{balancer, console, mounts};
use crate::containers::{Folder, Record};
use crate::groups::{Groups, Version};
use crate::network;
use system_containers::{Init, Spec, is_init};

/// Where programs are looked for.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What systemd must be told with version 1: otherwise it mounts version 2 beside it, which a kubelet does not expect.
const ONE: [&str; 2] = ["systemd.unified_cgroup_hierarchy=0", "systemd.legacy_systemd_cgroup_controller=1"];
/// The lists of name servers of this machine; the second one has those behind systemd-resolved.
const RESOLV: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/// What the first process becomes.
enum Becoming {
    Program(Command),
    Balancer,
}

/// Becomes the init of a container. Returns the exit code if something fails, or if it was a balancer that has ended.
pub(super) fn run(path: &Path) -> i32 {
    let supervisor = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let Ok(supervisor) = supervisor else { return 1 };
    let error = match start(&Folder::new(path), &supervisor) {
        Ok(Becoming::Balancer) => return balance(supervisor),
        Ok(Becoming::Program(mut command)) => {
            let program = command.get_program().to_owned();
            // It closes the conversation.
            anyhow!(command.exec()).context(format!("cannot run {} of the image", program.display()))
        }
        Err(error) => error,
    };
    super::complain(&supervisor, &error);
    1
}

/// Becomes a balancer, and returns its exit code.
fn balance(supervisor: UnixStream) -> i32 {
    let mut supervisor = Some(supervisor);
    let Err(error) = balancer::run(&mut supervisor) else { return 0 };
    match supervisor {
        Some(supervisor) => super::complain(supervisor, &error),
        None => super::complain(std::io::stderr(), &error),
    }
    1
}

fn start(folder: &Folder, supervisor: &UnixStream) -> Result<Becoming> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot be bound to the supervisor")?;
    rustix::process::setsid().context("cannot make a session")?;
    let mut lines = BufReader::new(supervisor);
    let mut listen = || -> Result<String> {
        let mut line = String::new();
        let length = lines.read_line(&mut line).context("cannot hear the supervisor")?;
        ensure!(length > 0, "the supervisor has ended");
        Ok(line.trim_end().to_owned())
    };
    let say = |text: &str| writeln!(&*supervisor, "{text}").context("the supervisor has ended");
    let record = folder.read()?.context("the container has no record")?;
    let groups = Groups::find(&record.identity)?;
    // This process is in its control groups then, so that the new namespace of control groups begins there.
    let terminal = PathBuf::from(listen()?);
    let terminal_file = console::open(&terminal)?;
    unshare(
        CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWNET
            | CloneFlags::CLONE_NEWCGROUP,
    )
    .context("cannot make namespaces")?;
    say("unshared")?;
    listen()?;
    block_on(network::configure(record.range, record.address))?;
    rustix::system::sethostname(record.spec.name.as_bytes()).context("cannot set the host name")?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    if record.spec.init == Init::Balancer {
        balancer::allow_ports();
        mounts::enter_empty(folder, &record)?;
        attach(&terminal_file)?;
        return Ok(Becoming::Balancer);
    }
    write_private(folder, &record)?;
    mounts::enter(folder, &record, &groups, &terminal)?;
    attach(&terminal_file)?;
    Ok(Becoming::Program(command(&record.spec, groups.version())))
}

/// Makes the terminal the standard input and output.
fn attach(terminal: &OwnedFd) -> Result<()> {
    let cannot = "cannot use the terminal";
    nix::unistd::dup2_stdin(terminal).context(cannot)?;
    nix::unistd::dup2_stdout(terminal).context(cannot)?;
    nix::unistd::dup2_stderr(terminal).context(cannot)
}

fn command(spec: &Spec, version: Version) -> Command {
    let mut words = match &spec.init {
        Init::Command(words) => words.clone(),
        _ => vec!["/sbin/init".to_owned()],
    };
    // The entrypoint of kind's images hands its arguments on.
    if version == Version::One && words.last().is_some_and(|last| is_init(last)) {
        words.extend(ONE.map(str::to_owned));
    }
    let mut command = Command::new(&words[0]);
    // systemd knows by it that it is in a container, and which kind: the images of kind expect this one.
    command.args(&words[1..]).env_clear().env("container", "docker").env("PATH", PATH);
    command.envs(&spec.environment);
    command
}

/// Writes the files that are mounted over those of the image.
fn write_private(folder: &Folder, record: &Record) -> Result<()> {
    let (name, address) = (&record.spec.name, record.address);
    let mut servers = record.spec.name_servers.clone();
    if servers.is_empty() {
        let lists = RESOLV.iter().map(|path| name_servers(&fs::read_to_string(path).unwrap_or_default()));
        servers = lists.into_iter().find(|servers| !servers.is_empty()).unwrap_or_default();
    }
    let hosts = format!("127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{address} {name}\n");
    let resolv: String = servers.iter().map(|server| format!("nameserver {server}\n")).collect();
    for (file, content) in [("hostname", format!("{name}\n")), ("hosts", hosts), ("resolv.conf", resolv)] {
        let path = folder.private(file);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Returns the name servers of resolv.conf(5) that a container can reach.
fn name_servers(text: &str) -> Vec<Ipv4Addr> {
    let servers = text.lines().filter_map(|line| line.strip_prefix("nameserver")?.trim().parse().ok());
    servers.filter(|server: &Ipv4Addr| !server.is_loopback() && !server.is_unspecified()).collect()
}
