//! The Pods of providers, which run as processes of this machine.

use std::net::SocketAddr;

use anyhow::Result;
use container_images::Sources;
use kubelet::{Kubelet, Options};
use pod_processes::Isolation;

use crate::data_directory::DataDirectory;
use crate::options::server::ServerOptions;

/// The name of this machine as a Node.
const NODE: &str = "firstlight";

/// Returns the kubelet of this machine.
///
/// # Errors
/// Its folder in the data directory cannot be used.
pub(crate) async fn kubelet(
    directory: &DataDirectory,
    options: &ServerOptions,
    address: SocketAddr,
) -> Result<Kubelet> {
    let folder = directory.path().join("pods");
    let isolation = Isolation::detect(&folder).await;
    tracing::debug!(?isolation, "processes of Pods");
    let options = Options {
        folder,
        sources: Sources::new(options.container_images.clone()),
        isolation,
        api: ("127.0.0.1".to_owned(), address.port()),
        node: NODE.to_owned(),
    };
    Kubelet::new(options)
}
