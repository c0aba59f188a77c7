//! Network boot of machines, which `up` and `serve` add if an interface is given.

mod authority;
mod boot_images;
pub mod bundles;
mod fetch;
mod in_cluster;
pub mod options;
pub mod record;
pub mod subnet;

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use bundle::Catalogue;
use engine::Manager;
use metal::preprovisioning::BootImages;
use metal_boot::boot_files::BootFiles;
use metal_boot::moving_address::MovingAddress;
use metal_provisioning::bootstrap::NodeRegistry;
use metal_provisioning::http::bundles::BundleFiles;
use metal_provisioning::{Configuration, Dependencies, Handle};

pub use authority::FILES as AUTHORITY;
pub use fetch::fetch;
pub use in_cluster::{Booting, InClusterOptions};
pub use options::NetbootOptions;
pub use record::BareMetal;

use crate::data_directory::DataDirectory;
use authority::Authority;

/// Returns the folder in the data directory with the site's own boot files, and the files that are built from them.
pub fn folder(directory: &DataDirectory) -> PathBuf {
    directory.path().join("netboot")
}

/// What was started; nothing without interfaces.
#[derive(Default)]
pub struct Started {
    /// The services, which run until they are stopped.
    pub services: Option<Services>,
    /// The served boot images.
    pub images: BootImages,
    /// The names of the interfaces.
    pub interfaces: Vec<String>,
}

/// The running services, and their address.
pub struct Services {
    handle: Handle,
    address: Option<MovingAddress>,
}

impl Services {
    /// Stops the services. Then their address is removed, so that nobody is answered with an error.
    pub async fn stop(self) {
        self.handle.stop().await;
        if let Some(address) = self.address {
            address.release().await;
        }
    }
}

/// The files of the services.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// The data directory.
    pub directory: &'a DataDirectory,
    /// The folder of the authority; `None` is that of the data directory.
    pub authority: Option<&'a Path>,
}

/// Starts the services on the given interfaces.
///
/// # Errors
/// An interface or file is invalid, a port is in use, or another machine has the address; each message says how to fix it.
pub async fn start(options: &NetbootOptions, files: Files<'_>, manager: &Manager) -> Result<Started> {
    if options.interfaces.is_empty() {
        return Ok(Started::default());
    }
    let options = options.with_names()?;
    let address = match (options.address, options.interfaces.as_slice()) {
        (Some(network), [interface]) => Some(MovingAddress::take(interface, network, manager.clock()).await?),
        _ => None,
    };
    match serve(&options, files, manager).await {
        Ok((handle, images)) => {
            let services = Some(Services { handle, address });
            Ok(Started { services, images, interfaces: options.interfaces })
        }
        Err(error) => {
            if let Some(address) = address {
                address.release().await;
            }
            Err(error)
        }
    }
}

async fn open_bundles(options: &NetbootOptions) -> Result<Arc<Catalogue>> {
    let paths = options.bundles.clone();
    tokio::task::spawn_blocking(move || bundles::open(&paths)).await.context("bundles cannot be read")?
}

/// Starts the services on interfaces that have their addresses.
async fn serve(
    options: &NetbootOptions,
    files: Files<'_>,
    manager: &Manager,
) -> Result<(Handle, BootImages)> {
    let bundles = open_bundles(options).await?;
    let mut addresses = Vec::new();
    for name in &options.interfaces {
        addresses.extend(options.interface(name)?.networks.iter().map(|network| network.address));
    }
    let (clock, random) = (manager.clock(), manager.random());
    let authority = match files.authority {
        Some(folder) => Authority::load(folder, clock)?,
        None => Authority::load_or_create(files.directory, clock, random)?,
    };
    let tls = authority.server_config(&addresses, clock, random)?;
    let has_images = !bundles.repositories.is_empty();
    let registry = has_images
        .then(|| NodeRegistry { port: options.https_port, authority: authority.certificate().to_owned() });
    let configuration = Configuration {
        interfaces: options.configurations()?,
        boot: boot_files(options, files.directory, &authority, &addresses, bundles.clone()).await?,
        images: options.images.clone(),
        registry,
        bundle_files: Some(BundleFiles::new(authority.bundles_token(), &options.bundles)),
        bundles,
        leases: folder(files.directory).join("leases"),
        http_port: options.http_port,
        https_port: options.https_port,
        tls: Some(Arc::new(tls)),
    };
    let images = boot_images::served(&configuration.boot, &addresses, options.http_port);
    let dependencies = Dependencies::kube(manager, !options.known_only).await;
    Ok((metal_provisioning::start(configuration, dependencies).await?, images))
}

/// Makes the boot files of an agent that reaches this server at `addresses`.
async fn boot_files(
    options: &NetbootOptions,
    directory: &DataDirectory,
    authority: &Authority,
    addresses: &[Ipv4Addr],
    bundles: Arc<Catalogue>,
) -> Result<BootFiles> {
    let servers =
        addresses.iter().map(|address| format!("https://{address}:{}", options.https_port)).collect();
    let agent = agent_protocol::Configuration {
        servers,
        certificate_authority: authority.certificate().to_owned(),
        ..agent_protocol::Configuration::default()
    };
    let (folder, arguments) = (folder(directory), options.kernel_arguments.clone());
    let made = tokio::task::spawn_blocking(move || {
        bundles::take_boot_files(&bundles, &folder.join("assets"))?;
        boot_images::make(&folder, &agent, &arguments)
    });
    made.await.context("boot images could not be made")?
}
