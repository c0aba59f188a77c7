//! What containers may change of the machine, compared before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::process::Command;

use crate::images::Images;
use crate::run::{run, until};
use crate::usage;

/// The longest time for a command that looks at something.
const LOOK: Duration = Duration::from_secs(30);
/// Settings of the kernel that a kubelet, kube-proxy or a bridge change, in `/proc/sys`.
const SETTINGS: [&str; 9] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "fs/file-max",
    "fs/nr_open",
    "net/ipv4/ip_forward",
];

/// The state of the machine, as this process sees it in its namespaces: texts by what they describe.
pub struct Machine(BTreeMap<String, String>);

impl Machine {
    /// Looks at the machine. The data directories are in `folder`.
    ///
    /// # Errors
    /// Something cannot be read.
    pub async fn look(images: &Images, folder: &Path) -> Result<Self> {
        let mut found = BTreeMap::new();
        let mut add = |what: &str, text: String| found.insert(what.to_owned(), text);
        // Podman mounts its own storage while it works, and unmounts it whenever nothing uses it.
        let podman = folder.join("p/data").display().to_string();
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        add("mounts", mounts.lines().filter(|line| !line.contains(&podman)).collect::<Vec<_>>().join("\n"));
        for words in [["-o", "link"], ["-o", "address"], ["route", "show"], ["rule", "show"]] {
            add(&words.join(" "), run(Command::new("ip").args(words), b"", LOOK).await?);
        }
        // The machine needs no nft, so that of the nodes is used. It prints no counters.
        let mut nft = Command::new("chroot");
        nft.arg(images.debian()).args(["nft", "--stateless", "list", "ruleset"]);
        add("rules of nftables", run(&mut nft, b"", LOOK).await?);
        for name in SETTINGS {
            add(name, fs::read_to_string(Path::new("/proc/sys").join(name)).unwrap_or_default());
        }
        let mut processes: Vec<String> = usage::running().map(|(_, name)| name).collect();
        processes.sort();
        add("processes", processes.join("\n"));
        add("control groups", format!("{:#?}", groups(folder)));
        Ok(Self(found))
    }

    /// Checks that the machine is the same after everything was deleted.
    ///
    /// # Errors
    /// Says what differs.
    pub fn is(&self, after: &Self) -> Result<()> {
        let mut differences = String::new();
        for (what, before) in &self.0 {
            let after = after.0.get(what).map_or("", String::as_str);
            if after != before {
                differences += &format!("--- {what} before\n{before}\n--- {what} after\n{after}\n");
            }
        }
        if !differences.is_empty() {
            bail!("the machine is not as before\n{differences}");
        }
        Ok(())
    }
}

/// Returns the control groups of the data directories in a folder that are there.
fn groups(folder: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut found = Vec::new();
    for identity in identities(folder, 3) {
        let name = format!("firstlight-{identity}");
        let all = node_runtime::groups::parse(&mounts).into_iter().map(|top| top.path.join(&name));
        found.extend(all.filter(|path| path.exists()));
    }
    found
}

/// Returns the contents of files called `identity`, which a data directory of containers has.
fn identities(folder: &Path, depth: u32) -> Vec<String> {
    let mut found: Vec<String> = fs::read_to_string(folder.join("identity")).into_iter().collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(identities(&entry.path(), depth - 1));
        }
    }
    found
}

/// Kills what still runs in the control groups of the data directories in a folder, and removes them: they would outlive the namespaces.
pub async fn remove_groups(folder: &Path) {
    let groups = groups(folder);
    let removed = until("the control groups are removed", LOOK, async || {
        groups.iter().try_for_each(|group| remove_group(group))
    });
    // What a failed scenario leaves is no failure of its own.
    removed.await.ok();
}

fn remove_group(group: &Path) -> Result<()> {
    for pid in fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().lines() {
        let pid = pid.parse().ok().and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
        }
    }
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_group(&entry.path())?;
        }
    }
    match fs::remove_dir(group) {
        Err(error) if group.exists() => Err(error.into()),
        _ => Ok(()),
    }
}
