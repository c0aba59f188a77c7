//! Builds kubeadm's configuration documents from the API types.
//!
//! Kubernetes 1.22 to 1.30 gets `kubeadm.k8s.io/v1beta3`, later releases `v1beta4`. Both versions are written
//! here; API fields that v1beta3 lacks are left out. Empty fields are not written, so that kubeadm's own
//! defaults apply.

mod cluster;
mod node;

pub use cluster::{ClusterDocument, cluster_configuration};
pub use node::{discovery_kubeconfig, init_configuration, join_configuration};

use engine::time::go_duration;
use schemas::bootstrap::Arg;
use serde_json::{Map, Value, json};

use crate::error::Error;
use schemas::version::Version;

/// The supported versions of kubeadm's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApiVersion {
    /// For Kubernetes 1.22 to 1.30.
    V1Beta3,
    /// For Kubernetes 1.31 and later.
    V1Beta4,
}

impl ApiVersion {
    /// Returns the version that kubeadm of this Kubernetes release reads.
    ///
    /// # Errors
    /// [`Error::Version`] for releases before 1.22.
    pub fn of(version: &Version) -> Result<Self, Error> {
        if version.at_least(1, 31) {
            Ok(Self::V1Beta4)
        } else if version.at_least(1, 22) {
            Ok(Self::V1Beta3)
        } else {
            Err(Error::Version(format!(
                "Kubernetes {version} is not supported: kubeadm's v1beta3 configuration needs v1.22.0 or later"
            )))
        }
    }

    /// Returns the `apiVersion` of the documents.
    pub fn text(self) -> &'static str {
        match self {
            Self::V1Beta3 => "kubeadm.k8s.io/v1beta3",
            Self::V1Beta4 => "kubeadm.k8s.io/v1beta4",
        }
    }
}

/// A document under construction; unset values are not written.
#[derive(Debug, Default)]
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    /// Creates a document of this kind.
    pub fn document(api: ApiVersion, kind: &str) -> Self {
        let mut fields = Self::default();
        fields.put("apiVersion", api.text());
        fields.put("kind", kind);
        fields
    }

    /// Sets `key` to `value` unconditionally.
    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Sets `key` unless the value is absent.
    pub fn option(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    /// Sets `key` unless the text is absent or empty.
    pub fn text(&mut self, key: &str, value: &Option<String>) {
        self.option(key, value.as_deref().filter(|text| !text.is_empty()));
    }

    /// Sets `key` unless the list is empty.
    pub fn list(&mut self, key: &str, values: &[String]) {
        if !values.is_empty() {
            self.put(key, values.to_vec());
        }
    }

    /// Sets `key` unless `fields` is empty.
    pub fn object(&mut self, key: &str, fields: Self) {
        if !fields.0.is_empty() {
            self.put(key, fields.value());
        }
    }

    /// Sets `key` to a duration given in seconds, unless it is absent.
    pub fn seconds(&mut self, key: &str, seconds: Option<i32>) {
        self.option(key, seconds.map(|seconds| go_duration(i64::from(seconds))));
    }

    /// Sets the arguments of a component: a list in v1beta4, a map in v1beta3. A map cannot repeat a name, so
    /// the last value is used.
    pub fn arguments(&mut self, key: &str, arguments: &[Arg], api: ApiVersion) {
        if arguments.is_empty() {
            return;
        }
        let value = match api {
            ApiVersion::V1Beta4 => {
                arguments.iter().map(|arg| json!({"name": arg.name, "value": arg.value.clone()})).collect()
            }
            ApiVersion::V1Beta3 => Value::Object(
                arguments.iter().map(|arg| (arg.name.clone(), json!(arg.value.clone()))).collect(),
            ),
        };
        self.put(key, value);
    }

    /// Returns the document as a JSON object.
    pub fn value(self) -> Value {
        Value::Object(self.0)
    }
}

/// Returns a document as YAML.
///
/// # Errors
/// [`Error::Yaml`].
pub fn to_yaml(document: &Value) -> Result<String, Error> {
    serde_saphyr::to_string(document).map_err(|error| Error::Yaml(error.to_string()))
}
