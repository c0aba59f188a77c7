//! Implements `--install`: creates the kinds and the inventory entries that a cluster lacks, and runs the controllers there as a
//! Deployment of this program with its own service account.

mod available;
pub mod bare_metal;
mod leases;
pub mod manifests;
mod source;
mod until;
mod webhooks;

use std::fmt;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use clusterctl::inventory::{self, Installed};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use machinery::clock::Clock;
use serde_json::Value;
use server::controllers::Selection;
use server::image;
use server::names::FIELD_MANAGER;

pub use bare_metal::Installation;
pub use leases::copy_leases;
pub use manifests::{carried_over, owned, shared};
pub use source::controllers_of;
pub use webhooks::definitions;

use until::until;

/// The time within which a new CRD must become Established.
const ESTABLISHED: Duration = Duration::from_secs(30);
/// The interval at which the CRD is checked.
const PAUSE: Duration = Duration::from_millis(100);
/// The label selector of the Deployments of upstream's controllers.
const UPSTREAM: &str = "cluster.x-k8s.io/provider in (cluster-api,bootstrap-kubeadm,control-plane-kubeadm,infrastructure-metal3)";

/// Options of an installation.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Hand-over")]
pub struct InstallOptions {
    /// Run the controllers at the target: install the CRDs that are missing there, and this program as a Deployment
    #[arg(long)]
    pub install: bool,
    /// Image of the Deployment; `firstlight image` creates it [default: localhost/firstlight:vVERSION]
    #[arg(long, value_name = "REF", requires = "install")]
    pub image: Option<String>,
}

impl InstallOptions {
    /// Returns the image name of the Deployment.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn reference(&self) -> Result<String> {
        let reference = self.image.clone().unwrap_or_else(image::default_reference);
        image::check_reference(&reference)?;
        Ok(reference)
    }
}

/// The result for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The object did not exist and was created.
    Created,
    /// The object existed and belongs to firstlight, so it was updated.
    Configured,
    /// The object existed and was not changed.
    Left,
}

/// An object of the installation and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The object, for example `deployment.apps/firstlight-controllers`.
    pub object: String,
    /// The result.
    pub outcome: Outcome,
    /// Whether this was a dry run, without changes.
    pub dry_run: bool,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            Outcome::Created => "created",
            Outcome::Configured => "configured",
            Outcome::Left => "is there",
        };
        let dry_run = if self.dry_run { " (dry run)" } else { "" };
        write!(f, "{} {outcome}{dry_run}", self.object)
    }
}

/// Installs `controllers` with all that they need; with `dry_run` nothing is written. Objects that other controllers may use are created if they are missing, and
/// never changed. With the services that boot machines, it returns when they are ready to take over.
///
/// # Errors
/// The cluster already runs upstream's controllers, or refuses a write, or the services do not become ready.
pub async fn install(
    client: &Client,
    reference: &str,
    controllers: &Selection,
    bare_metal: Option<&Installation>,
    dry_run: bool,
    clock: &Clock,
) -> Result<Vec<Step>> {
    refuse_beside_upstream(client).await?;
    let there = match inventory::providers(client).await {
        Err(error) if error.is_not_found() => Vec::new(),
        there => there.context("cannot read clusterctl's inventory at the target")?,
    };
    let mut steps = Vec::new();
    for object in shared(controllers, bare_metal.is_some())? {
        if is_elsewhere(&object, &there) {
            continue;
        }
        let target = Target::of(client, &object)?;
        let exists = target.exists().await?;
        if !exists && !dry_run {
            target.create(&object).await?;
            if target.resource.kind == "CustomResourceDefinition" {
                target.established(clock).await?;
            }
        }
        let outcome = if exists { Outcome::Left } else { Outcome::Created };
        steps.push(Step { object: target.label(), outcome, dry_run });
    }
    for object in owned(reference, controllers, bare_metal)? {
        let target = Target::of(client, &object)?;
        let exists = target.exists().await?;
        if !dry_run {
            target.apply(&object).await?;
        }
        let outcome = if exists { Outcome::Configured } else { Outcome::Created };
        steps.push(Step { object: target.label(), outcome, dry_run });
    }
    if bare_metal.is_some() && !dry_run {
        available::wait(client, clock).await?;
    }
    Ok(steps)
}

