//! The two kinds of objects that use hosts. A host names the one that uses it in `spec.consumerRef`, so it never has two.

use engine::NamespacedName;
use schemas::infrastructure::Metal3Machine;
use schemas::meta::ObjectReference;
use schemas::metal3::{BareMetalHost, HostClaim};

/// A kind of objects that use hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsumerKind {
    /// Metal3Machine, which uses hosts of its own namespace.
    Machine,
    /// HostClaim, which uses hosts of the namespaces whose HostDeployPolicies allow it.
    Claim,
}

impl ConsumerKind {
    fn version_and_kind(self) -> (&'static str, &'static str) {
        match self {
            Self::Machine => (Metal3Machine::API_VERSION, Metal3Machine::KIND),
            Self::Claim => (HostClaim::API_VERSION, HostClaim::KIND),
        }
    }

    /// Returns the reference by which a host names its consumer.
    pub fn reference(self, name: &NamespacedName) -> ObjectReference {
        let (version, kind) = self.version_and_kind();
        ObjectReference {
            api_version: Some(version.to_owned()),
            kind: Some(kind.to_owned()),
            name: Some(name.name.clone()),
            namespace: Some(name.namespace.clone()),
            ..ObjectReference::default()
        }
    }

    /// Returns the name of the host's consumer; `None` if it has none of this kind. A host cannot be used by a machine of another
    /// namespace, whatever its reference says.
    pub fn of(self, host: &BareMetalHost) -> Option<NamespacedName> {
        let consumer = host.spec.consumer_ref.as_ref()?;
        let (version, kind) = self.version_and_kind();
        let group = |version: &str| version.split_once('/').map(|(group, _)| group.to_owned());
        let is_kind = consumer.kind.as_deref() == Some(kind)
            && group(consumer.api_version.as_deref().unwrap_or_default()) == group(version);
        let name = NamespacedName::new(consumer.namespace.clone()?, consumer.name.clone()?);
        let is_possible = self == Self::Claim || host.metadata.namespace.as_ref() == Some(&name.namespace);
        (is_kind && is_possible).then_some(name)
    }

    /// Returns whether the host names the object of this kind and name as its consumer.
    pub fn uses(self, name: &NamespacedName, host: &BareMetalHost) -> bool {
        self.of(host).as_ref() == Some(name)
    }
}
