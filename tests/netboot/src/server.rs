//! A firstlight server for the lab's network, and its API.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::Value;

use crate::lab::{ADDRESS, BMC_PORTS, BRIDGE, Lab, run};
use crate::wait::until;
use crate::{ipmi, libvirt};

/// Limit for the start of the boot services on a loaded machine.
const START: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    process: test_server::Server,
    objects: Objects,
}

/// Returns the path of the binary under test.
///
/// # Errors
/// Fails without `FIRSTLIGHT_BINARY`.
pub fn binary() -> Result<String> {
    std::env::var("FIRSTLIGHT_BINARY")
        .context("FIRSTLIGHT_BINARY must name the program: run `cargo xtask netboot`")
}

/// Returns the options that let a server reach the BMCs that are emulated on this machine.
pub fn bmcs_here() -> Vec<String> {
    let ports = BMC_PORTS.chain([libvirt::PORT, ipmi::PORT]);
    ports.map(|port| format!("--bmc-on-this-machine={ADDRESS}:{port}")).collect()
}

impl Server {
    /// Starts a server on the lab's bridge, with its data in the lab's folder. `assets` are the boot files.
    ///
    /// # Errors
    /// Fails if it does not start; its log is in the error.
    pub async fn start(lab: &Lab, assets: &[&Path], options: &[&str]) -> Result<Self> {
        Self::start_at(lab, ADDRESS, assets, options).await
    }

    /// Like [`Server::start`], for services at another address than the lab's.
    ///
    /// # Errors
    /// The errors of [`Server::start`].
    pub async fn start_at(lab: &Lab, address: Ipv4Addr, assets: &[&Path], options: &[&str]) -> Result<Self> {
        let data = lab.file("data");
        let folder = data.to_str().context("a folder that is text")?;
        for asset in assets {
            let asset = asset.to_str().context("a path that is text")?;
            run(&binary()?, &["metal", "assets", "add", asset, "--data-dir", folder]).await?;
        }
        // On a loaded machine under emulation, the kernel's timer check fails although the timer works.
        let interface = ["--netboot-interface", BRIDGE, "--netboot-kernel-arguments", "no_timer_check"];
        let bmcs = bmcs_here();
        let bmcs = bmcs.iter().map(String::as_str);
        let all: Vec<&str> = interface.into_iter().chain(bmcs).chain(options.iter().copied()).collect();
        let mut process = test_server::Server::start(binary()?.as_ref(), lab.folder(), &all).await?;
        // The boot services start last.
        let waited = until("the services of machines", START, || {
            let ended = process.ended();
            async move {
                match ended {
                    Ok(None) => tokio::net::TcpStream::connect((address, 8080)).await.ok().map(|_| Ok(())),
                    ended => Some(Err(anyhow!("the server has ended: {ended:?}"))),
                }
            }
        });
        waited.await.flatten().map_err(|error| anyhow!("{error}\n{}", process.log()))?;
        let objects = Objects(process.client().await?);
        Ok(Self { process, objects })
    }

    /// Kills the server.
    pub async fn kill(mut self) {
        let _ = self.process.kill().await;
    }

    /// Returns the process ID, to measure its memory.
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Returns the log.
    pub fn log(&self) -> String {
        self.process.log()
    }
}

impl std::ops::Deref for Server {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        &self.objects
    }
}

/// The objects of an API server.
pub struct Objects(pub Client);

impl Objects {
    /// Returns the client.
    pub fn client(&self) -> &Client {
        &self.0
    }

    fn api(&self, object: &Value) -> Result<Api<DynamicObject>> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        let resource = ApiResource::from_gvk_with_plural(&kind, &plural(text("kind")));
        Ok(match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.0.clone(), namespace, &resource),
            None => Api::all_with(self.0.clone(), &resource),
        })
    }

    /// Applies an object.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("an object with a name")?;
        let parameters = PatchParams::apply("netboot-tests").force();
        self.api(object)?.patch(name, &parameters, &Patch::Apply(object)).await?;
        Ok(())
    }

    /// Merges a patch into the object that `like` names.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn merge(&self, like: &Value, patch: Value) -> Result<()> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        self.api(like)?.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Reads the object that `like` names; null if it does not exist.
    ///
    /// # Errors
    /// Returns every other failure.
    pub async fn get(&self, like: &Value) -> Result<Value> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        let found = self.api(like)?.get_opt(name).await?;
        Ok(serde_json::to_value(found)?)
    }

    /// Deletes the object that `like` names.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn delete(&self, like: &Value) -> Result<()> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        self.api(like)?.delete(name, &kube::api::DeleteParams::default()).await?;
        Ok(())
    }

    /// Reads all objects of the kind and namespace of `like`.
    ///
    /// # Errors
    /// Returns the server's refusal.
    pub async fn list(&self, like: &Value) -> Result<Vec<Value>> {
        let found = self.api(like)?.list(&kube::api::ListParams::default()).await?;
        found.items.into_iter().map(|object| Ok(serde_json::to_value(object)?)).collect()
    }
}

fn plural(kind: &str) -> String {
    match kind {
        "HardwareData" => "hardwaredata".to_owned(),
        "ClusterClass" => "clusterclasses".to_owned(),
        _ => format!("{}s", kind.to_lowercase()),
    }
}
