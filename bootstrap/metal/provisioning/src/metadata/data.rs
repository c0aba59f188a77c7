//! The metadata of a host (Metal3's Secrets, `contract/metal3` §1.10). Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::BareMetalHost;
use serde_json::{Map, Value, json};

/// The data that a machine receives about its host.
#[derive(Clone, PartialEq, Default)]
pub struct Data {
    /// The UID of the BareMetalHost.
    pub uid: String,
    /// The name of the BareMetalHost.
    pub name: String,
    /// Metal3's standard keys, and the keys of the host's `metaData`.
    pub meta_data: Map<String, Value>,
    /// The host's `userData`, unchanged.
    pub user_data: Option<String>,
    /// The host's `networkData`, unchanged.
    pub network_data: Option<String>,
}

/// The Secrets that a host refers to.
#[derive(Default)]
pub struct Secrets<'a> {
    /// The Secret of `spec.userData`.
    pub user_data: Option<&'a Secret>,
    /// The Secret of `spec.metaData`.
    pub meta_data: Option<&'a Secret>,
    /// The Secret of `spec.networkData`, otherwise that of `spec.preprovisioningNetworkDataName`.
    pub network_data: Option<&'a Secret>,
}

/// Returns the content of the key `key`, otherwise that of the key `value`.
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
    /// Returns the data of `host`.
    ///
    /// # Errors
    /// A message about an invalid Secret, which never contains the Secret's content.
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
            // The parser's message could quote the Secret, so it is dropped.
            let more =
                mapping(&text).map_err(|_| "the Secret of spec.metaData is no mapping in YAML or JSON")?;
            meta_data.extend(more);
        }
        let user_data = secrets.user_data.and_then(|secret| content(secret, "userData"));
        let network_data = secrets.network_data.and_then(|secret| content(secret, "networkData"));
        Ok(Self { uid, name, meta_data, user_data, network_data })
    }

    /// Returns the network data in OpenStack's format; `None` if there are none or they have another format.
    pub fn open_stack_network(&self) -> Option<Value> {
        let map = mapping(self.network_data.as_deref()?).ok()?;
        (!map.contains_key("version")).then_some(Value::Object(map))
    }

    /// Returns the network data in cloud-init's format (version 1 or 2), if they were given in it.
    pub fn cloud_init_network(&self) -> Option<Value> {
        let map = mapping(self.network_data.as_deref()?).ok()?;
        let map = match map.get("network") {
            Some(Value::Object(inner)) if inner.contains_key("version") => inner.clone(),
            _ => map,
        };
        map.contains_key("version").then_some(Value::Object(map))
    }

    /// Returns OpenStack's `meta_data.json`.
    pub fn open_stack(&self) -> Value {
        Value::Object(self.meta_data.clone())
    }

    /// Returns NoCloud's `meta-data`; JSON is valid YAML.
    pub fn no_cloud(&self) -> Value {
        let mut map = self.meta_data.clone();
        map.insert("instance-id".into(), self.uid.as_str().into());
        Value::Object(map)
    }

    /// Returns the files of a configuration drive by path.
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

    /// Returns the items of EC2's `meta-data`.
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
        // User data contain keys and tokens, so they are not printed.
        let shown = json!({ "name": self.name, "hasUserData": self.user_data.is_some() });
        write!(formatter, "{shown}")
    }
}
