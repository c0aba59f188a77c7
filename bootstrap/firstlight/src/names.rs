//! Names that what this program writes is known by.

/// The field manager of what the plane itself writes.
pub const FIELD_MANAGER: &str = "firstlight";

/// Who the controllers are.
pub const CONTROLLER_USER: &str = "system:serviceaccount:capi-system:capi-manager";

/// Which manifest of a CustomResourceDefinition was installed last: a start with the same one writes nothing. Its presence says
/// that the definition is ours.
pub const MANIFEST_HASH: &str = "firstlight.dev/manifest-hash";
