//! Balancers as containers of a runtime.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use futures::future::BoxFuture;
use system_containers::balancer::{Balancer, Balancers, CONFIGURATION, Configuration, STATUS};
use system_containers::{Container, Runtime, Spec, State, check_name, named};

use crate::{folder, status};

/// The folder of all balancers in the data directory.
const FOLDER: &str = "balancers";

/// Balancers as containers of a runtime on this machine. Their configurations are in the data directory.
pub struct Contained {
    runtime: Arc<dyn Runtime>,
    data: PathBuf,
}

impl Contained {
    /// Returns the balancers of a data directory, which may be that of the runtime, too.
    ///
    /// # Errors
    /// The directory has no absolute path.
    pub fn new(runtime: Arc<dyn Runtime>, data: impl Into<PathBuf>) -> Result<Self> {
        let data = data.into();
        let data = std::path::absolute(&data).with_context(|| format!("cannot find {}", data.display()))?;
        Ok(Self { runtime, data })
    }

    /// Returns the folder of a balancer.
    fn folder(&self, name: &str) -> PathBuf {
        folder_of(&self.data, name)
    }

    async fn ensured(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
        address: Option<Ipv4Addr>,
        configuration: &Configuration,
    ) -> Result<Balancer> {
        configuration.check()?;
        let found = self.find(name).await?;
        if let (Some(found), Some(address)) = (&found, address) {
            let other = found.address;
            ensure!(
                other == address,
                "address: it has {other}, and shall have {address}: remove it, so that it is made again"
            );
        }
        let (folder, wanted) = (self.folder(name), configuration.clone());
        let written = tokio::task::spawn_blocking(move || folder::write(&folder, &wanted)).await;
        written.context("the configuration's write was interrupted")??;
        let container = self.running(name, labels, address, found).await?;
        let balancer = self.observe(container).await;
        match &balancer.status {
            Some(status) if status.configuration != *configuration => {
                let why = status.error.as_deref().unwrap_or("somebody else has written another one");
                bail!("it does not use its configuration: {why}")
            }
            _ => Ok(balancer),
        }
    }

    /// Returns the container of a balancer, which runs or is paused.
    async fn running(
        &self,
        name: &str,
        labels: &BTreeMap<String, String>,
        address: Option<Ipv4Addr>,
        found: Option<Container>,
    ) -> Result<Container> {
        let address = address.or(found.as_ref().map(|found| found.address));
        let folder = self.folder(name);
        let spec = Spec {
            labels: labels.clone(),
            address,
            ..Spec::balancer(name, &folder.join(CONFIGURATION), &folder.join(STATUS))
        };
        match found {
            Some(found) if matches!(found.state, State::Running | State::Paused) => return Ok(found),
            Some(found) if !matches!(found.state, State::Creating | State::Removing) => {
                if let Ok(started) = self.runtime.start(name).await {
                    return Ok(started);
                }
                // Nothing is in it that another one would not have: its data directory may have moved, for example.
                self.runtime.remove(name).await?;
            }
            Some(_) => self.runtime.remove(name).await?,
            None => {}
        }
        self.runtime.create(&spec).await?;
        self.runtime.start(name).await
    }

    /// Returns the container of a balancer.
    ///
    /// # Errors
    /// It is that of something else.
    async fn find(&self, name: &str) -> Result<Option<Container>> {
        let found = self.runtime.inspect(name).await?;
        let is_other = found.as_ref().is_some_and(|found| !found.image.is_empty());
        ensure!(!is_other, "name: there is a container of this name that is no balancer");
        Ok(found)
    }

    async fn observe(&self, container: Container) -> Balancer {
        let Container { name, address, state, .. } = container;
        let status = match state {
            // Why it does not answer is seen at its console. That it does not is what its user acts on.
            State::Running => status::read(&self.folder(&name)).await.ok(),
            _ => None,
        };
        Balancer { name, address, state, status }
    }

    async fn removed(&self, name: &str) -> Result<()> {
        self.find(name).await?;
        delete(self.runtime.as_ref(), &self.data, name).await
    }
}

fn folder_of(data: &Path, name: &str) -> PathBuf {
    data.join(FOLDER).join(name)
}

/// Removes the container called `name`, and what there is of it as a balancer of this data directory, which a damaged one does not say it is.
///
/// # Errors
/// Something cannot be removed; a later call tries again.
pub async fn delete(runtime: &dyn Runtime, data: &Path, name: &str) -> Result<()> {
    check_name(name)?;
    runtime.remove(name).await?;
    let folder = folder_of(data, name);
    let remove = move || match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    };
    tokio::task::spawn_blocking(remove).await.context("the removal was interrupted")?
}

impl Balancers for Contained {
    fn ensure<'a>(
        &'a self,
        name: &'a str,
        labels: &'a BTreeMap<String, String>,
        address: Option<Ipv4Addr>,
        configuration: &'a Configuration,
    ) -> BoxFuture<'a, Result<Balancer>> {
        named("balancer", "made", name, self.ensured(name, labels, address, configuration))
    }

    fn inspect<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Balancer>>> {
        named("balancer", "inspected", name, async move {
            match self.find(name).await? {
                Some(container) => Ok(Some(self.observe(container).await)),
                None => Ok(None),
            }
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        named("balancer", "removed", name, self.removed(name))
    }
}
