//! What there is at the source: kinds once, objects as often as asked.

use std::collections::{BTreeSet, HashMap};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::graph::{Facts, Graph, Node, Scope};
use crate::kinds::{self, Definition, Kind};
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::{Key, Object};
use crate::plan::Plan;
use crate::preflight::{Finding, unsteady};
use crate::server::{Page, Server};

/// A provider of clusterctl's inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Where it is installed.
    pub namespace: String,
    /// `infrastructure-vsphere`
    pub name: String,
    /// `InfrastructureProvider`
    pub kind: String,
    /// `v1.14.0`
    pub version: String,
}

impl Provider {
    /// Whether both are the same provider, whatever their versions.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind
    }
}

/// What does not change during a pivot.
pub struct Discovery {
    /// The kinds that are looked at.
    pub kinds: Vec<Kind>,
    /// Their definitions.
    pub definitions: Vec<Definition>,
    /// Its providers.
    pub providers: Vec<Provider>,
}

/// An object of the source that moves.
pub struct Item {
    /// The object.
    pub object: Object,
    /// Which of [`Discovery::kinds`].
    pub kind: usize,
    /// Changes when something changes that must arrive.
    pub fingerprint: u64,
    /// Why it has to wait, if it has.
    pub held: Option<Held>,
}

/// Why an object cannot be copied yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A provider holds it back.
    Blocked,
    /// Its provider makes ready what it hands over.
    HandsOver,
}

impl Held {
    /// From an object, or its metadata alone.
    pub fn of(object: &Value) -> Option<Self> {
        let annotation = |name: &str| object["metadata"]["annotations"].get(name);
        if annotation(names::BLOCK_MOVE).is_some() {
            return Some(Self::Blocked);
        }
        annotation(names::HAND_OVER).filter(|state| *state != names::HAND_OVER_READY).map(|_| Self::HandsOver)
    }
}

/// Everything that there is, at one time.
#[derive(Default)]
pub struct Inventory {
    /// What moves.
    pub items: HashMap<Key, Item>,
    /// In which order, and what stays.
    pub plan: Plan,
    /// Clusters and Machines that are not at rest.
    pub unsteady: Vec<Finding>,
    /// Owners that are not at the source, or do not move: `object: owner`.
    pub lost_owners: Vec<(Key, String)>,
}

/// What tells two inventories apart, without the objects' texts: one inventory in memory is enough.
pub struct Summary {
    plan: Plan,
    fingerprints: HashMap<Key, u64>,
}

impl Inventory {
    /// Forgets the objects, but not what they were like.
    pub fn into_summary(self) -> Summary {
        let fingerprints = self.items.into_iter().map(|(key, item)| (key, item.fingerprint)).collect();
        Summary { plan: self.plan, fingerprints }
    }

    /// Whether nothing that must arrive has changed since `before`.
    pub fn is_same(&self, before: &Summary) -> bool {
        self.plan == before.plan
            && self.items.iter().all(|(key, item)| before.fingerprints.get(key) == Some(&item.fingerprint))
    }

    /// Clusters and ClusterClasses that are paused: those that the source does not keep.
    pub fn roots(&self) -> impl Iterator<Item = &Item> {
        let pausable = |key: &Key| key.is_cluster() || key.is_class();
        self.plan
            .steps()
            .filter(move |step| step.kept.is_none() && pausable(&step.object))
            .filter_map(|step| self.items.get(&step.object))
    }
}

impl Discovery {
    /// Reads it from `server`.
    ///
    /// # Errors
    /// Where the server refuses.
    pub async fn read(server: &Server) -> Result<Self> {
        let (definitions, providers) = futures::try_join!(kinds::definitions(server), providers(server))?;
        Ok(Self { kinds: kinds::kinds(&definitions), definitions, providers })
    }

    /// The scope of a pivot of `namespace`.
    pub fn scope(&self, namespace: &str) -> Scope {
        let infrastructure =
            self.providers.iter().filter(|provider| provider.kind == "InfrastructureProvider");
        let provider_namespaces = infrastructure.map(|provider| provider.namespace.clone()).collect();
        Scope { namespace: namespace.into(), provider_namespaces }
    }

    /// Reads all objects of the scope.
    ///
    /// # Errors
    /// Where the server refuses.
    pub async fn inventory(&self, server: &Server, scope: &Scope) -> Result<Inventory> {
        let mut places: Vec<(usize, String)> =
            (0..self.kinds.len()).map(|kind| (kind, scope.namespace.clone())).collect();
        let secrets = self.kinds.iter().position(|kind| kind.is("", "Secret"));
        if let (Some(secrets), false) = (secrets, scope.namespace.is_empty()) {
            let elsewhere = scope.provider_namespaces.iter().filter(|name| **name != scope.namespace);
            places.extend(elsewhere.map(|namespace| (secrets, namespace.clone())));
        }
        let mut reading = self.read_all(server, places).await?;
        if !scope.namespace.is_empty() {
            let more = self.elsewhere(&reading, scope);
            reading.extend(self.read_all(server, more).await?);
        }
        Ok(self.assemble(reading, scope))
    }

