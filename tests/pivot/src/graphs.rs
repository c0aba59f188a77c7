//! Random graphs of objects: owners, several of them, in circles, cluster-scoped; strangers. ClusterClasses are not among them as long as servers
//! refuse them, nor are owners that are missing: the garbage collector of the source takes care of these.

use anyhow::{Context, Result};
use machinery::random::Random;
use serde_json::{Map, Value, json};
use store::{Key, Operation};

use crate::outcome::{Objects, content};
use crate::place::Place;

/// Makes objects out of those of a cluster that was brought up: what they hold is accepted by every server.
pub struct Graphs {
    patterns: Objects,
}

/// A cluster-scoped kind whose objects move with what they own.
pub const IDENTITIES: &str = "identities.graphs.test";
const IDENTITY_PATH: &str = "/apis/graphs.test/v1/identities";

/// Kinds of what hangs below a Cluster, by a part of their keys.
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

/// One graph in the making.
struct Graph<'a> {
    patterns: &'a Objects,
    random: &'a Random,
    made: Vec<(String, Value)>,
}

impl Graphs {
    /// With these patterns.
    pub fn new(patterns: Objects) -> Self {
        Self { patterns: content(patterns) }
    }

    /// Puts a random graph into `place`, at once, so that no owner is missing which is not meant to be.
    ///
    /// # Errors
    /// Where the store refuses.
    pub async fn plant(&self, place: &Place, random: &Random) -> Result<()> {
        let mut graph = Graph { patterns: &self.patterns, random, made: Vec::new() };
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
        for number in 0..=self.below(3) {
            let cluster = self.make("cluster.x-k8s.io/clusters/", &format!("cluster-{number}"), &[])?;
            if self.chance(25) {
                self.made[cluster].1["spec"]["paused"] = true.into();
            }
            let mut family = vec![cluster];
            for child in 0..self.below(9) {
                let owner = family[self.below(family.len())];
                let kind = DEPENDENTS[self.below(DEPENDENTS.len())];
                let index = self.make(kind, &format!("child-{number}-{child}"), &[owner])?;
                family.push(index);
            }
            self.tangle(&family);
            if self.chance(30) {
                let labelled = self.make("/secrets/default/stranger", &format!("labelled-{number}"), &[])?;
                self.made[labelled].1["metadata"]["labels"] =
                    json!({"cluster.x-k8s.io/cluster-name": format!("cluster-{number}")});
            }
        }
        for number in 0..self.below(4) {
            self.make("/configmaps/default/stranger", &format!("stranger-{number}"), &[])?;
        }
        if self.chance(40) {
            let identity = self.identity();
            self.make("/secrets/default/stranger", "credentials", &[identity])?;
        }
        Ok(())
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

    /// Clones a pattern under another name and with these owners.
    fn make(&mut self, part: &str, name: &str, owners: &[usize]) -> Result<usize> {
        let pattern = self.patterns.iter().find(|(key, _)| key.contains(part));
        let (key, pattern) = pattern.with_context(|| format!("there is no pattern {part}"))?;
        let (folder, _) = key.rsplit_once('/').unwrap_or_default();
        let key = format!("{folder}/{name}");
        let mut object = pattern.clone();
        let metadata = &mut object["metadata"];
        metadata["name"] = name.into();
        metadata["uid"] = self.random.uid().into();
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.remove("ownerReferences");
            metadata.remove("finalizers");
            for (field, name) in [("labels", "label"), ("annotations", "annotation")] {
                let mut entries = self.entries(name);
                if let Some(Value::Object(known)) = metadata.remove(field) {
                    entries.extend(known);
                }
                // As a server keeps it: nothing that is empty.
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

    /// Further owners, of which some stand below.
    fn tangle(&mut self, family: &[usize]) {
        for _ in 0..self.below(4) {
            let (owner, owned) = (family[self.below(family.len())], family[self.below(family.len())]);
            if owner != owned && owned != family[0] {
                self.own(owner, owned);
            }
        }
    }
}

/// Serves identities at `place`.
///
/// # Errors
/// Where the server refuses.
pub async fn serve_identities(place: &Place) -> Result<()> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": IDENTITIES, "labels": {
            "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move-hierarchy": "",
        }},
        "spec": {
            "group": "graphs.test", "scope": "Cluster",
            "names": {"plural": "identities", "singular": "identity", "kind": "Identity", "listKind": "IdentityList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    post(place, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await
}

/// Makes the identity that graphs have, with something else in it.
///
/// # Errors
/// Where the server refuses.
pub async fn make_identity(place: &Place) -> Result<()> {
    let object = json!({
        "apiVersion": "graphs.test/v1", "kind": "Identity", "metadata": {"name": "identity"}, "spec": {"key": "its own"},
    });
    post(place, IDENTITY_PATH, &object).await
}

/// Creates an object.
///
/// # Errors
/// Where the server refuses.
pub async fn post(place: &Place, path: &str, object: &Value) -> Result<()> {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())?;
    place.plane.client("kubectl").request::<Value>(request).await?;
    Ok(())
}
