//! The allowed dependencies between crates: downwards only, as in docs/ARCHITECTURE.md.

use serde_json::Value;

/// A dependency of one workspace crate on another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The depending crate.
    pub from: String,
    /// The crate that it depends on.
    pub to: String,
}

/// Height of each top-level folder; a crate may depend only on crates of the same or a lower height.
const ROOMS: &[(&str, u8)] =
    &[("apiserver", 0), ("schemas", 1), ("controllers", 2), ("bootstrap", 3), ("tests", 4)];

/// The crates of the API server, from the lowest to the highest.
const API_SERVER_ORDER: &[&str] = &[
    "files",
    "metrics",
    "machinery",
    "cel",
    "apiextensions",
    "kinds",
    "pki",
    "store",
    "registry",
    "webhook",
    "access",
    "serving",
];

/// Dependencies that are forbidden although they point downwards or sideways.
const FORBIDDEN: &[(&str, &[&str], &str)] = &[
    ("schemas", &["store", "registry", "access", "serving"], "schemas know nothing of HTTP or storage"),
    ("engine", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("cluster-core", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("cluster-topology", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("cluster-topology", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    ("kubeadm", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("addons", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("addons", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    ("runtime-extensions", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    (
        "runtime-extensions",
        &["cluster-core", "kubeadm", "simulated"],
        "controllers meet only through the API",
    ),
    ("cluster-core", &["kubeadm", "simulated"], "controllers meet only through the API"),
    ("kubeadm", &["cluster-core", "simulated"], "controllers meet only through the API"),
    ("simulated", &["cluster-core", "kubeadm"], "controllers meet only through the API"),
    ("metal", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("metal", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    ("workloads", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("certificates", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("workloads", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    ("certificates", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    ("container-images", &["schemas", "engine"], "images know nothing of Kubernetes"),
    ("pod-processes", &["schemas", "engine"], "processes know nothing of Kubernetes"),
    ("container-machines", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    (
        "container-machines",
        &["cluster-core", "kubeadm", "simulated"],
        "controllers meet only through the API",
    ),
    ("dev-machine-pools", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    (
        "dev-machine-pools",
        &["cluster-core", "kubeadm", "simulated", "container-machines"],
        "controllers meet only through the API",
    ),
    ("node-bootstrap", &["schemas", "engine"], "bootstrap data is text, and reading it needs no I/O"),
    ("system-containers", &["schemas", "engine"], "system containers know nothing of Kubernetes"),
    ("node-images", &["schemas", "engine"], "images know nothing of Kubernetes"),
    ("node-docker", &["schemas", "engine"], "system containers know nothing of Kubernetes"),
    ("node-runtime", &["schemas", "engine"], "system containers know nothing of Kubernetes"),
    ("node-balancer", &["schemas", "engine"], "a balancer knows connections, not what is in them"),
    ("kubelet", &["store", "registry", "serving"], "a kubelet knows a client, never the store"),
    ("cluster-ipam", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    (
        "cluster-ipam",
        &["cluster-core", "kubeadm", "metal", "metal-machines"],
        "controllers meet only through the API",
    ),
    ("metal-machines", &["store", "registry", "serving"], "a controller knows a client, never the store"),
    ("metal-machines", &["cluster-core", "kubeadm", "simulated"], "controllers meet only through the API"),
    (
        "agent",
        &["schemas", "engine", "metal", "bmc", "serving"],
        "the agent knows the server by its messages only",
    ),
    ("agent-protocol", &["schemas", "engine", "machinery"], "messages are data: both sides carry them"),
    (
        "metal-boot",
        &["schemas", "engine", "metal", "agent", "metal-provisioning"],
        "booting knows nothing of Kubernetes",
    ),
];

/// The dependencies between workspace crates in the output of `cargo metadata` without development
/// dependencies, and the top-level folder of each crate.
pub fn workspace_edges(metadata: &Value) -> (Vec<Edge>, Vec<(String, String)>) {
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let room = |package: &&Value| {
        let path = package["manifest_path"].as_str()?.strip_prefix(root)?.trim_start_matches('/');
        Some((short_name(package)?, path.split('/').next()?.to_owned()))
    };
    let rooms = packages.iter().filter_map(room).collect();
    let mut edges = Vec::new();
    for package in &packages {
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let local = dependency["path"].is_string() && dependency["kind"].is_null();
            if let (true, Some(from), Some(to)) = (local, short_name(package), short_name(dependency)) {
                edges.push(Edge { from, to });
            }
        }
    }
    edges.sort();
    (edges, rooms)
}

/// The name of a package without the prefix that all of ours carry.
fn short_name(package: &Value) -> Option<String> {
    let name = package["name"].as_str()?;
    Some(name.strip_prefix("firstlight-").unwrap_or(name).to_owned())
}

/// The violations in `edges`, one per line.
pub fn violations(edges: &[Edge], rooms: &[(String, String)]) -> Vec<String> {
    let height = |name: &str| {
        let room = rooms.iter().find(|(known, _)| known == name).map(|(_, room)| room.as_str())?;
        ROOMS.iter().find(|(known, _)| *known == room).map(|(_, height)| *height)
    };
    let server = |name: &str| API_SERVER_ORDER.iter().position(|known| *known == name);
    let mut found = Vec::new();
    for Edge { from, to } in edges {
        match (height(from), height(to)) {
            (Some(above), Some(below)) if above >= below => {}
            (Some(_), Some(_)) => found.push(format!("{from} -> {to}: dependencies point downwards only")),
            _ => found.push(format!("{from} -> {to}: a crate in a folder that the map does not have")),
        }
        if let (Some(above), Some(below)) = (server(from), server(to))
            && above <= below
        {
            found.push(format!("{from} -> {to}: the API server's crates point downwards only"));
        }
        let forbidden = FORBIDDEN.iter().filter(|(a, b, _)| from == a && b.contains(&to.as_str()));
        found.extend(forbidden.map(|(_, _, why)| format!("{from} -> {to}: {why}")));
    }
    found
}
