//! Computes the objects that a pivot must move and the objects that the source must keep, independently of
//! the implementation.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use crate::outcome::Objects;

/// The content of both servers before the pivot.
pub struct Before {
    /// Objects of the source.
    pub original: Objects,
    /// Objects of the target.
    pub foreign: Objects,
    /// The namespace that is moved; empty for all.
    pub namespace: &'static str,
}

/// Whether this is the key of a Cluster.
pub fn is_cluster(key: &str) -> bool {
    key.contains("/clusters/")
}

fn owned_by_any(object: &Value, uids: &HashSet<&Value>) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| uids.contains(&owner["uid"]))
}

impl Before {
    fn stands_elsewhere(&self, key: &str) -> bool {
        let namespace = &self.original[key]["metadata"]["namespace"];
        !self.namespace.is_empty() && namespace.is_string() && *namespace != self.namespace
    }

    /// The ClusterClass of a Cluster, if it exists.
    fn class(&self, cluster: &str) -> Option<&str> {
        let object = &self.original[cluster];
        let reference = &object["spec"]["topology"]["classRef"];
        let namespace = reference["namespace"].as_str().or(object["metadata"]["namespace"].as_str())?;
        let key =
            format!("/registry/cluster.x-k8s.io/clusterclasses/{namespace}/{}", reference["name"].as_str()?);
        self.original.get_key_value(&key).map(|(key, _)| key.as_str())
    }

    /// The UIDs of objects of the source.
    pub fn uids<'a>(&'a self, keys: &BTreeSet<&str>) -> HashSet<&'a Value> {
        keys.iter().map(|key| &self.original[*key]["metadata"]["uid"]).collect()
    }

    fn owned_by(&self, class: &str) -> Vec<&str> {
        let uids = self.uids(&BTreeSet::from([class]));
        let owned = self.original.iter().filter(|(_, object)| owned_by_any(object, &uids));
        owned.map(|(key, _)| key.as_str()).collect()
    }

    /// The objects that move, by the rules of clusterctl and by label.
    pub fn moving(&self) -> BTreeSet<&str> {
        let is_root = |key: &str| {
            ["/clusters/", "/clusterclasses/", "/identities/"].iter().any(|part| key.contains(part))
        };
        let keys = self.original.keys().map(String::as_str);
        let mut found: BTreeSet<&str> =
            keys.filter(|key| is_root(key) && !self.stands_elsewhere(key)).collect();
        loop {
            let uids = self.uids(&found);
            let moves = |object: &Value| {
                let metadata = &object["metadata"];
                let label = metadata["labels"]["cluster.x-k8s.io/cluster-name"].as_str();
                let namespace = metadata["namespace"].as_str().unwrap_or_default();
                let cluster =
                    label.map(|name| format!("/registry/cluster.x-k8s.io/clusters/{namespace}/{name}"));
                let labelled = cluster.is_some_and(|key| found.contains(key.as_str()));
                owned_by_any(object, &uids) || metadata["ownerReferences"].is_null() && labelled
            };
            let mut more: BTreeSet<&str> = self
                .original
                .iter()
                .filter(|(key, object)| !found.contains(key.as_str()) && moves(object))
                .map(|(key, _)| key.as_str())
                .collect();
            for class in found.iter().filter(|key| is_cluster(key)).filter_map(|key| self.class(key)) {
                more.extend(self.owned_by(class).into_iter().chain([class]));
            }
            more.retain(|key| !found.contains(key));
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    /// The moving objects that also remain at the source because other objects need them.
    pub fn kept(&self) -> BTreeSet<&str> {
        let moving = self.moving();
        let is_kept = |key: &&str| {
            key.contains("/identities/") || key.ends_with("/credentials") || self.stands_elsewhere(key)
        };
        let mut kept: BTreeSet<&str> = moving.iter().copied().filter(is_kept).collect();
        let staying = self.original.keys().filter(|key| is_cluster(key) && !moving.contains(key.as_str()));
        for class in staying.filter_map(|key| self.class(key)).filter(|class| moving.contains(class)) {
            kept.extend(self.owned_by(class).into_iter().chain([class]));
        }
        kept
    }
}
