//! Assembly of the API server with the Cluster API kinds and of the controllers. The binary and the simulation build the same plane
//! with different [`Dependencies`].

use std::sync::Arc;

use access::{Rbac, Tokens, User};
use anyhow::{Context as _, Result, anyhow};
use engine::{Manager, Settings};
use http::Method;
use kube::Client;
use machinery::clock::Clock;
use machinery::hash::fnv1a_64;
use machinery::random::Random;
use net::Network;
use pki::TokenKeys;
use registry::{
    Context, Housekeeping, Input, PatchBody, Registry, ServiceRange, SignRequests, Subresource, TokenSecrets,
};
use serde_json::Value;
use serving::node::Node;
use serving::{Server, VersionInfo};
use store::Store;
use webhook::HttpsCaller;

use crate::admission::ClusterApiAdmission;
use crate::backup;
use crate::confirmation;
use crate::conversion::ClusterApiConversion;
use crate::names::{CONTROLLER_USER, FIELD_MANAGER, MANIFEST_HASH};
use crate::{reboot, undo};

/// The methods of paths that are only read.
const GET: &[Method] = &[Method::GET];

/// The dependencies on the outside.
#[derive(Clone)]
pub struct Dependencies {
    /// The clock.
    pub clock: Clock,
    /// The source of randomness.
    pub random: Random,
    /// The network to other machines.
    pub network: Arc<dyn Network>,
}

/// What the server does in place of kube-controller-manager for Pods and users, beside what every server does.
pub struct ControllerManager {
    /// The PEM text of the authority, which each namespace and each token Secret gets.
    pub root_certificate: String,
    /// Signs approved certificate requests.
    pub request_signer: Arc<dyn SignRequests>,
}

impl ControllerManager {
    fn housekeeping(self, tokens: &Tokens) -> Housekeeping {
        let root_certificate = Some(self.root_certificate);
        let signer = Arc::new(tokens.clone());
        Housekeeping {
            token_secrets: Some(TokenSecrets { signer, root_certificate: root_certificate.clone() }),
            request_signer: Some(self.request_signer),
            root_certificate,
            quotas: true,
            ..Housekeeping::default()
        }
    }
}

/// A management plane without its sockets.
#[derive(Clone)]
pub struct Plane {
    /// The registry of all objects.
    pub registry: Registry,
    /// The API server, which answers requests.
    pub server: Server,
    /// The metrics registry of server, store and controllers.
    pub metrics: metrics::Metrics,
    /// The controllers whose progress the server shows.
    controllers: confirmation::Controllers,
    dependencies: Dependencies,
    settings: Settings,
}

impl Plane {
    /// Starts the API server over `store`, and installs the CustomResourceDefinitions of Cluster API. `keys` sign and verify the tokens
    /// of service accounts. Without `duties`, somebody else does what kube-controller-manager does.
    ///
    /// # Errors
    /// The store fails, or its content cannot be served.
    pub async fn start(
        store: Store,
        dependencies: &Dependencies,
        duties: Option<ControllerManager>,
        keys: TokenKeys,
    ) -> Result<Self> {
        let (admission, range) = (ClusterApiAdmission::default(), ServiceRange::default());
        Self::start_with(store, dependencies, duties, keys, admission, None, range).await
    }

    /// Like [`Plane::start`], with the given admission of the Cluster API kinds: its feature gates, and its warnings about kinds that no
    /// controller of this process implements; the Node whose Pods run in this process; and the range of cluster IPs.
    ///
    /// # Errors
    /// The errors of [`Plane::start`].
    pub async fn start_with(
        store: Store,
        dependencies: &Dependencies,
        duties: Option<ControllerManager>,
        keys: TokenKeys,
        cluster_api: ClusterApiAdmission,
        node: Option<Arc<dyn Node>>,
        service_range: ServiceRange,
    ) -> Result<Self> {
        // Without the controllers that fulfil certificates, clients must see that cert-manager is missing.
        let has_certificates = cluster_api.controllers.names().contains(&"pods");
        let settings = Settings { features: cluster_api.features, ..Settings::default() };
        let rbac = Rbac::new(store.clone());
        let tokens =
            Tokens::new(store.clone(), dependencies.clock.clone(), dependencies.random.clone(), keys);
        let housekeeping = Housekeeping {
            standard_objects: true,
            ..duties.map(|duties| duties.housekeeping(&tokens)).unwrap_or_default()
        };
        let options = registry::Options {
            kinds: None,
            housekeeping,
            converter: Some(Arc::new(ClusterApiConversion::default())),
            admission: vec![Arc::new(cluster_api), Arc::new(rbac.clone())],
            service_accounts: true,
            service_range,
            webhooks: Some(Arc::new(HttpsCaller::over(
                dependencies.network.clone(),
                dependencies.clock.clone(),
            ))),
        };
        let registry =
            Registry::open(store.clone(), dependencies.clock.clone(), dependencies.random.clone(), options)
                .await
                .map_err(|error| anyhow!("cannot serve what is stored: {error}"))?;
        let metrics = metrics::Metrics::default();
        let controllers = confirmation::Controllers::default();
        let server = Server::builder(registry.clone(), dependencies.clock.clone())
            .metrics(metrics.clone())
            .version(version())
            .authorizer(rbac)
            .tokens(tokens)
            .node(node)
            .connect(reboot::RESOURCE, reboot::Reboot(registry.clone()))
            .connect(
                undo::RESOURCE,
                undo::Undo { registry: registry.clone(), clock: dependencies.clock.clone() },
            )
            .path(backup::BACKUP_PATH, GET, backup::backup_answer(store.clone(), dependencies.clock.clone()))
            .path(backup::VERIFY_PATH, GET, backup::verify_answer(store))
            .path(confirmation::CONTROLLERS_PATH, GET, confirmation::answer(controllers.clone()))
            .path(confirmation::CONFIRMED_PATH, GET, confirmation::held_answer(controllers.clone()))
            .build();
        let plane =
            Self { registry, server, metrics, controllers, dependencies: dependencies.clone(), settings };
        let more: &'static [_] = if has_certificates { &certificates::MANIFESTS } else { &[] };
        plane.install_kinds(more).await?;
        Ok(plane)
    }

