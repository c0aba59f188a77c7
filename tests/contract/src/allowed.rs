//! The intended differences from the CustomResourceDefinitions of Cluster API and Metal3, each with its
//! reason.

use crate::Difference;

/// An intended difference.
#[derive(Debug)]
pub struct Allowed {
    /// Suffix of the names of the CustomResourceDefinitions it applies to; empty for all.
    pub crd: &'static str,
    /// The path it applies to, including everything below it.
    pub path: &'static str,
    /// The reason of the difference.
    pub reason: &'static str,
}

impl Allowed {
    /// Returns whether this explains `difference`.
    pub fn explains(&self, difference: &Difference) -> bool {
        let below = difference.path.strip_prefix(self.path);
        difference.crd.ends_with(self.crd)
            && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// All intended differences.
pub const ALLOWED: &[Allowed] = &[
    Allowed { crd: "", path: "/conversion", reason: "conversion happens in the process, without a webhook" },
    Allowed {
        crd: "",
        path: "/annotations/cert-manager.io~inject-ca-from",
        reason: "no webhook is called, so no cert-manager has to put a CA into the definition",
    },
    Allowed {
        crd: "",
        path: "/labels/clusterctl.cluster.x-k8s.io",
        reason: "clusterctl adds this label when it installs a provider; here the kinds are there from the start",
    },
    Allowed {
        crd: "providers.clusterctl.cluster.x-k8s.io",
        path: "/labels/clusterctl.cluster.x-k8s.io~core",
        reason: "clusterctl adds this label when it installs its inventory; here it is there from the start",
    },
    Allowed {
        crd: "devmachinepools.infrastructure.cluster.x-k8s.io",
        path: "/versions/v1beta2/schema/properties/spec/properties/backend/properties/inMemory",
        reason: "the pool in memory is an addition: upstream's provider has pools of containers only",
    },
    Allowed {
        crd: "devmachinepooltemplates.infrastructure.cluster.x-k8s.io",
        path: "/versions/v1beta2/schema/properties/spec/properties/template/properties/spec/properties/backend/properties/inMemory",
        reason: "as in DevMachinePool",
    },
    Allowed {
        crd: "metal3datatemplates.infrastructure.cluster.x-k8s.io",
        path: "/versions/v1beta2/schema/properties/spec/properties/networkData/properties/links/properties/bonds/items/properties/parameters/items/properties/value/type",
        reason: "Metal3's schema wants an object, although parameters of bonds are numbers and words, which v1beta1 allows; here any value is valid",
    },
    Allowed {
        crd: ".metal3.io",
        path: "/labels/clusterctl.cluster.x-k8s.io~move",
        reason: "Metal3's instructions have people add this label by hand before a move; here it is there from the start",
    },
    Allowed {
        crd: "baremetalhosts.metal3.io",
        path: "/labels/clusterctl.cluster.x-k8s.io~move-hierarchy",
        reason: "as the label for moving: what a host owns goes with it",
    },
    Allowed {
        crd: "hostdeploypolicies.metal3.io",
        path: "/versions/v1alpha1/schema/properties/spec/properties/hostClaimNamespaces/properties/names/minItems",
        reason: "minItems is 0, which refuses nothing, and has the Rust type tell an empty list from an absent one: it admits no namespace, and not all",
    },
];
