//! The inventory of the source: its kinds are read once, its objects each time they are needed.

use std::collections::{BTreeSet, HashMap};

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt, TryStreamExt};
use schemas::hand_over;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::finding::Finding;
use crate::graph::{Facts, Graph, Node, Scope};
use crate::kinds::{self, Definition, Kind};
use crate::limits;
use crate::names;
use crate::normal::fingerprint;
use crate::object::{Key, Object};
use crate::plan::Plan;
use crate::server::{Page, Server};
use crate::steady::unsteady;

/// A provider of clusterctl's inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The namespace in which it is installed.
    pub namespace: String,
    /// Its name with the prefix of its type, such as `infrastructure-vsphere`.
    pub name: String,
    /// Its type, such as `InfrastructureProvider`.
    pub kind: String,
    /// Its version, such as `v1.14.0`.
    pub version: String,
}

impl Provider {
    /// Returns whether both are the same provider, in any version.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind
    }
}

/// The part of a server that does not change during a pivot.
pub struct Discovery {
    /// The kinds that the pivot looks at.
    pub kinds: Vec<Kind>,
    /// The CustomResourceDefinitions.
    pub definitions: Vec<Definition>,
    /// The server's providers.
    pub providers: Vec<Provider>,
}

/// An object of the source that moves.
pub struct Item {
    /// The object.
    pub object: Object,
    /// Index in [`Discovery::kinds`].
    pub kind: usize,
    /// Changes if a part of the object changes that must arrive at the target.
    pub fingerprint: u64,
    /// The reason why it cannot be copied yet; `None` if it can.
    pub held: Option<Held>,
}

/// The reason why an object cannot be copied yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// A provider blocks it with an annotation.
    Blocked,
    /// Its provider is still preparing the data that it hands over.
    HandsOver,
}

impl Held {
    /// Reads the reason from an object of the kind, or from its metadata alone; `None` if the object can be copied.
    pub fn of(kind: &Kind, object: &Value) -> Option<Self> {
        let annotations = &object["metadata"]["annotations"];
        if annotations.get(names::BLOCK_MOVE).is_some() {
            return Some(Self::Blocked);
        }
        let annotation = |name: &str| annotations.get(name)?.as_str();
        let waits = kind.hands_over && annotation(names::HAND_OVER) != Some(hand_over::READY);
        (waits || hand_over::is_held_here(annotation)).then_some(Self::HandsOver)
    }
}

/// All objects of the source at one time.
#[derive(Default)]
pub struct Inventory {
    /// The objects that move.
    pub items: HashMap<Key, Item>,
    /// The order in which they move, and the objects that stay.
    pub plan: Plan,
    /// The reasons why Clusters, Machines and objects that are being deleted are not ready to move.
    pub unsteady: Vec<Finding>,
    /// Owners that do not exist at the source or do not move: the object, and `Kind name` of the owner.
    pub lost_owners: Vec<(Key, String)>,
}

/// The fingerprints of an inventory, for a comparison with a later one. They lack the objects' texts, so that only one inventory is in
/// memory at a time.
pub struct Summary {
    plan: Plan,
    fingerprints: HashMap<Key, u64>,
}

impl Inventory {
    /// Drops the objects but keeps their fingerprints.
    pub fn into_summary(self) -> Summary {
        let fingerprints = self.items.into_iter().map(|(key, item)| (key, item.fingerprint)).collect();
        Summary { plan: self.plan, fingerprints }
    }

    /// Returns whether everything that must arrive is the same as in `before`.
    pub fn is_same(&self, before: &Summary) -> bool {
        self.plan == before.plan
            && self.items.iter().all(|(key, item)| before.fingerprints.get(key) == Some(&item.fingerprint))
    }

    /// Providers hand over when a Cluster is about to move: nobody does where none moves.
    fn release_without_cluster(&mut self) {
        let clusters = self.items.keys().filter(|key| key.is_cluster());
        let namespaces: BTreeSet<String> = clusters.map(|key| key.namespace.clone()).collect();
        let items = self.items.iter_mut().filter(|(key, _)| !namespaces.contains(&key.namespace));
        for (_, item) in items.filter(|(_, item)| item.held == Some(Held::HandsOver)) {
            item.held = None;
        }
    }

    /// Returns the Clusters and ClusterClasses to pause: those that the source does not keep.
    pub fn roots(&self) -> impl Iterator<Item = &Item> {
        let pausable = |key: &Key| key.is_cluster() || key.is_class();
        self.plan
            .steps()
            .filter(move |step| step.kept.is_none() && pausable(&step.object))
            .filter_map(|step| self.items.get(&step.object))
    }
}

impl Discovery {
    /// Reads kinds, definitions and providers from `server`.
    ///
    /// # Errors
    /// The server refuses the request or cannot be reached.
    pub async fn read(server: &Server) -> Result<Self> {
        let (definitions, providers) = futures::try_join!(kinds::definitions(server), providers(server))?;
        Ok(Self { kinds: kinds::kinds(&definitions), definitions, providers })
    }

    /// Reads all objects of the scope.
    ///
    /// # Errors
    /// The server refuses the request or cannot be reached.
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

    /// Further places to list: the namespaces of classes in other namespaces, with their templates; and all Clusters, because others
    /// may use the same classes.
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

    /// Makes an inventory from objects that were read.
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
        inventory.release_without_cluster();
        inventory
    }
}

/// An object and the facts in its content.
pub(crate) struct Found {
    node: Node,
    item: Item,
    unsteady: Vec<Finding>,
}

impl Found {
    fn new(kind: &Kind, index: usize, object: Object, value: Value) -> Self {
        let facts = Facts::of(kind, &object.key, &value);
        let held = Held::of(kind, &value);
        let unsteady = unsteady(&object.key, &value);
        let node = Node { key: object.key.clone(), uid: object.uid.clone(), facts };
        let item = Item { object, kind: index, fingerprint: fingerprint(value), held };
        Self { node, item, unsteady }
    }

    /// Returns an object from a directory, which moves whatever its content says.
    pub(crate) fn saved(kind: &Kind, index: usize, (object, value): (Object, Value)) -> Self {
        let mut found = Self::new(kind, index, object, value);
        found.node.facts.moves = true;
        found.unsteady.clear();
        found
    }
}

/// Returns the providers in clusterctl's inventory; an empty list if there is no inventory.
///
/// # Errors
/// The server refuses the request or cannot be reached.
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
