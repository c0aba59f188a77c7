//! The ClusterClass controller: owner references on templates, versions of references, and the variables that Clusters can set.

mod apply;
mod observe;
mod observed;
mod plan;
mod variables;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::controller::requests_of;
use engine::{
    Controller, Descriptor, External, Frame, GroupKind, Manager, Membership, Objects, Outcome, Planned,
    Result,
};
use schemas::cluster::{Cluster, ClusterClass};
use schemas::runtime::ExtensionConfig;

pub use observed::{Discovered, Observed, Template};
pub use plan::{Plan, plan};

use crate::extensions::Context;
use crate::references::{template_key, template_references};
use observe::ClassController;

/// The conditions that this controller owns.
const OWNED: &[&str] = &["RefVersionsUpToDate", "VariablesReady", "Paused"];
/// Index of classes by the templates that they refer to.
const BY_TEMPLATE: &str = "template";
/// Index of classes by the ExtensionConfigs whose extensions define variables of theirs.
const BY_EXTENSION: &str = "extension";

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor<Context> = Descriptor {
    name: "clusterclass",
    reconciles: &[GroupKind::new(ClusterClass::GROUP, ClusterClass::KIND)],
    start,
};

/// Starts the ClusterClass controller.
fn start(manager: &Manager, context: &Context) {
    if !manager.features().cluster_topology {
        return;
    }
    let classes = manager.objects::<ClusterClass>();
    classes.index(BY_TEMPLATE, |class| {
        let namespace = class.metadata.namespace.as_deref().unwrap_or_default();
        let keys = template_references(class).into_iter();
        keys.map(|reference| {
            template_key(namespace, &reference.api_version, &reference.kind, &reference.name)
        })
        .collect()
    });
    let definitions = manager.contracts().definitions().clone();
    let of_definitions = classes.clone();
    let mut controller = Controller::new(manager, CONTROLLER.name).reconciles(&classes).watches(
        &definitions,
        // A new version of a provider can make references out of date.
        move |_| requests_of(&of_definitions.all()),
    );
    if manager.features().runtime_sdk {
        classes.index(BY_EXTENSION, |class| extensions_of(class).into_iter().collect());
        let of_extension = classes.clone();
        controller = controller.watches(&manager.objects::<ExtensionConfig>(), move |change| {
            // Another version of an extension can define other variables.
            requests_of(&of_extension.by_index(BY_EXTENSION, &change.name().name))
        });
    }
    let queue = controller.queue();
    let referring = classes.clone();
    let external = External::new(manager, &queue, move |resource, change| {
        let name = change.name();
        let key = template_key(&name.namespace, &resource.api_version, &resource.kind, &name.name);
        requests_of(&referring.by_index(BY_TEMPLATE, &key))
    });
    let (manager, extensions) = (manager.clone(), context.extensions.clone());
    controller.start(Frame::new(ClassController { manager, classes, external, extensions }));
}

/// Returns the names of the ExtensionConfigs whose handlers define variables of `class`. A handler is named `handler.extension`.
fn extensions_of(class: &ClusterClass) -> BTreeSet<String> {
    let external = class.spec.patches.iter().filter_map(|patch| patch.external.as_ref());
    let handlers = external.filter_map(|external| external.discover_variables_extension.as_deref());
    handlers.filter_map(|handler| handler.rsplit_once('.')).map(|(_, config)| config.to_owned()).collect()
}

impl Planned for ClassController {
    type Object = ClusterClass;
    type Observed = Observed;
    type Plan = Plan;

    const FINALIZER: Option<&'static str> = None;
    const OWNED: &'static [&'static str] = OWNED;

    fn objects(&self) -> &Objects<ClusterClass> {
        &self.classes
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    /// A class belongs to no Cluster. Only its own annotation pauses it.
    fn cluster(&self, _: &Arc<ClusterClass>) -> Membership {
        Membership::None
    }

    async fn observe(&self, class: Arc<ClusterClass>, _: Option<Arc<Cluster>>) -> Result<Option<Observed>> {
        if engine::object::is_deleting(class.as_ref()) {
            return Ok(None);
        }
        Ok(Some(self.read(class).await))
    }

    fn plan(observed: &Observed, _: DateTime<Utc>) -> Plan {
        plan(observed)
    }

    async fn apply(&self, observed: &Observed, plan: Plan) -> Outcome<ClusterClass> {
        self.execute(observed, plan).await
    }

    fn observed_generation(class: &mut ClusterClass) -> Option<&mut Option<i64>> {
        Some(&mut class.status.get_or_insert_default().observed_generation)
    }
}
