//! What hinders nodes in containers of a daemon: everything at once, each with what to do.

use node_runtime::preflight::{cgroups_v1_finding, inotify_finding};
use system_containers::{Finding, Weight};

use crate::socket::Engine;

/// What the findings depend on.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The engine.
    pub engine: Engine,
    /// Its version.
    pub version: String,
    /// The version of control groups, `1` or `2`; empty if it does not say.
    pub cgroup_version: String,
    /// The driver of its disk.
    pub driver: String,
    /// The name of the runtime below it.
    pub runtime: String,
    /// Whether it runs without root.
    pub is_rootless: bool,
    /// Whether its containers run in a virtual machine.
    pub is_virtual: bool,
    /// Whether this machine gives CAP_SYS_RESOURCE to anybody.
    pub has_resource_capability: bool,
    /// `fs.inotify.max_user_instances`, and `fs.inotify.max_user_watches`.
    pub inotify: Option<(u64, u64)>,
}

/// Returns what the facts mean, the worst first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |weight, what: String, remedy: String| found.push(Finding { weight, what, remedy });
    daemon(facts, &mut add);
    machine(facts, &mut add);
    found.extend((facts.cgroup_version == "1").then(cgroups_v1_finding));
    found.extend(inotify_finding(facts.inotify));
    found.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    found
}

type Add<'a> = &'a mut dyn FnMut(Weight, String, String);

fn daemon(facts: &Facts, add: Add<'_>) {
    let (name, command) = (facts.engine.name(), facts.engine.name().to_lowercase());
    add(
        Weight::Note,
        format!("nodes run in {name} {}", facts.version),
        format!("see them with `{command} ps`"),
    );
    if facts.is_rootless {
        add(
            Weight::Obstacle,
            format!("{name} runs without root, so that this machine does not reach the addresses of its containers, and kubelets lack rights"),
            match facts.engine {
                Engine::Docker => "use the daemon of root: DOCKER_HOST=unix:///var/run/docker.sock".to_owned(),
                Engine::Podman => "use the service of root: `systemctl start podman.socket`, and start this program with sudo".to_owned(),
            },
        );
    }
    if facts.is_virtual {
        add(
            Weight::Obstacle,
            "the containers of Docker Desktop are in a virtual machine, whose addresses this machine does not reach".to_owned(),
            "install Docker Engine, or start this program in the virtual machine".to_owned(),
        );
    }
    if facts.driver == "vfs" {
        add(
            Weight::Warning,
            format!("{name} has the storage driver vfs, with which each container copies its whole image"),
            "give it overlay2 (Docker) or overlay (Podman)".to_owned(),
        );
    }
    if facts.engine == Engine::Podman {
        add(
            Weight::Note,
            "Podman has no daemon that starts containers with the machine".to_owned(),
            "enable `podman-restart.service`, or run `firstlight nodes start --all` after a start of the machine".to_owned(),
        );
    }
}

fn machine(facts: &Facts, add: Add<'_>) {
    // Another runtime is there because somebody has thought about it.
    let is_usual = ["runc", "crun", "oci", ""].contains(&facts.runtime.as_str());
    if !facts.has_resource_capability {
        let weight = if is_usual { Weight::Warning } else { Weight::Note };
        add(
            weight,
            "CAP_SYS_RESOURCE is missing on this machine, so that runc refuses privileged containers (\"unable to apply caps\"), Podman's limits (\"setrlimit\"), and lower OOM scores"
                .to_owned(),
            "give the daemon a default runtime that asks for the capabilities and limits that are there, and use a node image whose containerd has `restrict_oom_score_adj = true`".to_owned(),
        );
    }
}
