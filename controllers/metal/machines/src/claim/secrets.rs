//! The Secrets of a HostClaim, and their copies in the namespace of its host. Pure.
//!
//! Only Secrets of the claim's own namespace are read, whatever namespace a reference has. A copy has a name that follows from the
//! host's name, and a Secret of this name that was not made for a claim is never overwritten: it may be the host's password.

use std::sync::Arc;

use engine::object::{annotation, is_deleting};
use engine::{NamespacedName, owners};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::metal3::{BareMetalHost, BareMetalHostSpec, HostClaimSpec, SecretReference};
use schemas::names::ENVIRONMENT;

use crate::names::COPIED_FOR;

/// The use of a Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user data.
    User,
    /// The metadata.
    Meta,
    /// The network configuration.
    Network,
}

/// A Secret that a claim refers to.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its use.
    pub role: Role,
    /// Its name. Its namespace is that of the claim.
    pub name: NamespacedName,
    /// The Secret, if it exists.
    pub secret: Option<Arc<Secret>>,
    /// The Secret that has the name of its copy.
    pub present: Option<Arc<Secret>>,
}

/// The wanted state of a copy.
#[derive(Debug)]
pub struct Copy {
    /// The copy as it is now.
    pub present: Option<Arc<Secret>>,
    /// The copy as it shall be.
    pub wanted: Secret,
}

impl Role {
    /// All uses.
    pub const ALL: [Self; 3] = [Self::User, Self::Meta, Self::Network];

    /// Returns the field of the claim.
    pub fn reference(self, claim: &HostClaimSpec) -> Option<&SecretReference> {
        match self {
            Self::User => claim.user_data.as_ref(),
            Self::Meta => claim.meta_data.as_ref(),
            Self::Network => claim.network_data.as_ref(),
        }
    }

    /// Returns the field of the host.
    pub fn field(self, host: &mut BareMetalHostSpec) -> &mut Option<SecretReference> {
        match self {
            Self::User => &mut host.user_data,
            Self::Meta => &mut host.meta_data,
            Self::Network => &mut host.network_data,
        }
    }

    /// Returns the name of the field.
    pub fn field_name(self) -> &'static str {
        match self {
            Self::User => "userData",
            Self::Meta => "metaData",
            Self::Network => "networkData",
        }
    }

    /// Returns the reason of the condition if the Secret cannot be used.
    pub fn reason(self) -> &'static str {
        match self {
            Self::User => "UserDataSecretSyncFailure",
            Self::Meta => "MetaDataSecretSyncFailure",
            Self::Network => "NetworkDataSecretSyncFailure",
        }
    }

    /// Returns the name of the copy for a host.
    pub fn copy_name(self, host: &NamespacedName) -> NamespacedName {
        NamespacedName::new(
            host.namespace.as_str(),
            format!("{}-{}", host.name, self.field_name().to_lowercase()),
        )
    }
}

/// Returns the claim for which a Secret was copied.
pub(super) fn copied_for(secret: &Secret) -> Option<NamespacedName> {
    NamespacedName::parse(annotation(secret, COPIED_FOR)?)
}

/// Returns the copy of a Secret for the host of `claim`.
///
/// # Errors
/// The reason why the Secret cannot be copied. It names no object of the host's namespace but the copy.
pub(super) fn copy(source: &Source, claim: &NamespacedName, host: &BareMetalHost) -> Result<Copy, String> {
    let name = &source.name;
    let field = source.role.field_name();
    let Some(secret) = source.secret.as_ref().filter(|secret| !is_deleting(secret.as_ref())) else {
        return Err(format!("spec.{field}: Secret {name} does not exist: create it"));
    };
    let target = source.role.copy_name(&NamespacedName::of(host));
    let present = source.present.clone();
    if present.as_ref().is_some_and(|present| copied_for(present).is_none()) {
        return Err(format!(
            "spec.{field}: it would be copied to Secret {target}, which somebody else has made: the owner of the host must delete or rename it"
        ));
    }
    let mut wanted = match &present {
        Some(present) => present.as_ref().clone(),
        None => Secret {
            metadata: ObjectMeta {
                name: Some(target.name),
                namespace: Some(target.namespace),
                ..ObjectMeta::default()
            },
            ..Secret::default()
        },
    };
    let (label, value) = ENVIRONMENT;
    wanted.metadata.labels.get_or_insert_default().insert(label.to_owned(), value.to_owned());
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(COPIED_FOR.to_owned(), claim.to_string());
    owners::ensure(&mut wanted, owners::reference(host, &()));
    wanted.data.clone_from(&secret.data);
    Ok(Copy { present, wanted })
}
