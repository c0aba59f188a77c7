//! The data of a host (Metal3's Secrets, `contract/metal3` §1.10). Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::BareMetalHost;
use serde_json::{Map, Value, json};

/// What a machine is told.
#[derive(Clone, PartialEq, Default)]
pub struct Data {
    /// Its UID.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// Metal3's names for it, and what the host's `metaData` adds to them.
    pub meta_data: Map<String, Value>,
    /// The host's `userData`, as it is.
    pub user_data: Option<String>,
    /// The host's `networkData`, as it is.
    pub network_data: Option<String>,
}

/// The Secrets that a host names.
#[derive(Default)]
pub struct Secrets<'a> {
    /// `spec.userData`.
    pub user_data: Option<&'a Secret>,
    /// `spec.metaData`.
    pub meta_data: Option<&'a Secret>,
    /// `spec.networkData`, else `spec.preprovisioningNetworkDataName`.
    pub network_data: Option<&'a Secret>,
}

/// The content of `key`, else of `value`.
fn content(secret: &Secret, key: &str) -> Option<String> {
    let data = secret.data.as_ref()?;
    let bytes = data.get(key).or_else(|| data.get("value"))?;
    Some(String::from_utf8_lossy(&bytes.0).into_owned())
}

fn mapping(text: &str) -> Result<Map<String, Value>, String> {
    let decoded = machinery::decode::yaml(text.as_bytes())?;
    match decoded.value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err("not a mapping of names to values".into()),
    }
}

impl Data {
    /// The data of `host`.
    ///
    /// # Errors
    /// The text of what is wrong with a Secret; never its content.
    pub fn of(host: &BareMetalHost, secrets: &Secrets<'_>) -> Result<Self, String> {
        let name = host.metadata.name.clone().unwrap_or_default();
        let uid = host.metadata.uid.clone().unwrap_or_default();
        let mut meta_data = Map::new();
        for key in ["metal3-name", "local-hostname", "local_hostname", "name", "hostname"] {
            meta_data.insert(key.into(), name.as_str().into());
        }
        meta_data.insert("uuid".into(), uid.as_str().into());
        meta_data.insert("metal3-namespace".into(), host.metadata.namespace.as_deref().into());
        if let Some(text) = secrets.meta_data.and_then(|secret| content(secret, "metaData")) {
            // The parser's words could quote the Secret.
            let more =
                mapping(&text).map_err(|_| "the Secret of spec.metaData is no mapping in YAML or JSON")?;
            meta_data.extend(more);
        }
        let user_data = secrets.user_data.and_then(|secret| content(secret, "userData"));
        let network_data = secrets.network_data.and_then(|secret| content(secret, "networkData"));
        Ok(Self { uid, name, meta_data, user_data, network_data })
    }

    /// The network as OpenStack has it; `None` when there is none, or when it has another form.
    pub fn open_stack_network(&self) -> Option<Value> {
        let map = mapping(self.network_data.as_deref()?).ok()?;
        (!map.contains_key("version")).then_some(Value::Object(map))
    }

    /// The network as cloud-init has it (version 1 or 2), when it was given so.
    pub fn cloud_init_network(&self) -> Option<Value> {
        let map = mapping(self.network_data.as_deref()?).ok()?;
        let map = match map.get("network") {
            Some(Value::Object(inner)) if inner.contains_key("version") => inner.clone(),
            _ => map,
        };
        map.contains_key("version").then_some(Value::Object(map))
    }

    /// `meta_data.json` of OpenStack.
    pub fn open_stack(&self) -> Value {
        Value::Object(self.meta_data.clone())
    }

    /// `meta-data` of NoCloud: JSON is YAML.
    pub fn no_cloud(&self) -> Value {
        let mut map = self.meta_data.clone();
        map.insert("instance-id".into(), self.uid.as_str().into());
        Value::Object(map)
    }

    /// The files of a configuration drive.
    pub fn config_drive(&self) -> BTreeMap<String, String> {
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
        let mut files =
            BTreeMap::from([("openstack/latest/meta_data.json".into(), pretty(&self.open_stack()))]);
        if let Some(user_data) = &self.user_data {
            files.insert("openstack/latest/user_data".into(), user_data.clone());
        }
        if let Some(network) = self.open_stack_network() {
            files.insert("openstack/latest/network_data.json".into(), pretty(&network));
        }
        files
    }

    /// Items of EC2's `meta-data`.
    pub fn ec2(&self, address: std::net::IpAddr) -> BTreeMap<String, String> {
        let text =
            |key: &str| self.meta_data.get(key).and_then(Value::as_str).unwrap_or(&self.name).to_owned();
        BTreeMap::from([
            ("instance-id".into(), self.uid.clone()),
            ("hostname".into(), text("local-hostname")),
            ("local-hostname".into(), text("local-hostname")),
            ("local-ipv4".into(), address.to_canonical().to_string()),
        ])
    }
}

impl std::fmt::Debug for Data {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // User data holds keys and tokens.
        let shown = json!({ "name": self.name, "hasUserData": self.user_data.is_some() });
        write!(formatter, "{shown}")
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn host() -> BareMetalHost {
        serde_json::from_value(json!({
            "metadata": { "name": "node-1", "namespace": "metal", "uid": "1234" }, "spec": { "online": true },
        }))
        .unwrap()
    }

    fn secret(key: &str, text: &str) -> Secret {
        let data = BTreeMap::from([(key.to_owned(), ByteString(text.as_bytes().to_vec()))]);
        Secret { data: Some(data), ..Secret::default() }
    }

    #[test]
    fn secrets_are_read_as_metal3_reads_them() {
        let (user, meta, network) = (
            secret("value", "#cloud-config\n"),
            secret("metaData", "name: other\nrack: 7\n"),
            secret("networkData", "links: []\nnetworks: []\n"),
        );
        let secrets =
            Secrets { user_data: Some(&user), meta_data: Some(&meta), network_data: Some(&network) };
        let data = Data::of(&host(), &secrets).unwrap();
        assert_eq!(data.user_data.as_deref(), Some("#cloud-config\n"));
        let meta_data = data.open_stack();
        let expected = json!({
            "uuid": "1234", "metal3-namespace": "metal", "metal3-name": "node-1", "local-hostname": "node-1",
            "local_hostname": "node-1", "hostname": "node-1", "name": "other", "rack": 7,
        });
        assert_eq!(meta_data, expected);
        assert_eq!(data.no_cloud()["instance-id"], "1234");
        let files: Vec<String> = data.config_drive().into_keys().collect();
        let expected = ["meta_data.json", "network_data.json", "user_data"];
        assert_eq!(files, expected.map(|name| format!("openstack/latest/{name}")));
        assert_eq!(data.cloud_init_network(), None);
    }

    #[test]
    fn what_is_wrong_with_a_secret_is_told_without_its_content() {
        let wrong = secret("metaData", "token-1234");
        let secrets = Secrets { meta_data: Some(&wrong), ..Secrets::default() };
        let error = Data::of(&host(), &secrets).unwrap_err();
        assert!(error.contains("spec.metaData") && !error.contains("1234"), "{error}");
        let version = secret("networkData", "network: {version: 2, ethernets: {}}");
        let secrets = Secrets { network_data: Some(&version), ..Secrets::default() };
        let data = Data::of(&host(), &secrets).unwrap();
        assert_eq!(data.cloud_init_network(), Some(json!({ "version": 2, "ethernets": {} })));
    }
}
