//! The CRD migrator. After a change of a CustomResourceDefinition of Cluster API, all objects are stored in the storage version and no
//! `managedFields` name a version that is not served, so that old versions can be removed from the definition.

mod objects;
pub mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use engine::contract::Definition;
use engine::in_place::SharedUpdater;
use engine::objects::FIELD_MANAGER;
use engine::{
    Action, Controller, Descriptor, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::{Value, json};

use objects::Migration;
use plan::{OBSERVED_GENERATION, Task, is_due};

/// The descriptor of the controller. It reconciles no kind: it completes the definitions of others.
pub const CONTROLLER: Descriptor<SharedUpdater> =
    Descriptor { name: "crdmigrator", reconciles: &[], start: |manager, _| start(manager) };

/// How long the migration of one definition may take before it is repeated for the objects that are left.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Definition and generation with the objects that are already stored in the storage version.
type Done = BTreeMap<String, (i64, Arc<Mutex<BTreeSet<NamespacedName>>>)>;

struct CrdMigrator {
    manager: Manager,
    definitions: Objects<Definition>,
    /// The names of the definitions that are migrated.
    names: BTreeSet<String>,
    done: Mutex<Done>,
}

/// Starts the controller.
fn start(manager: &Manager) {
    let definitions = manager.contracts().definitions().clone();
    let this = CrdMigrator { manager: manager.clone(), definitions, names: names(), done: Mutex::default() };
    // Watched only: the filter of `--watch-filter` is for the objects of users.
    Controller::new(manager, CONTROLLER.name)
        .watches(&this.definitions, |change| vec![change.name()])
        .concurrency(1)
        .time_limit(TIME_LIMIT)
        .start(this);
}

/// Returns the names of Cluster API's definitions. Those of other providers are migrated by their own managers.
pub fn names() -> BTreeSet<String> {
    let all = match schemas::manifests() {
        Ok(all) => all,
        Err(error) => {
            tracing::error!(%error, "no definition is migrated: the built-in definitions cannot be read");
            Vec::new()
        }
    };
    all.into_iter().map(|(name, _)| name).filter(|name| is_migrated(name)).collect()
}

fn is_migrated(name: &str) -> bool {
    let group = name.split_once('.').map_or("", |(_, group)| group);
    let is_cluster_api = group == "cluster.x-k8s.io" || group.ends_with(".cluster.x-k8s.io");
    // clusterctl and the operator keep their own definitions.
    is_cluster_api && !group.starts_with("clusterctl.") && !group.starts_with("operator.")
}

impl Reconciler for CrdMigrator {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let known = self.definitions.get(&request).filter(|_| self.names.contains(&request.name));
        if known.is_none_or(|definition| !is_due(&definition.metadata)) {
            return Ok(Action::done());
        }
        let api: Api<CustomResourceDefinition> = Api::all(self.manager.client().clone());
        let found = api.get_opt(&request.name).await;
        let found = found.map_err(|error| failed("get", &request.name, error))?;
        let Some(definition) = found.filter(|definition| is_due(&definition.metadata)) else {
            return Ok(Action::done());
        };
        let task = plan::task(&definition)
            .map_err(|why| Error::Terminal(format!("CustomResourceDefinition {}: {why}", request.name)))?;
        let done = self.done_of(&request.name, task.generation);
        let (client, clock) = (self.manager.client(), self.manager.clock());
        Migration { client, clock, task: &task, done: &done }.run().await?;
        self.complete(&api, &request.name, &definition, &task).await?;
        self.done.lock().remove(&request.name);
        Ok(Action::done())
    }
}

impl CrdMigrator {
    /// Returns the objects that are already stored in the storage version of this generation.
    fn done_of(&self, name: &str, generation: i64) -> Arc<Mutex<BTreeSet<NamespacedName>>> {
        let mut all = self.done.lock();
        let (of, done) = all.entry(name.to_owned()).or_default();
        if *of != generation {
            (*of, *done) = (generation, Arc::default());
        }
        done.clone()
    }

    /// Records in the definition that its objects are migrated.
    async fn complete(
        &self,
        api: &Api<CustomResourceDefinition>,
        name: &str,
        definition: &CustomResourceDefinition,
        task: &Task,
    ) -> Result<()> {
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        if task.rewrites {
            // Fails if the definition has changed: its storage version may be another one now.
            let patch: Patch<Value> = Patch::Merge(json!({
                "metadata": {"resourceVersion": definition.metadata.resource_version},
                "status": {"storedVersions": [task.resource.version]},
            }));
            let written = api.patch_status(name, &parameters, &patch).await;
            written.map_err(|error| failed("patch", name, error))?;
            tracing::info!(
                definition = name,
                version = task.resource.version,
                "all objects have the storage version"
            );
        }
        let annotations = json!({OBSERVED_GENERATION: task.generation.to_string()});
        let patch: Patch<Value> = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        let written = api.patch_metadata(name, &parameters, &patch).await;
        written.map(drop).map_err(|error| failed("patch", name, error))
    }
}

fn failed(verb: &str, name: &str, error: kube::Error) -> Error {
    Error::api(format!("{verb} CustomResourceDefinition {name}"), error)
}
