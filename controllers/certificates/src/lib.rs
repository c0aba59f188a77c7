//! cert-manager's kinds Certificate, Issuer and ClusterIssuer, as far as providers need them: self-signed certificates and those of an
//! authority in a Secret, their renewal, and the injection of authorities into webhooks and definitions by annotation. So a management
//! cluster of this program needs no cert-manager.
//!
//! If somebody installs cert-manager all the same, its definitions replace these, and the controllers stand aside (`cluster::is_ours`).

mod certificate;
mod cluster;
mod injection;
mod issuer;
mod names;

use engine::Provider;

pub use cluster::MANIFESTS;
pub use injection::injected;

/// The table of these controllers. clusterctl knows no such provider.
pub const PROVIDERS: &[Provider] = &[Provider {
    inventory: None,
    controllers: &[issuer::CONTROLLER, certificate::CONTROLLER, injection::CONTROLLER],
}];
