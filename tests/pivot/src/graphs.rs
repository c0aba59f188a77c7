//! Random graphs of objects in several namespaces. They contain several owners per object, cycles of owners,
//! missing owners, owners that do not move, ClusterClasses shared by Clusters of several namespaces,
//! cluster-scoped objects and unrelated objects.

use anyhow::{Context, Result};
use machinery::random::Random;
use serde_json::{Map, Value, json};
use store::{Key, Operation};

use crate::outcome::{Objects, content};
use crate::place::Place;

/// Builds graphs from copies of the objects of a real cluster, so that every server accepts them.
pub struct Graphs {
    patterns: Objects,
}

/// The namespaces of Clusters and their dependents. A pivot of one namespace moves the first one.
pub const NAMESPACES: &[&str] = &["default", "other"];
/// Another namespace for ClusterClasses.
pub const CLASSES: &str = "classes";

/// Kinds of the dependents of a Cluster, each as a part of the key.
const DEPENDENTS: &[&str] = &[
    "cluster.x-k8s.io/machines/",
    "/machinesets/",
    "/machinedeployments/",
    "/kubeadmconfigs/",
    "/kubeadmconfigtemplates/",
    "/devmachines/",
    "/devmachinetemplates/",
    "/secrets/default/token-of-c0",
    "/configmaps/default/stranger",
];

/// A graph under construction.
struct Graph<'a> {
    patterns: &'a Objects,
    random: &'a Random,
    made: Vec<(String, Value)>,
    /// Names and namespaces of the ClusterClasses.
    classes: Vec<(String, &'static str)>,
}

impl Graphs {
    /// Uses these objects as patterns.
    pub fn new(patterns: Objects) -> Self {
        Self { patterns: content(patterns) }
    }

    /// Writes a random graph to `place` in one transaction, so that no owner is missing unintentionally.
    ///
    /// # Errors
    /// The store rejects an object.
    pub async fn plant(&self, place: &Place, random: &Random) -> Result<()> {
        let mut graph = Graph { patterns: &self.patterns, random, made: Vec::new(), classes: Vec::new() };
        graph.grow()?;
        let mut operations = Vec::new();
        for (key, object) in graph.made {
            operations.push(Operation::create(Key::parse(&key)?, move |revision| {
                let mut object = object;
                object["metadata"]["resourceVersion"] = revision.to_string().into();
                object.to_string().into()
            }));
        }
        place.store.commit(operations).await?;
        Ok(())
    }
}