/// Returns whether an object is the Namespace or the entry of a provider that the cluster has in another namespace.
fn is_elsewhere(object: &Value, there: &[Installed]) -> bool {
    let metadata = &object["metadata"];
    let namespace = match object["kind"].as_str() {
        Some("Namespace") => &metadata["name"],
        Some("Provider") => &metadata["namespace"],
        _ => return false,
    };
    let label = &metadata["labels"]["cluster.x-k8s.io/provider"];
    there.iter().any(|one| *label == one.label() && *namespace != one.namespace)
}

/// Returns the name of a Deployment of upstream's controllers in the cluster.
///
/// # Errors
/// The cluster cannot be asked.
pub async fn other_controllers(client: &Client) -> Result<Option<String>> {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let found = deployments.list(&ListParams::default().labels(UPSTREAM)).await;
    let found = found.context("cannot look for other controllers at the target")?;
    let name = |one: &Deployment| format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any());
    Ok(found.items.first().map(name))
}

/// Fails if upstream's controllers run in the cluster, because two sets of controllers would undo each other's work.
async fn refuse_beside_upstream(client: &Client) -> Result<()> {
    if let Some(name) = other_controllers(client).await? {
        bail!(
            "the target runs other Cluster API controllers (Deployment {name}), which take over by themselves; leave out --install"
        );
    }
    Ok(())
}

/// The address of an object in a cluster.
struct Target {
    api: Api<DynamicObject>,
    resource: ApiResource,
    name: String,
}

impl Target {
    fn of(client: &Client, object: &Value) -> Result<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let api_version = text(&object["apiVersion"]).context("an object without apiVersion")?;
        let kind = text(&object["kind"]).context("an object without kind")?;
        let (group, version) = machinery::meta::group_version(&api_version);
        let gvk = GroupVersionKind::gvk(group, version, &kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &format!("{}s", kind.to_lowercase()));
        let api = match text(&object["metadata"]["namespace"]) {
            Some(namespace) => Api::namespaced_with(client.clone(), &namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let name = text(&object["metadata"]["name"]).context("an object without a name")?;
        Ok(Self { api, resource, name })
    }

    fn label(&self) -> String {
        let kind = self.resource.kind.to_lowercase();
        match self.resource.group.as_str() {
            "" => format!("{kind}/{}", self.name),
            group => format!("{kind}.{group}/{}", self.name),
        }
    }

    fn failed(&self) -> String {
        format!("the target refuses {}", self.label())
    }

    async fn exists(&self) -> Result<bool> {
        match self.api.get(&self.name).await {
            Ok(_) => Ok(true),
            // Also returned for a kind that is not served: a dry run does not install it.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error).with_context(|| self.failed()),
        }
    }

    async fn create(&self, object: &Value) -> Result<()> {
        let object = serde_json::from_value(object.clone())?;
        match self.api.create(&PostParams::default(), &object).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
            outcome => outcome.map(drop).with_context(|| self.failed()),
        }
    }

    async fn apply(&self, object: &Value) -> Result<()> {
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let outcome = self.api.patch(&self.name, &parameters, &Patch::Apply(object)).await;
        outcome.map(drop).with_context(|| self.failed())
    }

    /// Waits until a new kind is served.
    async fn established(&self, clock: &Clock) -> Result<()> {
        let is_served = async || {
            let found = self.api.get(&self.name).await.with_context(|| self.failed())?;
            let conditions = found.data["status"]["conditions"].as_array();
            let is_true = |one: &Value| one["type"] == "Established" && one["status"] == "True";
            Ok(conditions.is_some_and(|all| all.iter().any(is_true)))
        };
        if !until(ESTABLISHED, PAUSE, clock, is_served).await? {
            bail!("{} is not served after {ESTABLISHED:?}", self.label());
        }
        Ok(())
    }
}
