//! API groups and their versions, in the order of preference.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use registry::Definitions;
use serde_json::{Value, json};

/// An API group.
pub(crate) struct Group {
    pub(crate) name: String,
    /// Versions, the preferred one first.
    pub(crate) versions: Vec<String>,
}

/// The order of built-in groups; all others follow by name. Clients that resolve a resource by its plain
/// name, such as `events`, use the first group that has it.
const ORDER: [&str; 21] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
];

/// Returns all groups with served versions, in order.
pub(crate) fn groups(definitions: &Definitions) -> Vec<Group> {
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for definition in definitions.iter() {
        let group = versions.entry(&definition.group).or_default();
        for version in definition.versions.iter().filter(|version| version.served) {
            if !group.contains(&version.name) {
                group.push(version.name.clone());
            }
        }
    }
    let mut groups: Vec<Group> = versions
        .into_iter()
        .filter(|(_, versions)| !versions.is_empty())
        .map(|(name, mut versions)| {
            versions.sort_by(|a, b| compare_versions(a, b));
            Group { name: name.to_owned(), versions }
        })
        .collect();
    let rank = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
    groups.sort_by(|a, b| rank(&a.name).cmp(&rank(&b.name)).then_with(|| a.name.cmp(&b.name)));
    groups
}

/// Compares versions: stable before beta before alpha, then the higher number first; other names come last,
/// by name.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Parses `v1` or `v2beta3` into (stability, major, minor).
fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let major = major.parse().ok()?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match (rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        (Some(minor), _) => (1, minor),
        (_, Some(minor)) => (0, minor),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

impl Group {
    /// Returns the group without kind and apiVersion, as in a list.
    pub(crate) fn to_value(&self) -> Value {
        let versions: Vec<Value> = self.versions.iter().map(|version| self.version(version)).collect();
        let preferred = versions.first().cloned().unwrap_or_default();
        json!({"name": self.name, "versions": versions, "preferredVersion": preferred})
    }

    fn version(&self, version: &str) -> Value {
        json!({"groupVersion": format!("{}/{version}", self.name), "version": version})
    }
}

/// Builds the document at `/apis`.
pub(crate) fn list(groups: &[Group]) -> Value {
    let named = groups.iter().filter(|group| !group.name.is_empty());
    let groups: Vec<Value> = named.map(Group::to_value).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Builds the document at `/api`. `address` is that of the server, if it is known.
pub(crate) fn versions(address: Option<&SocketAddr>) -> Value {
    let address = address.map_or_else(String::new, SocketAddr::to_string);
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}
