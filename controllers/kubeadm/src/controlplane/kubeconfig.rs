//! The administrator's kubeconfig of a workload cluster.

use engine::Manager;
use pki::kubeconfig::Kubeconfig;
use pki::{CertificateAuthority, Identity, KeyAlgorithm, Leaf};

use crate::error::{Error, Result};

/// User of the kubeconfig's certificate; [`GROUP`] is its group.
const USER: &str = "kubernetes-admin";
const GROUP: &str = "system:masters";

/// Creates a kubeconfig with a new client certificate, as YAML. The result is a secret.
///
/// RSA keys are generated on a blocking thread, ECDSA keys at once.
pub(super) async fn make(
    cluster: &str,
    server: &str,
    authority: &Identity,
    algorithm: KeyAlgorithm,
    manager: &Manager,
) -> Result<String> {
    let (cluster, server, authority) = (cluster.to_owned(), server.to_owned(), authority.clone());
    let (now, random) = (manager.clock().now(), manager.random().clone());
    let work = move || {
        let named = || Error::certificate("the cluster's certificate authority");
        let issuer =
            CertificateAuthority::from_pem(&authority.certificate, &authority.key).map_err(named())?;
        let leaf = Leaf { algorithm, ..Leaf::client(USER, &[GROUP]) };
        let identity = issuer.issue(&leaf, now, &random).map_err(named())?;
        let config = Kubeconfig::for_cluster(&cluster, &server, &authority.certificate, identity);
        config.to_yaml().map_err(Error::certificate("the kubeconfig"))
    };
    match algorithm {
        KeyAlgorithm::EcdsaP256 | KeyAlgorithm::EcdsaP384 => work(),
        _ => {
            let made = tokio::task::spawn_blocking(work).await;
            made.unwrap_or_else(|error| {
                Err(Error::Bootstrap(format!("the kubeconfig was not made: {error}")))
            })
        }
    }
}