impl Graph<'_> {
    fn below(&self, bound: usize) -> usize {
        (self.random.number() % bound.max(1) as u64) as usize
    }

    fn chance(&self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn grow(&mut self) -> Result<()> {
        for number in 0..self.below(3) {
            self.class(number)?;
        }
        for number in 0..=self.below(3) {
            let namespace = NAMESPACES[if number == 0 { 0 } else { self.below(NAMESPACES.len()) }];
            self.family(number, namespace)?;
        }
        let strangers = self.below(4);
        for number in 0..strangers {
            let stranger =
                self.make("/configmaps/default/stranger", "default", &format!("stranger-{number}"), &[])?;
            let owned = self.below(self.made.len());
            if self.chance(30) && self.may_be_owned(owned) {
                self.own(stranger, owned);
            }
        }
        if self.chance(40) {
            let identity = self.identity();
            self.make("/secrets/default/stranger", "default", "credentials", &[identity])?;
        }
        Ok(())
    }

    /// Whether a stranger may own the object: it must be a dependent in the first namespace, which is the
    /// namespace of the strangers.
    fn may_be_owned(&self, index: usize) -> bool {
        let object = &self.made[index].1;
        object["metadata"]["ownerReferences"].is_array() && object["metadata"]["namespace"] == NAMESPACES[0]
    }

    /// A ClusterClass and a template that it owns.
    fn class(&mut self, number: usize) -> Result<()> {
        let (name, template) = (format!("class-{number}"), format!("template-{number}"));
        let namespace = if self.chance(50) { CLASSES } else { NAMESPACES[0] };
        let reference = |kind: &str, name: &str| {
            json!({"templateRef": {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "name": name}})
        };
        let mut object = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
            "metadata": {"name": name, "namespace": namespace, "uid": self.random.uid(),
                         "creationTimestamp": "2027-01-01T00:00:00Z", "generation": 1},
            "spec": {"controlPlane": reference("DevMachineTemplate", &template),
                     "infrastructure": reference("DevClusterTemplate", "missing")},
        });
        if self.chance(25) {
            object["metadata"]["annotations"] = json!({"cluster.x-k8s.io/paused": ""});
        }
        self.made.push((format!("/registry/cluster.x-k8s.io/clusterclasses/{namespace}/{name}"), object));
        let class = self.made.len() - 1;
        self.make("/devmachinetemplates/", namespace, &template, &[class])?;
        self.classes.push((name, namespace));
        Ok(())
    }

    /// A Cluster and its dependents.
    fn family(&mut self, number: usize, namespace: &'static str) -> Result<()> {
        let cluster =
            self.make("cluster.x-k8s.io/clusters/", namespace, &format!("cluster-{number}"), &[])?;
        if self.chance(25) {
            self.made[cluster].1["spec"]["paused"] = true.into();
        }
        if !self.classes.is_empty() && self.chance(60) {
            let (class, beside) = self.classes[self.below(self.classes.len())].clone();
            let mut reference = json!({"name": class});
            if beside != namespace || self.chance(50) {
                reference["namespace"] = beside.into();
            }
            self.made[cluster].1["spec"]["topology"] = json!({"classRef": reference, "version": "v1.35.0"});
        }
        let mut family = vec![cluster];
        for child in 0..self.below(9) {
            let owner = family[self.below(family.len())];
            let kind = DEPENDENTS[self.below(DEPENDENTS.len())];
            let index = self.make(kind, namespace, &format!("child-{number}-{child}"), &[owner])?;
            if self.chance(15) {
                self.own_by_missing(index);
            }
            family.push(index);
        }
        self.tangle(&family);
        if self.chance(30) {
            let name = format!("labelled-{number}");
            let labelled = self.make("/secrets/default/stranger", namespace, &name, &[])?;
            self.made[labelled].1["metadata"]["labels"] =
                json!({"cluster.x-k8s.io/cluster-name": format!("cluster-{number}")});
        }
        Ok(())
    }

    /// Adds an owner that does not exist, and whose kind does not exist either. A garbage collector ignores
    /// such references.
    fn own_by_missing(&mut self, owned: usize) {
        let reference =
            json!({"apiVersion": "gone.test/v1", "kind": "Gone", "name": "gone", "uid": self.random.uid()});
        self.add_owner(owned, reference);
    }

    fn identity(&mut self) -> usize {
        let name = "identity";
        let object = json!({
            "apiVersion": "graphs.test/v1", "kind": "Identity",
            "metadata": {"name": name, "uid": self.random.uid(), "creationTimestamp": "2027-01-01T00:00:00Z", "generation": 1},
            "spec": {"key": "value"},
        });
        self.made.push((format!("/registry/graphs.test/identities/{name}"), object));
        self.made.len() - 1
    }

    /// Copies a pattern to this name and namespace, with these owners.
    fn make(&mut self, part: &str, namespace: &str, name: &str, owners: &[usize]) -> Result<usize> {
        let pattern = self.patterns.iter().find(|(key, _)| key.contains(part));
        let (key, pattern) = pattern.with_context(|| format!("there is no pattern {part}"))?;
        let folder = key.rsplitn(3, '/').nth(2).unwrap_or_default();
        let key = format!("{folder}/{namespace}/{name}");
        let mut object = pattern.clone();
        let metadata = &mut object["metadata"];
        metadata["name"] = name.into();
        metadata["namespace"] = namespace.into();
        metadata["uid"] = self.random.uid().into();
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("ownerReferences");
            metadata.remove("finalizers");
            for (field, name) in [("labels", "label"), ("annotations", "annotation")] {
                let mut entries = self.entries(name);
                if let Some(Value::Object(known)) = metadata.remove(field) {
                    entries.extend(known);
                }
                // A server does not store empty maps.
                if !entries.is_empty() {
                    metadata.insert(field.into(), entries.into());
                }
            }
            if self.chance(30) {
                metadata.insert("finalizers".into(), json!(["graphs.test/held"]));
            }
        }
        self.made.push((key, object));
        let index = self.made.len() - 1;
        owners.iter().for_each(|owner| self.own(*owner, index));
        Ok(index)
    }

    fn entries(&self, name: &str) -> Map<String, Value> {
        let entry = |number| (format!("graphs.test/{name}-{number}"), Value::from("value"));
        (0..self.below(3)).map(entry).collect()
    }

    fn own(&mut self, owner: usize, owned: usize) {
        let object = &self.made[owner].1;
        let reference = json!({
            "apiVersion": object["apiVersion"], "kind": object["kind"],
            "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
        });
        self.add_owner(owned, reference);
    }

    fn add_owner(&mut self, owned: usize, reference: Value) {
        let owners = &mut self.made[owned].1["metadata"]["ownerReferences"];
        if !owners.is_array() {
            *owners = json!([]);
        }
        if let Some(owners) = owners.as_array_mut()
            && !owners.iter().any(|known| known["uid"] == reference["uid"])
        {
            owners.push(reference);
        }
    }

    /// Adds further owners; an owner may also be a dependent of the object.
    fn tangle(&mut self, family: &[usize]) {
        for _ in 0..self.below(4) {
            let (owner, owned) = (family[self.below(family.len())], family[self.below(family.len())]);
            if owner != owned && owned != family[0] {
                self.own(owner, owned);
            }
        }
    }
}
