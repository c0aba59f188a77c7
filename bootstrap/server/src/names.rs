//! The field manager, the user and the annotations of the objects that this program writes.

/// The field manager of the plane's own writes.
pub const FIELD_MANAGER: &str = "firstlight";

/// The field manager of applied manifests: that of `kubectl apply --server-side`, so that kubectl continues without conflicts.
pub const APPLY_MANAGER: &str = "kubectl";

/// The user of the controllers.
pub const CONTROLLER_USER: &str = "system:serviceaccount:capi-system:capi-manager";

/// Annotation with the hash of the last installed manifest of a CustomResourceDefinition: a start with the same manifest writes
/// nothing. The annotation marks the definition as firstlight's.
pub const MANIFEST_HASH: &str = "firstlight.dev/manifest-hash";

/// Annotation of a CustomResourceDefinition that an installation made in a cluster: the namespace of the webhooks that the API server of the
/// cluster calls for its objects.
pub const WEBHOOKS: &str = "firstlight.dev/webhooks";
