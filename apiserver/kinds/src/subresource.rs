//! The subresources that the registry serves.

/// The part of an object that a request reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subresource {
    /// The object itself.
    #[default]
    None,
    /// `/status`.
    Status,
    /// `/scale`, an `autoscaling/v1` Scale.
    Scale,
    /// `/finalize` of namespaces.
    Finalize,
    /// `/approval` of CertificateSigningRequests.
    Approval,
    /// `/ephemeralcontainers` of Pods.
    EphemeralContainers,
    /// `/resize` of Pods.
    Resize,
}

impl Subresource {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Status,
        Self::Scale,
        Self::Finalize,
        Self::Approval,
        Self::EphemeralContainers,
        Self::Resize,
    ];

    /// Returns the subresource with the given path segment, or `None` if there is no such subresource.
    pub fn named(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == segment)
    }

    /// Returns the path segment; empty for the object itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Approval => "approval",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }
}
