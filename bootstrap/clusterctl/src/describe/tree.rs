//! Arranges objects in a tree.

use serde_json::Value;

use super::conditions::{self, Condition};
use super::group::{self, Group};
use super::options::Options;
use super::snapshot::{Reference, Snapshot};

const CLUSTER: &str = "cluster.x-k8s.io";

/// The content of a node, from which its row is written.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// An object of a kind of Cluster API.
    Known(Value),
    /// An object of a provider.
    Provided(Value),
    /// A control plane and the contract that it implements.
    ControlPlane(Value, String),
    /// An object that the snapshot does not contain: only its name is known, from a reference.
    Named,
    /// A heading.
    Title(String),
    /// Several objects in the same state.
    Group(Group),
}

/// The conditions of a node that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Nothing,
    All,
    /// `Available`, `Ready`, and the conditions that need attention.
    NonZero,
}

/// A row and the rows below it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub content: Content,
    pub conditions: Vec<Condition>,
    pub filter: Filter,
    /// Nodes with a higher number come first.
    pub order: u8,
    /// Whether children in the same state are shown in one row.
    pub grouping: bool,
    pub children: Vec<Node>,
}

impl Node {
    pub fn condition(&self, name: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.name == name)
    }

    pub fn object(&self) -> Option<&Value> {
        match &self.content {
            Content::Known(object) | Content::Provided(object) | Content::ControlPlane(object, _) => {
                Some(object)
            }
            _ => None,
        }
    }
}

/// Returns the tree of a cluster, or `None` if the cluster does not exist.
pub(super) fn build(snapshot: &Snapshot, namespace: &str, name: &str, options: &Options) -> Option<Node> {
    let reference = Reference { group: CLUSTER.into(), kind: "Cluster".into(), name: name.into() };
    let cluster = snapshot.get(&reference, namespace)?;
    let builder = Builder { snapshot, namespace, cluster: name, options };
    let mut root = builder.node(cluster, Content::Known(cluster.clone()));
    builder.infrastructure(cluster, &mut root);
    if options.resource_sets {
        builder.resource_sets(&mut root);
    }
    let machines = builder.machines();
    let (of_control_plane, workers): (Vec<&Value>, Vec<&Value>) = machines
        .into_iter()
        .partition(|machine| machine["metadata"]["labels"].get(format!("{CLUSTER}/control-plane")).is_some());
    let mut seen: Vec<&Value> = Vec::new();
    if let Some(mut control_plane) = builder.control_plane(cluster) {
        for machine in &of_control_plane {
            builder.machine(&mut control_plane, machine);
            seen.push(machine);
        }
        root.children.push(control_plane);
    }
    let pools: Vec<&Value> = builder.labelled("MachinePool").collect();
    if !workers.is_empty() || !pools.is_empty() {
        let all: Vec<&Value> = workers.iter().chain(&of_control_plane).copied().collect();
        root.children.push(builder.workers(&all, &pools, &mut seen));
    }
    Some(root)
}

struct Builder<'a> {
    snapshot: &'a Snapshot,
    namespace: &'a str,
    cluster: &'a str,
    options: &'a Options,
}

impl<'a> Builder<'a> {
    fn labelled(&self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        let (cluster, namespace) = (self.cluster, self.namespace);
        self.snapshot.of_kind(CLUSTER, kind).filter(move |object| {
            object["metadata"]["labels"][format!("{CLUSTER}/cluster-name")] == cluster
                && object["metadata"]["namespace"] == namespace
        })
    }

