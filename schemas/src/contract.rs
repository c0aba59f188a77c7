//! The contract of Cluster API: which version of a provider's kind implements it, from the labels of its CustomResourceDefinition.

use std::cmp::Ordering;

/// The contracts that Cluster API's controllers support, newest first.
const CONTRACTS: &[&str] = &["v1beta2", "v1beta1"];

/// Returns the newest contract that a kind implements, and the newest version that implements it. `label` returns a label of its
/// CustomResourceDefinition.
pub fn implemented<'a>(label: impl Fn(&str) -> Option<&'a str>) -> Option<(&'static str, &'a str)> {
    CONTRACTS.iter().copied().find_map(|contract| {
        let versions = label(&format!("cluster.x-k8s.io/{contract}"))?;
        Some((contract, newest(versions)?))
    })
}

/// Returns the contract that this version of a kind implements, the newest if it is named under several; `None` if under none.
pub fn implemented_by<'a>(version: &str, label: impl Fn(&str) -> Option<&'a str>) -> Option<&'static str> {
    CONTRACTS.iter().copied().find(|contract| {
        let versions = label(&format!("cluster.x-k8s.io/{contract}"));
        versions.is_some_and(|versions| versions.split('_').any(|named| named == version))
    })
}

/// Returns the newest of several versions separated by underscores.
fn newest(versions: &str) -> Option<&str> {
    versions.split('_').filter(|version| !version.is_empty()).max_by(|a, b| compare(a, b))
}

/// Compares versions as Kubernetes does: `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > any other name,
/// in reverse order.
fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => b.cmp(a),
    }
}

fn parse(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    for (level, word) in [(1, "beta"), (0, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((level, major.parse().ok()?, minor.parse().ok()?));
        }
    }
    Some((2, rest.parse().ok()?, 0))
}
