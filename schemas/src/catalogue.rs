// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! The CustomResourceDefinitions, as text.

/// Name and JSON of each CustomResourceDefinition, sorted by name.
pub(crate) const MANIFESTS: [(&str, &str); 49] = [
    ("agents.netboot.firstlight.dev", include_str!("../manifests/agents.netboot.firstlight.dev.json")),
    ("baremetalhosts.metal3.io", include_str!("../manifests/baremetalhosts.metal3.io.json")),
    ("bmceventsubscriptions.metal3.io", include_str!("../manifests/bmceventsubscriptions.metal3.io.json")),
    ("clusterclasses.cluster.x-k8s.io", include_str!("../manifests/clusterclasses.cluster.x-k8s.io.json")),
    (
        "clusterresourcesetbindings.addons.cluster.x-k8s.io",
        include_str!("../manifests/clusterresourcesetbindings.addons.cluster.x-k8s.io.json"),
    ),
    (
        "clusterresourcesets.addons.cluster.x-k8s.io",
        include_str!("../manifests/clusterresourcesets.addons.cluster.x-k8s.io.json"),
    ),
    ("clusters.cluster.x-k8s.io", include_str!("../manifests/clusters.cluster.x-k8s.io.json")),
    ("dataimages.metal3.io", include_str!("../manifests/dataimages.metal3.io.json")),
    (
        "devclusters.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devclusters.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "devclustertemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devclustertemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "devmachinepools.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devmachinepools.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "devmachinepooltemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devmachinepooltemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "devmachines.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devmachines.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "devmachinetemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/devmachinetemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "dhcpleases.netboot.firstlight.dev",
        include_str!("../manifests/dhcpleases.netboot.firstlight.dev.json"),
    ),
    (
        "extensionconfigs.runtime.cluster.x-k8s.io",
        include_str!("../manifests/extensionconfigs.runtime.cluster.x-k8s.io.json"),
    ),
    ("firmwareschemas.metal3.io", include_str!("../manifests/firmwareschemas.metal3.io.json")),
    ("hardwaredata.metal3.io", include_str!("../manifests/hardwaredata.metal3.io.json")),
    ("hostclaims.metal3.io", include_str!("../manifests/hostclaims.metal3.io.json")),
    ("hostdeploypolicies.metal3.io", include_str!("../manifests/hostdeploypolicies.metal3.io.json")),
    ("hostfirmwarecomponents.metal3.io", include_str!("../manifests/hostfirmwarecomponents.metal3.io.json")),
    ("hostfirmwaresettings.metal3.io", include_str!("../manifests/hostfirmwaresettings.metal3.io.json")),
    ("hostupdatepolicies.metal3.io", include_str!("../manifests/hostupdatepolicies.metal3.io.json")),
    (
        "ipaddressclaims.ipam.cluster.x-k8s.io",
        include_str!("../manifests/ipaddressclaims.ipam.cluster.x-k8s.io.json"),
    ),
    (
        "ipaddresses.ipam.cluster.x-k8s.io",
        include_str!("../manifests/ipaddresses.ipam.cluster.x-k8s.io.json"),
    ),
    ("ipaddresses.ipam.metal3.io", include_str!("../manifests/ipaddresses.ipam.metal3.io.json")),
    ("ipclaims.ipam.metal3.io", include_str!("../manifests/ipclaims.ipam.metal3.io.json")),
    ("ippools.ipam.metal3.io", include_str!("../manifests/ippools.ipam.metal3.io.json")),
    (
        "kubeadmconfigs.bootstrap.cluster.x-k8s.io",
        include_str!("../manifests/kubeadmconfigs.bootstrap.cluster.x-k8s.io.json"),
    ),
    (
        "kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io",
        include_str!("../manifests/kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io.json"),
    ),
    (
        "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
        include_str!("../manifests/kubeadmcontrolplanes.controlplane.cluster.x-k8s.io.json"),
    ),
    (
        "kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io",
        include_str!("../manifests/kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io.json"),
    ),
    (
        "machinedeployments.cluster.x-k8s.io",
        include_str!("../manifests/machinedeployments.cluster.x-k8s.io.json"),
    ),
    (
        "machinedrainrules.cluster.x-k8s.io",
        include_str!("../manifests/machinedrainrules.cluster.x-k8s.io.json"),
    ),
    (
        "machinehealthchecks.cluster.x-k8s.io",
        include_str!("../manifests/machinehealthchecks.cluster.x-k8s.io.json"),
    ),
    ("machinepools.cluster.x-k8s.io", include_str!("../manifests/machinepools.cluster.x-k8s.io.json")),
    ("machines.cluster.x-k8s.io", include_str!("../manifests/machines.cluster.x-k8s.io.json")),
    ("machinesets.cluster.x-k8s.io", include_str!("../manifests/machinesets.cluster.x-k8s.io.json")),
    (
        "metal3clusters.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3clusters.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3clustertemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3clustertemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3dataclaims.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3dataclaims.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3datas.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3datas.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3datatemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3datatemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3machines.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3machines.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3machinetemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3machinetemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3remediations.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3remediations.infrastructure.cluster.x-k8s.io.json"),
    ),
    (
        "metal3remediationtemplates.infrastructure.cluster.x-k8s.io",
        include_str!("../manifests/metal3remediationtemplates.infrastructure.cluster.x-k8s.io.json"),
    ),
    ("preprovisioningimages.metal3.io", include_str!("../manifests/preprovisioningimages.metal3.io.json")),
    (
        "providers.clusterctl.cluster.x-k8s.io",
        include_str!("../manifests/providers.clusterctl.cluster.x-k8s.io.json"),
    ),
];
