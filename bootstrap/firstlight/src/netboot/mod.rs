//! Network boot of machines, which `up` and `serve` add if an interface is given.

mod authority;
mod boot_images;
pub mod bundles;
mod node_registry;
mod options;
mod subnet;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::Manager;
use metal::preprovisioning::BootImages;
use metal_boot::network::Interface;
use metal_provisioning::{Configuration, Doors, Handle};

pub use node_registry::{NodeFile, NodeRegistry};
pub use options::NetbootOptions;

use crate::data_directory::DataDirectory;
use authority::Authority;

/// Returns the folder in the data directory with the site's own boot files, and the files that are built from them.
pub fn folder(directory: &DataDirectory) -> PathBuf {
    directory.path().join("netboot")
}

/// What was started; nothing without interfaces.
#[derive(Default)]
pub struct Started {
    /// The services.
    pub handle: Option<Handle>,
    /// The served boot images.
    pub images: BootImages,
    /// The registry for nodes, if bundles have container images.
    pub registry: Option<NodeRegistry>,
}

/// Starts the services on the given interfaces.
///
/// # Errors
/// An interface or file is invalid, or a port is in use; each message says how to fix it.
pub async fn start(
    options: &NetbootOptions,
    directory: &DataDirectory,
    manager: &Manager,
) -> Result<Started> {
    if options.interfaces.is_empty() {
        return Ok(Started::default());
    }
    let bundles = {
        let paths = options.bundles.clone();
        tokio::task::spawn_blocking(move || bundles::open(&paths))
            .await
            .context("bundles cannot be read")??
    };
    let mut addresses = Vec::new();
    for name in &options.interfaces {
        let interface = Interface::find(name)?;
        addresses.extend(interface.networks.iter().map(|network| network.address));
    }
    let (clock, random) = (manager.clock(), manager.random());
    let authority = Authority::load_or_create(directory, clock, random)?;
    let tls = authority.server_config(&addresses, clock, random)?;
    let servers =
        addresses.iter().map(|address| format!("https://{address}:{}", options.https_port)).collect();
    let agent = agent_protocol::Configuration {
        servers,
        certificate_authority: authority.certificate().to_owned(),
        ..agent_protocol::Configuration::default()
    };
    let (folder, arguments) = (folder(directory), options.kernel_arguments.clone());
    let leases = folder.join("leases");
    let taken = bundles.clone();
    let made = tokio::task::spawn_blocking(move || {
        bundles::take_boot_files(&taken, &folder.join("assets"))?;
        boot_images::make(&folder, &agent, &arguments)
    });
    let configuration = Configuration {
        interfaces: options.configurations()?,
        boot: made.await.context("boot images could not be made")??,
        images: options.images.clone(),
        bundles: bundles.clone(),
        leases,
        http_port: options.http_port,
        https_port: options.https_port,
        tls: Some(Arc::new(tls)),
    };
    let has_images = !bundles.repositories.is_empty();
    let registry =
        has_images.then(|| NodeRegistry::new(&addresses, options.https_port, authority.certificate()));
    let images = boot_images::served(&configuration.boot, &addresses, options.http_port);
    let doors = Doors::kube(manager, !options.known_only).await;
    let handle = metal_provisioning::start(configuration, doors).await?;
    Ok(Started { handle: Some(handle), images, registry })
}
