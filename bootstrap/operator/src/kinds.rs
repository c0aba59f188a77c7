//! The kinds of these objects: one for each type of provider.

use clusterctl::configuration::ProviderType;
use engine::GroupKind;
use kube::core::ApiResource;

use crate::names::{GROUP, VERSION};

pub(crate) const CORE: GroupKind = GroupKind::new(GROUP, "CoreProvider");
pub(crate) const BOOTSTRAP: GroupKind = GroupKind::new(GROUP, "BootstrapProvider");
pub(crate) const CONTROL_PLANE: GroupKind = GroupKind::new(GROUP, "ControlPlaneProvider");
pub(crate) const INFRASTRUCTURE: GroupKind = GroupKind::new(GROUP, "InfrastructureProvider");
pub(crate) const IPAM: GroupKind = GroupKind::new(GROUP, "IPAMProvider");
pub(crate) const RUNTIME_EXTENSION: GroupKind = GroupKind::new(GROUP, "RuntimeExtensionProvider");
pub(crate) const ADDON: GroupKind = GroupKind::new(GROUP, "AddonProvider");

/// The resource of the kind that declares providers of this type. Kind and type have the same name.
pub(crate) fn resource(kind: ProviderType) -> ApiResource {
    ApiResource {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        api_version: format!("{GROUP}/{VERSION}"),
        kind: kind.name().to_owned(),
        plural: format!("{}s", kind.name().to_lowercase()),
    }
}

/// The resource of the entries in clusterctl's inventory.
pub(crate) fn inventory() -> ApiResource {
    let group = "clusterctl.cluster.x-k8s.io";
    ApiResource {
        group: group.to_owned(),
        version: "v1alpha3".to_owned(),
        api_version: format!("{group}/v1alpha3"),
        kind: "Provider".to_owned(),
        plural: "providers".to_owned(),
    }
}
