//! Names of Cluster API's runtime extensions.

/// Annotation on ExtensionConfigs: the Secret, as `namespace/name`, whose authority becomes `caBundle`.
pub const INJECT_AUTHORITY_FROM: &str = "runtime.cluster.x-k8s.io/inject-ca-from-secret";
/// The key of the authority in that Secret.
pub const AUTHORITY_KEY: &str = "ca.crt";
/// The API version of all hooks.
pub const HOOKS_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// Condition on ExtensionConfigs: the extension has said what it handles.
pub const DISCOVERED: &str = "Discovered";
/// Reason of [`DISCOVERED`] if it is false.
pub const NOT_DISCOVERED: &str = "NotDiscovered";
/// The same condition for older clients.
pub const DISCOVERED_V1BETA1: &str = "RuntimeExtensionDiscovered";
/// Reason of [`DISCOVERED_V1BETA1`] if it is false.
pub const DISCOVERY_FAILED_V1BETA1: &str = "DiscoveryFailed";

/// `failurePolicy` of handlers whose failure stops what called them. The default.
pub const FAIL: &str = "Fail";
/// `failurePolicy` of handlers that may be missing.
pub const IGNORE: &str = "Ignore";
/// `timeoutSeconds` of a handler that has none.
pub const DEFAULT_TIMEOUT_SECONDS: i32 = 10;
