//! The APIServices of the groups and versions that this server serves itself. They are always available.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use kinds::Subresource;
use kinds::definition::Definition;
use machinery::splice;
use serde::Deserialize;
use serde_json::json;
use store::{Event, EventKind};

use super::part::Part;
use crate::context::{Context, DeleteOptions, Input, PatchBody};
use crate::storage::{keys, outline};
use crate::verbs;
use crate::write::writes::Writes;

const GROUP: &str = "apiregistration.k8s.io";

/// The label that says how long an APIService is maintained.
const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";

/// Its value for the groups of custom resources, whose APIServices go with them.
const CUSTOM: &str = "true";

/// The priorities of the groups that have some of their own: those that come before others in discovery.
const PRIORITIES: [(&str, u32); 20] = [
    ("", 18000),
    ("apps", 17800),
    ("events.k8s.io", 17750),
    ("authentication.k8s.io", 17700),
    ("authorization.k8s.io", 17600),
    ("autoscaling", 17500),
    ("batch", 17400),
    ("certificates.k8s.io", 17300),
    ("networking.k8s.io", 17200),
    ("policy", 17100),
    ("rbac.authorization.k8s.io", 17000),
    ("storage.k8s.io", 16800),
    ("apiextensions.k8s.io", 16700),
    ("admissionregistration.k8s.io", 16700),
    ("scheduling.k8s.io", 16600),
    ("coordination.k8s.io", 16500),
    ("node.k8s.io", 16300),
    ("discovery.k8s.io", 16200),
    ("resource.k8s.io", 16200),
    ("flowcontrol.apiserver.k8s.io", 16100),
];

/// The priorities of the groups of custom resources, and of their versions.
const OTHERS: (u32, u32) = (1000, 100);

/// The changes after which the APIServices of custom resources may be others.
pub(crate) const PREFIX: &str = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

/// Creates the APIServices of the built-in groups that are missing.
pub(crate) async fn create(writes: &Writes) {
    let definitions = writes.versions().definitions();
    let built_in =
        definitions.iter().filter(|definition| definition.built_in && !definition.verbs.is_empty());
    let versions: BTreeSet<Version> = built_in.flat_map(|definition| versions(definition)).collect();
    let known = versions.iter().filter_map(|version| Some((version, priority(version)?)));
    join_all(known.map(|(version, priority)| ensure(writes, version, "onstart", priority))).await;
}

/// A group and one of its versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    group: String,
    version: String,
}

impl Version {
    fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }
}

fn versions(definition: &Definition) -> impl Iterator<Item = Version> {
    let served = definition.versions.iter().filter(|version| version.served);
    served.map(|version| Version { group: definition.group.clone(), version: version.name.clone() })
}

/// Returns the priorities of a built-in group and of its version; `None` for the group of APIServices itself.
fn priority(version: &Version) -> Option<(u32, u32)> {
    let (_, group) = PRIORITIES.iter().find(|(group, _)| *group == version.group)?;
    let within = match (version.group.as_str(), version.version.as_str()) {
        ("", _) => 1,
        ("autoscaling", "v2") => 30,
        ("flowcontrol.apiserver.k8s.io" | "resource.k8s.io", "v1") => 21,
        (_, "v1") => 15,
        _ => 9,
    };
    Some((*group, within))
}

/// Maintains the APIServices of custom resources.
pub(crate) struct Following {
    /// The versions of each CustomResourceDefinition.
    defined: BTreeMap<String, BTreeSet<Version>>,
    /// The versions that had an APIService at the last look.
    registered: BTreeSet<Version>,
}

impl Following {
    pub(crate) fn new(writes: &Writes) -> Self {
        let definitions = writes.versions().definitions();
        let custom = definitions.iter().filter(|definition| !definition.built_in);
        let defined = custom
            .map(|definition| {
                (format!("{}.{}", definition.plural, definition.group), versions(definition).collect())
            })
            .collect();
        let (stored, _) = writes.storage().range("/registry/apiregistration.k8s.io/apiservices/");
        let registered = stored.iter().filter_map(|stored| {
            let maintained = outline::of(stored)?.label(LABEL) == Some(CUSTOM);
            let (version, group) = stored.key.name().split_once('.').filter(|_| maintained)?;
            Some(Version { group: group.to_owned(), version: version.to_owned() })
        });
        Self { defined, registered: registered.collect() }
    }
}

/// The part of a CustomResourceDefinition that names its versions.
#[derive(Deserialize)]
struct Spec {
    group: String,
    versions: Vec<Declared>,
}

#[derive(Deserialize)]
struct Declared {
    name: String,
    served: bool,
}

impl Part for Following {
    fn observe(&mut self, _: &Writes, event: &Event) {
        let name = event.key().name().to_owned();
        let spec = splice::value(&event.object.value, "spec")
            .and_then(|spec| serde_json::from_slice::<Spec>(&spec).ok())
            .filter(|_| event.kind != EventKind::Deleted);
        let Some(Spec { group, versions }) = spec else {
            self.defined.remove(&name);
            return;
        };
        let served = versions.into_iter().filter(|version| version.served);
        let versions = served.map(|version| Version { group: group.clone(), version: version.name });
        self.defined.insert(name, versions.collect());
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        let wanted: BTreeSet<Version> = self.defined.values().flatten().cloned().collect();
        join_all(wanted.difference(&self.registered).map(|version| ensure(writes, version, CUSTOM, OTHERS)))
            .await;
        join_all(self.registered.difference(&wanted).map(|version| remove(writes, version))).await;
        self.registered = wanted;
        false
    }
}

/// Creates an APIService if it is missing, and then says that it is available.
async fn ensure(writes: &Writes, version: &Version, label: &str, (of_group, of_version): (u32, u32)) {
    let Some(served) = writes.versions().served(GROUP, "v1", "apiservices") else { return };
    let name = version.name();
    if writes.storage().get(&keys::object(&served.definition, "", &name)).is_some() {
        return;
    }
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": name, "labels": {LABEL: label}},
        "spec": {
            "group": version.group, "version": version.version,
            "groupPriorityMinimum": of_group, "versionPriority": of_version,
        },
    });
    let condition = json!({
        "type": "Available", "status": "True", "lastTransitionTime": writes.now(), "reason": "Local",
        "message": "Local APIServices are always available",
    });
    let status = PatchBody::Merge(json!({"status": {"conditions": [condition]}}).to_string().into());
    let done = async {
        let mut context = Context::start("kube-aggregator");
        verbs::create(writes, &mut context, &served, "", Input::new(service)).await?;
        verbs::patch(writes, &mut context, &served, "", &name, Subresource::Status, status).await
    };
    if let Err(status) = done.await
        && status.reason != "AlreadyExists"
    {
        tracing::warn!(name, %status, "an APIService could not be created");
    }
}

async fn remove(writes: &Writes, version: &Version) {
    let Some(served) = writes.versions().served(GROUP, "v1", "apiservices") else { return };
    let (name, options) = (version.name(), DeleteOptions::default());
    let mut context = Context::start("kube-aggregator");
    if let Err(status) = verbs::delete(writes, &mut context, &served, "", &name, &options).await
        && status.reason != "NotFound"
    {
        tracing::warn!(name, %status, "an APIService could not be deleted");
    }
}