    fn machines(&self) -> Vec<&'a Value> {
        self.labelled("Machine").collect()
    }

    fn node(&self, object: &Value, content: Content) -> Node {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = matches!(content, Content::Known(_));
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        Node {
            filter: filter(&self.options.show_conditions, &kind, &name),
            kind,
            namespace: text("/metadata/namespace"),
            name,
            conditions: conditions::read(object, known, self.options.legacy),
            content,
            order: 0,
            grouping: false,
            children: Vec::new(),
        }
    }

    fn title(&self, kind: &str, title: &str, order: u8) -> Node {
        self.made(kind, title, Content::Title(title.to_owned()), order)
    }

    fn named(&self, reference: &Reference) -> Node {
        self.made(&reference.kind, &reference.name, Content::Named, 0)
    }

    fn made(&self, kind: &str, name: &str, content: Content, order: u8) -> Node {
        Node {
            filter: filter(&self.options.show_conditions, kind, name),
            kind: kind.to_owned(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            content,
            conditions: Vec::new(),
            order,
            grouping: false,
            children: Vec::new(),
        }
    }

    fn referred(&self, object: &Value, pointer: &str) -> Option<Node> {
        let reference = Reference::read(object.pointer(pointer))?;
        let found = self.snapshot.get(&reference, self.namespace)?;
        Some(self.node(found, Content::Provided(found.clone())))
    }

    fn infrastructure(&self, cluster: &Value, root: &mut Node) {
        root.children.extend(self.referred(cluster, "/spec/infrastructureRef"));
    }

    fn resource_sets(&self, root: &mut Node) {
        let reference = Reference {
            group: "addons.cluster.x-k8s.io".to_owned(),
            kind: "ClusterResourceSetBinding".to_owned(),
            name: self.cluster.to_owned(),
        };
        let Some(binding) = self.snapshot.get(&reference, self.namespace) else { return };
        let mut title = self.title("ClusterResourceSetGroup", "ClusterResourceSets", 0);
        for entry in binding.pointer("/spec/bindings").and_then(Value::as_array).into_iter().flatten() {
            let name = entry["clusterResourceSetName"].as_str().unwrap_or_default();
            title.children.push(self.made("ClusterResourceSet", name, Content::Named, 0));
        }
        root.children.push(title);
    }

    fn control_plane(&self, cluster: &Value) -> Option<Node> {
        let reference = Reference::read(cluster.pointer("/spec/controlPlaneRef"))?;
        let object = self.snapshot.get(&reference, self.namespace)?;
        let contract = self.snapshot.control_plane_contract.clone();
        let template = match contract.as_str() {
            "v1beta1" => "/spec/machineTemplate/infrastructureRef",
            _ => "/spec/machineTemplate/spec/infrastructureRef",
        };
        let mut node = self.node(object, Content::ControlPlane(object.clone(), contract));
        node.grouping = self.options.grouping;
        self.templates(&mut node, object, &[template]);
        Some(node)
    }

    fn templates(&self, node: &mut Node, object: &Value, pointers: &[&str]) {
        let found: Vec<Reference> =
            pointers.iter().filter_map(|pointer| Reference::read(object.pointer(pointer))).collect();
        if self.options.templates && !found.is_empty() {
            let mut title = self.title("TemplateGroup", "Templates", 1);
            title.children = found.iter().map(|reference| self.named(reference)).collect();
            node.children.push(title);
        }
    }

    /// Adds a machine and, if it has its own row, the objects that belong to it.
    fn machine(&self, parent: &mut Node, object: &Value) {
        let mut machine = self.node(object, Content::Known(object.clone()));
        for pointer in ["/spec/infrastructureRef", "/spec/bootstrap/configRef"] {
            self.echo(&mut machine, self.referred(object, pointer));
        }
        group::add(parent, machine);
    }

    /// Adds an object that belongs to a machine, unless it is ready or its state is the same as the machine's.
    fn echo(&self, machine: &mut Node, child: Option<Node>) {
        let Some(child) = child else { return };
        let (own, of_machine) = (child.condition("Ready"), machine.condition("Ready"));
        let ready = own.is_some_and(|ready| ready.status == "True");
        if self.options.echo || !(ready || conditions::same(own, of_machine)) {
            group::add(machine, child);
        }
    }

    fn workers(&self, machines: &[&'a Value], pools: &[&'a Value], seen: &mut Vec<&'a Value>) -> Node {
        let mut workers = self.title("WorkerGroup", "Workers", 0);
        if machines
            .iter()
            .any(|machine| machine["metadata"]["labels"].get(format!("{CLUSTER}/control-plane")).is_none())
        {
            for deployment in self.labelled("MachineDeployment") {
                workers.children.push(self.deployment(deployment, machines, seen));
            }
        }
        for pool in pools {
            let mut node = self.node(pool, Content::Known((*pool).clone()));
            node.grouping = self.options.grouping;
            for pointer in
                ["/spec/template/spec/bootstrap/configRef", "/spec/template/spec/infrastructureRef"]
            {
                self.echo(&mut node, self.referred(pool, pointer));
            }
            self.owned(&mut node, pool, machines, seen);
            workers.children.push(node);
        }
        let orphans: Vec<&Value> = machines
            .iter()
            .filter(|machine| !seen.iter().any(|known| std::ptr::eq(*known, **machine)))
            .copied()
            .collect();
        if !orphans.is_empty() {
            let mut other = self.title("OtherGroup", "Other", 0);
            orphans.iter().for_each(|machine| self.machine(&mut other, machine));
            workers.children.push(other);
        }
        workers
    }

    fn deployment(&self, object: &Value, machines: &[&'a Value], seen: &mut Vec<&'a Value>) -> Node {
        let mut node = self.node(object, Content::Known(object.clone()));
        node.grouping = self.options.grouping && !self.options.machine_sets;
        let pointers = ["/spec/template/spec/bootstrap/configRef", "/spec/template/spec/infrastructureRef"];
        self.templates(&mut node, object, &pointers);
        for set in self.labelled("MachineSet").filter(|set| controlled(set, object)) {
            if self.options.machine_sets {
                let mut below = self.node(set, Content::Known(set.clone()));
                below.grouping = self.options.grouping;
                self.owned(&mut below, set, machines, seen);
                group::add(&mut node, below);
            } else {
                self.owned(&mut node, set, machines, seen);
            }
        }
        node
    }

    fn owned(&self, node: &mut Node, owner: &Value, machines: &[&'a Value], seen: &mut Vec<&'a Value>) {
        for machine in machines.iter().filter(|machine| controlled(machine, owner)) {
            self.machine(node, machine);
            seen.push(machine);
        }
    }
}

/// Returns whether `owner` is the controller of `object`.
fn controlled(object: &Value, owner: &Value) -> bool {
    let references = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    references.into_iter().flatten().any(|reference| {
        reference["controller"] == true
            && reference["kind"] == owner["kind"]
            && reference["uid"] == owner["metadata"]["uid"]
    })
}

/// Returns the filter that `--show-conditions` sets for an object: that of the first entry that matches the object.
fn filter(list: &str, kind: &str, name: &str) -> Filter {
    for entry in list.split(',').filter(|entry| !entry.is_empty()) {
        let bare = entry.strip_suffix('+').unwrap_or(entry);
        let shown = if bare == entry { Filter::All } else { Filter::NonZero };
        let fits = match bare.split('/').collect::<Vec<_>>().as_slice() {
            [_] if bare.eq_ignore_ascii_case("all") => true,
            [of_kind, of_name] => of_kind.eq_ignore_ascii_case(kind) && of_name.eq_ignore_ascii_case(name),
            [of_kind, ..] => of_kind.trim_end_matches('+').eq_ignore_ascii_case(kind),
            [] => false,
        };
        if fits {
            return shown;
        }
    }
    Filter::Nothing
}
