//! The names of objects for which the API server would choose one, by `metadata.generateName`. Pure.
//!
//! The server would choose another name with each attempt, so that each attempt would create another object. The name is therefore computed
//! from what the object is, and from what it belongs to: an attempt finds what an earlier one has created.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::manifests::{Manifest, text};

/// Length of a name that is made from a prefix. Kubernetes makes none that is longer.
const LENGTH: usize = 63;
/// Length of what is appended to the prefix. With the five characters of Kubernetes, two of many objects could have one name, and the second
/// would count as created.
const SUFFIX: usize = 10;
/// The letters and digits that Kubernetes uses in generated names.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Gives names to the manifests that have only a prefix. `owner` is what they belong to: others have other names. Manifests that are equal
/// have different names, too.
pub fn name_all(owner: &[&str], manifests: &mut [Manifest]) {
    let mut equal: BTreeMap<String, usize> = BTreeMap::new();
    let is_named = |manifest: &Manifest| !text(&manifest.object["metadata"], "name").is_empty();
    for manifest in manifests.iter_mut().filter(|manifest| manifest.fault.is_none() && !is_named(manifest)) {
        let content = manifest.object.to_string();
        let number = equal.entry(content.clone()).and_modify(|number| *number += 1).or_default().to_string();
        let mut hasher = Sha256::new();
        for part in owner.iter().copied().chain([content.as_str(), number.as_str()]) {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
        let name = name(text(&manifest.object["metadata"], "generateName"), &hasher.finalize());
        manifest.object["metadata"]["name"] = Value::String(name);
        manifest.is_generated = true;
    }
}

/// Returns the prefix, shortened if necessary, with a suffix that the digest determines.
fn name(prefix: &str, digest: &[u8]) -> String {
    let suffix = digest.iter().take(SUFFIX);
    let suffix = suffix.map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]));
    prefix.chars().take(LENGTH - SUFFIX).chain(suffix).collect()
}
