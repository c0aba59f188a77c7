//! A firstlight that serves the lab's network, and its API.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::Value;

use crate::lab::{ADDRESS, BRIDGE, Lab, run};
use crate::wait::until;

/// How long machines may have to wait for their services on a loaded machine.
const START: Duration = Duration::from_secs(60);

/// A running server.
pub struct Server {
    process: test_server::Server,
    client: Client,
}

/// The program under test.
///
/// # Errors
/// Without `FIRSTLIGHT_BINARY`.
pub fn binary() -> Result<String> {
    std::env::var("FIRSTLIGHT_BINARY")
        .context("FIRSTLIGHT_BINARY must name the program: run `cargo xtask netboot`")
}

impl Server {
    /// Starts one on the lab's bridge, with its data in the lab's folder. `assets` are what machines boot.
    ///
    /// # Errors
    /// When it does not come up; its log is in the error.
    pub async fn start(lab: &Lab, assets: &[&Path], options: &[&str]) -> Result<Self> {
        let data = lab.file("data");
        let folder = data.to_str().context("a folder that is text")?;
        for asset in assets {
            let asset = asset.to_str().context("a path that is text")?;
            run(&binary()?, &["metal", "assets", "add", asset, "--data-dir", folder]).await?;
        }
        // Under emulation, on a loaded machine, the kernel's check of its timer fails although the timer works.
        let interface = ["--netboot-interface", BRIDGE, "--netboot-kernel-arguments", "no_timer_check"];
        let all: Vec<&str> = interface.into_iter().chain(options.iter().copied()).collect();
        let mut process = test_server::Server::start(binary()?.as_ref(), lab.folder(), &all).await?;
        // Machines are served last.
        let waited = until("the services of machines", START, || {
            let ended = process.ended();
            async move {
                match ended {
                    Ok(None) => tokio::net::TcpStream::connect((ADDRESS, 8080)).await.ok().map(|_| Ok(())),
                    ended => Some(Err(anyhow!("the server has ended: {ended:?}"))),
                }
            }
        });
        waited.await.flatten().map_err(|error| anyhow!("{error}\n{}", process.log()))?;
        let client = process.client().await?;
        Ok(Self { process, client })
    }

    /// Kills it.
    pub async fn kill(mut self) {
        let _ = self.process.kill().await;
    }

    /// Its client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Process id, for its memory.
    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Its log.
    pub fn log(&self) -> String {
        self.process.log()
    }

    fn api(&self, object: &Value) -> Result<Api<DynamicObject>> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let kind = GroupVersionKind::gvk(group, version, text("kind"));
        let resource = ApiResource::from_gvk_with_plural(&kind, plural(text("kind")));
        Ok(match object["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        })
    }

    /// Applies an object.
    ///
    /// # Errors
    /// What the server says against it.
    pub async fn apply(&self, object: &Value) -> Result<()> {
        let name = object["metadata"]["name"].as_str().context("an object with a name")?;
        let parameters = PatchParams::apply("netboot-tests").force();
        self.api(object)?.patch(name, &parameters, &Patch::Apply(object)).await?;
        Ok(())
    }

    /// Merges a patch into an object that `like` names.
    ///
    /// # Errors
    /// What the server says against it.
    pub async fn merge(&self, like: &Value, patch: Value) -> Result<()> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        self.api(like)?.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Reads the object that `like` names; null when it is not there.
    ///
    /// # Errors
    /// Every other failure.
    pub async fn get(&self, like: &Value) -> Result<Value> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        let found = self.api(like)?.get_opt(name).await?;
        Ok(serde_json::to_value(found)?)
    }

    /// Deletes the object that `like` names.
    ///
    /// # Errors
    /// What the server says against it.
    pub async fn delete(&self, like: &Value) -> Result<()> {
        let name = like["metadata"]["name"].as_str().context("an object with a name")?;
        self.api(like)?.delete(name, &kube::api::DeleteParams::default()).await?;
        Ok(())
    }
}

fn plural(kind: &str) -> &'static str {
    match kind {
        "BareMetalHost" => "baremetalhosts",
        "PreprovisioningImage" => "preprovisioningimages",
        "HardwareData" => "hardwaredata",
        "Agent" => "agents",
        "DHCPLease" => "dhcpleases",
        "Namespace" => "namespaces",
        "Event" => "events",
        _ => "secrets",
    }
}
