//! What these controllers read from the cluster besides their own kinds.

use std::sync::Arc;

use engine::{Error, NamespacedName, Objects, Result};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::PartialObjectMeta;
use kube::{Api, Client, ResourceExt};

/// Name and JSON of each definition.
pub const MANIFESTS: [(&str, &str); 3] = [
    ("certificates.cert-manager.io", include_str!("../crds/certificates.cert-manager.io.json")),
    ("clusterissuers.cert-manager.io", include_str!("../crds/clusterissuers.cert-manager.io.json")),
    ("issuers.cert-manager.io", include_str!("../crds/issuers.cert-manager.io.json")),
];

/// The metadata of definitions. They are large, and only few concern these controllers.
pub(crate) type Definitions = Objects<PartialObjectMeta<CustomResourceDefinition>>;
/// The metadata of Secrets. A cache of their contents would have those of all clusters.
pub(crate) type Secrets = Objects<PartialObjectMeta<Secret>>;

/// Reads a Secret from the API server; `None` if it does not exist.
pub(crate) async fn secret(client: &Client, name: &NamespacedName) -> Result<Option<Arc<Secret>>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &name.namespace);
    let found = secrets.get_opt(&name.name).await;
    found.map(|found| found.map(Arc::new)).map_err(|error| Error::api(format!("get Secret {name}"), error))
}

/// Returns whether the definitions are those of this program. cert-manager labels its own with its name.
pub(crate) fn is_ours(definitions: &Definitions) -> bool {
    let name = NamespacedName::new("", MANIFESTS[0].0);
    definitions.get(&name).is_some_and(|found| {
        found.labels().get("app.kubernetes.io/name").map(String::as_str) != Some("cert-manager")
    })
}