    /// Where classes of other namespaces stand, with their templates; and all Clusters, since others may use the same classes.
    fn elsewhere(&self, reading: &[Found], scope: &Scope) -> Vec<(usize, String)> {
        let classes: BTreeSet<&str> = reading
            .iter()
            .filter_map(|found| found.node.facts.class.as_ref())
            .map(|class| class.namespace.as_str())
            .filter(|namespace| *namespace != scope.namespace)
            .collect();
        let uses_classes = reading.iter().any(|found| found.node.key.is_class()) || !classes.is_empty();
        let mut places = Vec::new();
        for (index, kind) in self.kinds.iter().enumerate() {
            if uses_classes && kind.is(names::CLUSTER_GROUP, "Cluster") {
                places.push((index, String::new()));
            }
            if kind.is(names::CLUSTER_GROUP, "ClusterClass") || kind.kind.ends_with("Template") {
                places.extend(classes.iter().map(|namespace| (index, (*namespace).to_owned())));
            }
        }
        places
    }

    async fn read_all(&self, server: &Server, places: Vec<(usize, String)>) -> Result<Vec<Found>> {
        let reading: Vec<BoxFuture<'_, Result<Vec<Found>>>> = places
            .into_iter()
            .map(|(kind, namespace)| self.read_kind(server, kind, namespace).boxed())
            .collect();
        let all: Vec<Vec<Found>> = stream::iter(reading).buffered(limits::IN_FLIGHT).try_collect().await?;
        Ok(all.into_iter().flatten().collect())
    }

    async fn read_kind(&self, server: &Server, index: usize, namespace: String) -> Result<Vec<Found>> {
        let kind = &self.kinds[index];
        let what = format!("list {}", kind.resource());
        let path = kind.path(&namespace);
        let mut all = Vec::new();
        let mut last: Option<Page> = None;
        while let Some(mut page) = server.page(&what, &path, last.as_ref()).await? {
            for item in std::mem::take(&mut page.items) {
                let unreadable = |source| Error::Answer { server: server.role(), what: what.clone(), source };
                let (object, value) = Object::parse(kind, item.get()).map_err(unreadable)?;
                all.push(Found::new(kind, index, object, value));
            }
            last = Some(page);
        }
        Ok(all)
    }

    /// What follows from objects that were read.
    pub(crate) fn assemble(&self, reading: Vec<Found>, scope: &Scope) -> Inventory {
        let mut seen = BTreeSet::new();
        let reading: Vec<Found> =
            reading.into_iter().filter(|found| seen.insert(found.node.uid.clone())).collect();
        let (nodes, rest): (Vec<Node>, Vec<_>) =
            reading.into_iter().map(|found| (found.node, (found.item, found.unsteady))).unzip();
        let graph = Graph::build(nodes, scope);
        let mut inventory = Inventory { plan: Plan::of(&graph), ..Inventory::default() };
        let moving: BTreeSet<&str> = (0..graph.nodes.len())
            .filter(|index| graph.moves(*index))
            .map(|index| graph.nodes[index].uid.as_str())
            .collect();
        for (index, (item, unsteady)) in rest.into_iter().enumerate() {
            if !graph.moves(index) {
                continue;
            }
            let node = &graph.nodes[index];
            let lost = node.facts.owners.iter().filter(|owner| !moving.contains(owner.uid.as_str()));
            inventory.lost_owners.extend(lost.map(|owner| (node.key.clone(), owner.name.clone())));
            inventory.unsteady.extend(unsteady);
            inventory.items.insert(node.key.clone(), item);
        }
        inventory
    }
}

/// An object with what it says.
pub(crate) struct Found {
    node: Node,
    item: Item,
    unsteady: Vec<Finding>,
}

impl Found {
    fn new(kind: &Kind, index: usize, object: Object, value: Value) -> Self {
        let facts = Facts::of(kind, &object.key, &value);
        let held = Held::of(&value);
        let unsteady = unsteady(&object.key, &value);
        let node = Node { key: object.key.clone(), uid: object.uid.clone(), facts };
        let item = Item { object, kind: index, fingerprint: fingerprint(value), held };
        Self { node, item, unsteady }
    }

    /// An object of a directory: it moves whatever it says.
    pub(crate) fn saved(kind: &Kind, index: usize, (object, value): (Object, Value)) -> Self {
        let mut found = Self::new(kind, index, object, value);
        found.node.facts.moves = true;
        found.unsteady.clear();
        found
    }
}

/// The providers of clusterctl's inventory; none where there is no inventory.
///
/// # Errors
/// Where the server refuses.
pub(crate) async fn providers(server: &Server) -> Result<Vec<Provider>> {
    let listed =
        server.list("list providers", &format!("/apis/{}/v1alpha3/providers", names::INVENTORY_GROUP)).await;
    let items = match listed {
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        listed => listed?,
    };
    let provider = |item: Box<serde_json::value::RawValue>| {
        let value: Value = serde_json::from_str(item.get()).ok()?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Some(Provider {
            namespace: text(&value["metadata"]["namespace"]),
            name: text(&value["metadata"]["name"]),
            kind: text(&value["type"]),
            version: text(&value["version"]),
        })
    };
    Ok(items.into_iter().filter_map(provider).collect())
}
