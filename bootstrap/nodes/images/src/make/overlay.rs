//! What a node has besides a Debian and its programs: units, and the configuration of containerd, kubelet and systemd. The files are in `data`.

use anyhow::Result;

use super::tree::Tree;

/// What the files depend on.
pub(super) struct Facts<'a> {
    pub(super) kubernetes: &'a str,
    /// The minor version of Kubernetes.
    pub(super) minor: u32,
    /// The path of containerd.
    pub(super) containerd: &'a str,
    /// The name of the image with which each Pod begins; that of containerd if there is none.
    pub(super) pause: Option<&'a str>,
}

/// Units that need devices, consoles or the whole machine, and timers for which no node lives long enough.
const MASKED: [&str; 32] = [
    "systemd-udevd.service",
    "systemd-udevd-control.socket",
    "systemd-udevd-kernel.socket",
    "systemd-udev-trigger.service",
    "systemd-modules-load.service",
    "systemd-logind.service",
    "systemd-remount-fs.service",
    "systemd-journal-flush.service",
    "systemd-journald-audit.socket",
    "systemd-pstore.service",
    "systemd-random-seed.service",
    "systemd-firstboot.service",
    "systemd-binfmt.service",
    "systemd-resolved.service",
    "systemd-networkd.service",
    "systemd-timesyncd.service",
    "proc-sys-fs-binfmt_misc.automount",
    "proc-sys-fs-binfmt_misc.mount",
    "dev-hugepages.mount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "sys-kernel-config.mount",
    "getty.target",
    "console-getty.service",
    "getty@tty1.service",
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
];
const ENABLED: [&str; 4] =
    ["kubelet.service", "node-images.service", "node-pods-network.service", "node-ssh-keys.service"];
const UNITS: &str = "/etc/systemd/system";
/// What a Debian has that differs from node to node, or that would change the machine.
const EMPTIED: [&str; 5] =
    ["/usr/lib/sysctl.d", "/etc/sysctl.d", "/var/cache/apt", "/var/lib/apt/lists", "/var/log/journal"];
/// The image with which each Pod begins, of the containerd of Debian 12 to 13.
const PAUSE: &str = "registry.k8s.io/pause:3.10";

/// Adds everything to a tree.
///
/// # Errors
/// A file cannot be written.
pub(super) fn apply(tree: &Tree, facts: &Facts<'_>) -> Result<()> {
    for folder in EMPTIED {
        for name in tree.names(folder)? {
            tree.remove(&format!("{folder}/{name}"))?;
        }
    }
    for name in tree.names("/etc/ssh")?.iter().filter(|name| name.starts_with("ssh_host_")) {
        tree.remove(&format!("/etc/ssh/{name}"))?;
    }
    for folder in [
        "/etc/cni",
        "/etc/cni/net.d",
        "/etc/kubernetes",
        "/etc/kubernetes/manifests",
        "/kind",
        "/kind/manifests",
    ] {
        tree.folder(folder, 0o755)?;
    }
    for (path, mode, content) in files(facts) {
        tree.write(path, mode, content.as_bytes())?;
    }
    for unit in MASKED {
        tree.link(&format!("{UNITS}/{unit}"), "/dev/null")?;
    }
    for unit in ENABLED {
        tree.link(&format!("{UNITS}/multi-user.target.wants/{unit}"), &format!("{UNITS}/{unit}"))?;
    }
    let containerd = ["/lib/systemd/system", "/usr/lib/systemd/system"].into_iter().find_map(|folder| {
        tree.names(folder).ok()?.contains(&"containerd.service".to_owned()).then_some(folder)
    });
    let containerd = format!("{}/containerd.service", containerd.unwrap_or(UNITS));
    tree.link(&format!("{UNITS}/multi-user.target.wants/containerd.service"), &containerd)?;
    tree.link(&format!("{UNITS}/default.target"), "/lib/systemd/system/multi-user.target")
}

/// Returns the paths, modes and contents of all files.
fn files(facts: &Facts<'_>) -> Vec<(&'static str, u32, String)> {
    let kept = |text: &str| text.to_owned();
    let containerd = |template: &str| {
        let pause = facts.pause.unwrap_or(PAUSE);
        include_str!("../../data/containerd.toml").replace("@SANDBOX@", pause).replace("@TEMPLATE@", template)
    };
    vec![
        ("/kind/version", 0o644, format!("{}\n", facts.kubernetes)),
        (
            "/kind/manifests/default-storage.yaml",
            0o644,
            kept(include_str!("../../data/default-storage.yaml")),
        ),
        // Each node gets its own, as machine-id(5) says.
        ("/etc/machine-id", 0o444, String::new()),
        ("/etc/resolv.conf", 0o644, String::new()),
        ("/etc/crictl.yaml", 0o644, kept("runtime-endpoint: unix:///run/containerd/containerd.sock\n")),
        ("/etc/containerd/config.toml", 0o644, containerd("")),
        (
            "/etc/containerd/bridge.toml",
            0o644,
            containerd("conf_template = \"/etc/containerd/bridge.conflist\"\n"),
        ),
        ("/etc/containerd/bridge.conflist", 0o644, kept(include_str!("../../data/bridge.conflist"))),
        ("/etc/default/kubelet", 0o644, kubelet(facts.minor)),
        ("/etc/sysctl.d/90-node.conf", 0o644, kept(include_str!("../../data/sysctl.conf"))),
        ("/etc/systemd/journald.conf.d/node.conf", 0o644, kept(include_str!("../../data/journald.conf"))),
        (
            "/etc/systemd/system/containerd.service.d/10-node.conf",
            0o644,
            kept(include_str!("../../data/containerd.service.conf")),
        ),
        ("/etc/systemd/system/kubelet.service", 0o644, kept(include_str!("../../data/kubelet.service"))),
        (
            "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
            0o644,
            kept(include_str!("../../data/kubelet.service.conf")),
        ),
        (
            "/etc/systemd/system/node-images.service",
            0o644,
            kept(include_str!("../../data/node-images.service")),
        ),
        (
            "/etc/systemd/system/node-ssh-keys.service",
            0o644,
            kept(include_str!("../../data/node-ssh-keys.service")),
        ),
        (
            "/etc/systemd/system/node-pods-network.service",
            0o644,
            kept(include_str!("../../data/node-pods-network.service")),
        ),
        (
            "/usr/local/bin/node-containerd",
            0o755,
            include_str!("../../data/node-containerd").replace("@CONTAINERD@", facts.containerd),
        ),
        ("/usr/local/bin/node-before-kubelet", 0o755, kept(include_str!("../../data/node-before-kubelet"))),
        ("/usr/local/bin/node-images", 0o755, kept(include_str!("../../data/node-images"))),
        ("/usr/local/bin/node-pods-network", 0o755, kept(include_str!("../../data/node-pods-network"))),
    ]
}

/// Returns the flags of a kubelet in a container. The one for control groups of version 1 came with 1.31, and without it 1.35 and later do not start there.
fn kubelet(minor: u32) -> String {
    let one = if minor >= 31 { "--fail-cgroupv1=false " } else { "" };
    format!("KUBELET_EXTRA_ARGS={one}--fail-swap-on=false --resolv-conf=/run/node/resolv.conf\n")
}
