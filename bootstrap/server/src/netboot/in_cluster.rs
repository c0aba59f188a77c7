//! The services in a cluster that takes over from another server.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use engine::Manager;
use metal::preprovisioning::BootImages;
use metal_boot::Error;
use tokio::sync::Mutex;

use super::{Files, NetbootOptions, Services, Started, start};
use crate::data_directory::DataDirectory;
use crate::options::DirectoryOptions;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(5);

/// Options of the services beside the controllers of another cluster.
#[derive(Debug, Clone, Default, Args)]
pub struct InClusterOptions {
    /// The directory of boot images, leases and the authority.
    #[command(flatten)]
    pub directory: DirectoryOptions,
    /// The interfaces and ports of the services, and what they serve.
    #[command(flatten)]
    pub netboot: NetbootOptions,
    /// Folder with netboot-ca.crt and netboot-ca.key, the authority that hosts trust [default: <data-dir>/pki, where it is made]
    #[arg(long = "netboot-authority", value_name = "DIR", requires = "interfaces")]
    pub authority: Option<PathBuf>,
}

impl InClusterOptions {
    /// Returns whether services are wanted.
    pub fn is_wanted(&self) -> bool {
        !self.netboot.interfaces.is_empty()
    }

    /// Starts the services as soon as no other machine has their address.
    async fn start_when_free(&self, manager: &Manager) -> Result<Started> {
        let directory = DataDirectory::locate(self.directory.data_dir.as_deref())?;
        directory.create()?;
        let files = Files { directory: &directory, authority: self.authority.as_deref() };
        let mut is_told = false;
        loop {
            match start(&self.netboot, files, manager).await {
                Err(error) if matches!(error.downcast_ref(), Some(Error::AddressInUse { .. })) => {
                    if !is_told {
                        tracing::info!("waiting: {error:#}");
                    }
                    is_told = true;
                    manager.clock().sleep(PAUSE).await;
                }
                outcome => return outcome,
            }
        }
    }
}

/// The services as long as they run.
#[derive(Clone, Default)]
pub struct Booting(Arc<Mutex<Option<Services>>>);

impl Booting {
    /// Starts the services as soon as no other machine has their address. Returns their interfaces, and the boot images that they serve.
    ///
    /// # Errors
    /// An interface or file is invalid, or a port is in use.
    pub async fn start(
        &self,
        options: &InClusterOptions,
        manager: &Manager,
    ) -> Result<(Vec<String>, BootImages)> {
        let started = options.start_when_free(manager).await?;
        *self.0.lock().await = started.services;
        Ok((started.interfaces, started.images))
    }

    /// Stops the services, and gives up their address.
    pub async fn stop(&self) {
        if let Some(services) = self.0.lock().await.take() {
            services.stop().await;
        }
    }
}
