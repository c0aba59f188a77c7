//! Names that others read, too.

/// The group of these kinds.
pub(crate) const GROUP: &str = "operator.cluster.x-k8s.io";
/// Their version.
pub(crate) const VERSION: &str = "v1alpha2";
/// The finalizer, as upstream's: an object stays until its provider's components are deleted.
pub const FINALIZER: &str = "provider.cluster.x-k8s.io";
/// The label of a ConfigMap with the version whose files it has.
pub(crate) const CONFIG_MAP_VERSION: &str = "provider.cluster.x-k8s.io/version";
/// The annotation of a ConfigMap whose components are compressed by gzip.
pub(crate) const COMPRESSED: &str = "provider.cluster.x-k8s.io/compressed";
/// The keys of a ConfigMap with the files of a version.
pub(crate) const METADATA_KEY: &str = "metadata";
pub(crate) const COMPONENTS_KEY: &str = "components";
/// The key of a ConfigMap with additional manifests.
pub(crate) const MANIFESTS_KEY: &str = "manifests";
/// The label of components with the provider to which they belong.
pub(crate) const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// Annotation: the digest of everything that the installed components were made of.
pub(crate) const APPLIED: &str = "operator.cluster.x-k8s.io/applied-spec-hash";
/// Annotation: the same of an upgrade that failed and was undone. It is not tried again before something else is wanted.
pub(crate) const FAILED: &str = "operator.firstlight.dev/failed-spec-hash";
/// Annotation: the generation of each Deployment after the installation. With another one, somebody has changed it.
pub(crate) const DEPLOYMENTS: &str = "operator.firstlight.dev/deployments";
/// Annotation: the first component was about to be written for this object. From then on, the components are the object's.
pub(crate) const BEGUN: &str = "operator.firstlight.dev/begun";
/// The only name of a core provider.
pub(crate) const CORE_NAME: &str = "cluster-api";
