//! The kinds of these objects: one for each type of provider.

use clusterctl::configuration::ProviderType;
use engine::GroupKind;
use kube::core::{ApiResource, GroupVersionKind};

use crate::names::{GROUP, VERSION};

pub(crate) const CORE: GroupKind = GroupKind::new(GROUP, "CoreProvider");
pub(crate) const BOOTSTRAP: GroupKind = GroupKind::new(GROUP, "BootstrapProvider");
pub(crate) const CONTROL_PLANE: GroupKind = GroupKind::new(GROUP, "ControlPlaneProvider");
pub(crate) const INFRASTRUCTURE: GroupKind = GroupKind::new(GROUP, "InfrastructureProvider");
pub(crate) const IPAM: GroupKind = GroupKind::new(GROUP, "IPAMProvider");
pub(crate) const RUNTIME_EXTENSION: GroupKind = GroupKind::new(GROUP, "RuntimeExtensionProvider");
pub(crate) const ADDON: GroupKind = GroupKind::new(GROUP, "AddonProvider");

/// Returns the resource of the kind that declares providers of this type. Kind and type have the same name.
pub(crate) fn resource(kind: ProviderType) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, VERSION, kind.name()))
}