    /// Installs the kinds of Cluster API, and `more`: names and texts of definitions.
    async fn install_kinds(&self, more: &'static [(&'static str, &'static str)]) -> Result<()> {
        // Installed concurrently, so that they share the disk's syncs and the processor's cores.
        let install = |(name, text): (String, String)| {
            let (plane, named) = (self.clone(), name.clone());
            (name, tokio::spawn(async move { plane.install(&named, &text).await }))
        };
        let more = more.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let installing: Vec<_> = schemas::manifests()?.into_iter().chain(more).map(install).collect();
        for (name, installed) in installing {
            let failed = || format!("cannot install {name}");
            installed.await.with_context(failed)?.with_context(failed)?;
        }
        Ok(())
    }

    async fn install(&self, name: &str, text: &str) -> Result<()> {
        let hash = format!("{:016x}", fnv1a_64(text.as_bytes()));
        if self.installed(name).as_deref() == Some(&*hash) {
            return Ok(());
        }
        let served = self.registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let served = served.context("CustomResourceDefinitions are not served")?;
        let mut manifest: Value = serde_json::from_str(text)?;
        manifest["metadata"]["annotations"][MANIFEST_HASH] = hash.into();
        let mut context = Context::start(FIELD_MANAGER);
        let patch = PatchBody::Apply { input: Input::new(manifest), force: true };
        let outcome = self.registry.patch(&mut context, &served, "", name, Subresource::None, patch).await;
        outcome.map(drop).map_err(Into::into)
    }

    /// Returns the hash of the manifest of a served kind; `None` if the kind is not served, or its definition is not firstlight's.
    fn installed(&self, name: &str) -> Option<String> {
        let (plural, group) = name.split_once('.')?;
        let definitions = self.registry.definitions();
        definitions.get(group, plural)?.annotations.get(MANIFEST_HASH).cloned()
    }

    /// Returns the dependencies on the outside.
    pub fn dependencies(&self) -> &Dependencies {
        &self.dependencies
    }

    /// Returns a client of this plane that acts as an administrator named `name`.
    pub fn client(&self, name: &str) -> Client {
        Client::new(self.server.client_service(User::master(name)), "default")
    }

    /// Lets the server say what these controllers, which were started, have not confirmed since then. Only the first call counts.
    pub fn show_progress_of(&self, manager: &Manager) {
        let _ = self.controllers.set(manager.startup().clone());
    }

    /// Returns the manager for the controllers of this process.
    pub fn manager(&self) -> Manager {
        self.manager_with(self.client(CONTROLLER_USER))
    }

    /// Returns a manager like [`Plane::manager`] whose controllers record no Events.
    pub fn manager_without_events(&self) -> Manager {
        let settings = Settings { without_events: true, ..self.settings.clone() };
        Self { settings, ..self.clone() }.manager()
    }

    /// Returns a manager like [`Plane::manager`] with the given client.
    pub fn manager_with(&self, client: Client) -> Manager {
        Manager::new(engine::ManagerOptions {
            client,
            clock: self.dependencies.clock.clone(),
            random: self.dependencies.random.clone(),
            network: self.dependencies.network.clone(),
            metrics: self.metrics.clone(),
            settings: self.settings.clone(),
        })
    }
}

/// Returns the answer of `/version`.
pub fn version() -> VersionInfo {
    VersionInfo {
        git_version: format!("v1.36.0+firstlight.{}", env!("CARGO_PKG_VERSION")),
        ..VersionInfo::default()
    }
}
