//! Names of cert-manager's interface.

use kube::core::{ApiResource, GroupVersionKind};

/// The API group.
pub(crate) const GROUP: &str = "cert-manager.io";
/// The annotation of a Secret with the name of its Certificate.
pub(crate) const CERTIFICATE_NAME: &str = "cert-manager.io/certificate-name";
/// The annotation of an object that wants the authority of a Certificate, as `namespace/name`.
pub(crate) const INJECT_FROM: &str = "cert-manager.io/inject-ca-from";
/// The annotation of an object that wants the authority in a Secret, as `namespace/name`.
pub(crate) const INJECT_FROM_SECRET: &str = "cert-manager.io/inject-ca-from-secret";

/// Returns the resource of a kind.
pub(crate) fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", kind))
}
