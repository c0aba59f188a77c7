//! The digest of everything that the components of a provider are made of.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use schemas::operator::ProviderSpec;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::referred::Referred;

/// Returns the digest. A version from a repository on the network does not change, so its files are not part of it. The digest is written to
/// an annotation, from which short values of a Secret could be guessed; the version of the Secret stands for them.
pub(crate) fn digest(
    spec: &ProviderSpec,
    secret: &Referred<Secret>,
    maps: &[ConfigMap],
    manifests: &Referred<ConfigMap>,
) -> String {
    let secret = match secret {
        Referred::Found(secret) => json!([secret.metadata.uid, secret.metadata.resource_version]),
        _ => Value::Null,
    };
    let manifests = match manifests {
        Referred::Found(map) => json!(map.data),
        _ => Value::Null,
    };
    let map =
        |map: &ConfigMap| json!([map.name_any(), map.labels(), map.annotations(), map.data, map.binary_data]);
    let maps: Vec<Value> = maps.iter().map(map).collect();
    let text = json!([spec, secret, maps, manifests]).to_string();
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
