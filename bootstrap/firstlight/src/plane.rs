//! Assembly: the API server with the Cluster API kinds, and the controllers on top of it. The binary and the simulation
//! build the same plane; they differ in the doors they hand in.

use std::io;
use std::sync::Arc;

use access::User;
use anyhow::{Context as _, Result, anyhow};
use engine::Manager;
use engine::network::Network;
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Context, Housekeeping, Input, PatchBody, Registry, Subresource};
use serde_json::Value;
use serving::{Server, VersionInfo};
use store::Store;
use webhook::{Dialer, HttpsCaller};

use crate::admission::ClusterApiAdmission;
use crate::cli::ControllerSelection;

/// The doors to the outside.
#[derive(Clone)]
pub struct Doors {
    /// Time.
    pub clock: Clock,
    /// Randomness.
    pub random: Random,
    /// Other machines.
    pub network: Arc<dyn Network>,
}

/// Webhooks are reached through the same door as workload clusters.
struct Outside(Arc<dyn Network>);

impl Dialer for Outside {
    fn dial<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Box<dyn webhook::Stream>>> {
        async move { Ok(Box::new(self.0.dial(host, port).await?) as Box<dyn webhook::Stream>) }.boxed()
    }
}

/// A management plane without its sockets.
#[derive(Clone)]
pub struct Plane {
    /// All objects.
    pub registry: Registry,
    /// Answers requests.
    pub server: Server,
    doors: Doors,
}

/// The field manager of what the plane itself writes.
pub const FIELD_MANAGER: &str = "firstlight";

/// Who the controllers are.
pub const CONTROLLER_USER: &str = "system:serviceaccount:capi-system:capi-manager";

/// Where workload clusters of the simulated infrastructure listen.
const SIMULATED_HOST: &str = "127.0.0.1";

/// Which manifest of a CustomResourceDefinition was installed last: a start with the same one writes nothing. Its presence says
/// that the definition is ours.
pub const MANIFEST_HASH: &str = "firstlight.dev/manifest-hash";

impl Plane {
    /// The API server over `store`, with the Cluster API's CustomResourceDefinitions installed.
    ///
    /// # Errors
    /// Where the store refuses, or what it holds cannot be served.
    pub async fn start(store: Store, doors: &Doors, root_certificate: Option<String>) -> Result<Self> {
        let options = registry::Options {
            kinds: Vec::new(),
            housekeeping: Housekeeping { root_certificate, ..Housekeeping::default() },
            admission: vec![Arc::new(ClusterApiAdmission)],
            webhooks: Some(Arc::new(HttpsCaller::over(Outside(doors.network.clone()), doors.clock.clone()))),
        };
        let registry = Registry::open(store, doors.clock.clone(), doors.random.clone(), options)
            .await
            .map_err(|error| anyhow!("cannot serve what is stored: {error}"))?;
        let server = Server::builder(registry.clone(), doors.clock.clone()).version(version()).build();
        let plane = Self { registry, server, doors: doors.clone() };
        plane.install_kinds().await?;
        Ok(plane)
    }

    async fn install_kinds(&self) -> Result<()> {
        // All at once, so that they share the disk's syncs.
        let installing = schemas::crds()?.into_iter().map(|manifest| async move {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.install(&name, manifest).await.with_context(|| format!("cannot install {name}"))
        });
        futures::future::try_join_all(installing).await.map(drop)
    }

    async fn install(&self, name: &str, mut manifest: Value) -> Result<()> {
        let served = self.registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let served = served.context("CustomResourceDefinitions are not served")?;
        let hash = hash(&manifest);
        if let Ok(stored) = self.registry.get(&served, "", name, Subresource::None, "") {
            let stored: Value = serde_json::from_slice(&stored)?;
            if stored["metadata"]["annotations"][MANIFEST_HASH] == hash.as_str() {
                return Ok(());
            }
        }
        manifest["metadata"]["annotations"][MANIFEST_HASH] = hash.into();
        let mut context = Context::internal(FIELD_MANAGER);
        let patch = PatchBody::Apply { input: Input::new(manifest), force: true };
        let outcome = self.registry.patch(&mut context, &served, "", name, Subresource::None, patch).await;
        outcome.map(drop).map_err(Into::into)
    }

    /// A client of this plane that acts as an administrator called `name`.
    pub fn client(&self, name: &str) -> Client {
        Client::new(self.server.client_service(User::master(name)), "default")
    }

    /// What the controllers of this process share.
    pub fn manager(&self) -> Manager {
        self.manager_with(self.client(CONTROLLER_USER))
    }

    /// As [`Plane::manager`], with a client of the caller's making.
    pub fn manager_with(&self, client: Client) -> Manager {
        Manager::new(engine::Options {
            client,
            clock: self.doors.clock.clone(),
            random: self.doors.random.clone(),
            network: self.doors.network.clone(),
        })
    }
}

/// Starts the chosen controllers; they end with the manager.
pub fn start_controllers(manager: &Manager, selection: ControllerSelection) {
    if selection.core {
        cluster_core::start(manager);
    }
    if selection.kubeadm {
        kubeadm::start(manager);
    }
    if selection.simulated {
        simulated::start(manager, SIMULATED_HOST);
    }
}

fn version() -> VersionInfo {
    VersionInfo {
        git_version: format!("v1.36.0+firstlight.{}", env!("CARGO_PKG_VERSION")),
        ..VersionInfo::default()
    }
}

/// FNV-1a of the manifest's text: tells one manifest from another, nothing more.
fn hash(manifest: &Value) -> String {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = manifest.to_string().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    format!("{hash:016x}")
}
