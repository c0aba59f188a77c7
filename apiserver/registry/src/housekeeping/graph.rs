//! The graph of owners and dependents: contains all objects by UID, and determines the garbage collector's actions.
//! Does no I/O.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use store::Key;

use super::misplaced::{self, Misplaced};
use crate::storage::outline::{Outline, Owner};
use crate::versions::definitions::Definitions;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// An object with its owner references and the state of its deletion.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) key: Key,
    pub(super) owners: Vec<Owner>,
    pub(super) deleting: bool,
    pub(super) orphan: bool,
    pub(super) foreground: bool,
}

/// What the garbage collector does to one object. An object with another UID that has its key is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) key: Key,
    pub(crate) uid: String,
    pub(crate) action: Action,
}

/// An action of the garbage collector on one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Delete the object, if it still has these owner references.
    Delete { foreground: bool, owners: Vec<Owner> },
    /// Remove the owner references with these UIDs.
    Disown { uids: BTreeSet<String> },
    /// Set `blockOwnerDeletion` to false in the owner references with these UIDs.
    Unblock { uids: BTreeSet<String> },
    /// Remove this finalizer, because its work is complete.
    Release { finalizer: &'static str },
}

/// The graph of all objects.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub(super) nodes: BTreeMap<String, Node>,
    dependents: BTreeMap<String, BTreeSet<String>>,
    uids: BTreeMap<Key, String>,
    /// The UIDs of objects with which a ring may have closed ([`Graph::open_rings`]).
    pub(super) ring_ends: BTreeSet<String>,
    /// Owner references to another namespace that were found since the last report.
    pub(super) misplaced: Vec<Misplaced>,
}

impl Graph {
    /// Returns the UIDs of all objects.
    pub(crate) fn uids(&self) -> BTreeSet<String> {
        self.nodes.keys().cloned().collect()
    }

    /// Adds or replaces an object. Returns the UIDs of objects for which an action may have become necessary.
    pub(crate) fn upsert(&mut self, key: &Key, outline: &Outline) -> BTreeSet<String> {
        let uid = outline.uid.to_string();
        let mut affected = BTreeSet::new();
        if self.uids.get(key).is_some_and(|old| *old != uid) {
            affected.extend(self.remove(key));
        }
        let has = |name: &str| outline.finalizers.iter().any(|finalizer| finalizer == name);
        let node = Node {
            key: key.clone(),
            deleting: outline.is_deleting,
            orphan: has(ORPHAN),
            foreground: has(FOREGROUND),
            owners: outline.owners.to_vec(),
        };
        for owner in &node.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(uid.clone());
        }
        let waits = node.deleting && (node.foreground || node.orphan);
        let owned = !node.owners.is_empty();
        let before = self.nodes.insert(uid.clone(), node);
        self.uids.insert(key.clone(), uid.clone());
        if before.as_ref().is_none_or(|before| before.owners != self.nodes[&uid].owners) {
            let found = misplaced::found(self, &uid, before.as_ref().map(|before| &*before.owners));
            self.misplaced.extend(found);
        }
        let was_waiting = before.as_ref().is_some_and(|before| before.deleting && before.foreground);
        if waits
            && (!was_waiting
                || before.as_ref().is_some_and(|before| before.owners != self.nodes[&uid].owners))
        {
            self.ring_ends.insert(uid.clone());
        }
        if let Some(before) = before.filter(|before| before.owners != self.nodes[&uid].owners) {
            let now: HashSet<String> =
                self.nodes[&uid].owners.iter().map(|owner| owner.uid.clone()).collect();
            let uids = before.owners.iter().map(|owner| &owner.uid);
            let gone: Vec<String> = uids.filter(|owner| !now.contains(*owner)).cloned().collect();
            for owner in gone {
                self.unlink(&owner, &uid);
                affected.insert(owner);
            }
            // Owner references that are new or changed, for example in `blockOwnerDeletion`.
            let before: HashSet<&Owner> = before.owners.iter().collect();
            let changed = self.nodes[&uid].owners.iter().filter(|owner| !before.contains(owner));
            affected.extend(changed.map(|owner| owner.uid.clone()));
        }
        if waits {
            if !was_waiting {
                affected.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
            }
            affected.insert(uid.clone());
        }
        if owned {
            affected.insert(uid);
        }
        affected
    }

    /// Removes an object. Returns the UIDs of objects for which an action may have become necessary.
    pub(crate) fn remove(&mut self, key: &Key) -> BTreeSet<String> {
        let Some(uid) = self.uids.remove(key) else { return BTreeSet::new() };
        let mut affected: BTreeSet<String> = self.dependents.get(&uid).cloned().unwrap_or_default();
        if let Some(node) = self.nodes.remove(&uid) {
            for owner in &node.owners {
                self.unlink(&owner.uid, &uid);
                affected.insert(owner.uid.clone());
            }
        }
        affected
    }

    fn unlink(&mut self, owner: &str, dependent: &str) {
        if let Some(dependents) = self.dependents.get_mut(owner) {
            dependents.remove(dependent);
            if dependents.is_empty() {
                self.dependents.remove(owner);
            }
        }
    }

    /// Returns the UIDs of the objects that have this owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &String> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Returns the UIDs in the owner references of an object.
    pub(crate) fn owners(&self, uid: &str) -> impl Iterator<Item = String> {
        self.nodes.get(uid).into_iter().flat_map(|node| node.owners.iter().map(|owner| owner.uid.clone()))
    }

    /// Returns the steps that are necessary for an object.
    pub(crate) fn plan(&self, uid: &str, definitions: &Definitions) -> Vec<Step> {
        let Some(node) = self.nodes.get(uid) else { return Vec::new() };
        if !node.deleting {
            return self.plan_owned(uid, node, definitions).into_iter().collect();
        }
        if node.orphan {
            self.plan_orphans(uid, node)
        } else if node.foreground && self.blockers(uid, definitions).next().is_none() {
            vec![step(uid, node, Action::Release { finalizer: FOREGROUND })]
        } else {
            Vec::new()
        }
    }

    fn plan_orphans(&self, uid: &str, node: &Node) -> Vec<Step> {
        let uids = BTreeSet::from([uid.to_owned()]);
        let dependents = self.dependents.get(uid).into_iter().flatten();
        let mut steps: Vec<Step> = dependents
            .filter_map(|dependent| Some((dependent, self.nodes.get(dependent)?)))
            .map(|(uid, dependent)| step(uid, dependent, Action::Disown { uids: uids.clone() }))
            .collect();
        if steps.is_empty() {
            steps.push(step(uid, node, Action::Release { finalizer: ORPHAN }));
        }
        steps
    }

    /// Returns the UIDs of the dependents for which the foreground deletion of an object waits. A reference that never resolves, for
    /// example that of a cluster-scoped object to a namespaced one, delays nothing: such a dependent is never deleted.
    pub(super) fn blockers<'a>(
        &'a self,
        uid: &'a str,
        definitions: &'a Definitions,
    ) -> impl Iterator<Item = &'a String> {
        self.dependents.get(uid).into_iter().flatten().filter(move |dependent| {
            let node = self.nodes.get(*dependent);
            node.is_some_and(|node| {
                node.owners.iter().any(|owner| {
                    owner.uid == uid
                        && owner.block_owner_deletion == Some(true)
                        && !matches!(self.standing(node, owner, definitions), Standing::Solid)
                })
            })
        })
    }

    fn plan_owned(&self, uid: &str, node: &Node, definitions: &Definitions) -> Option<Step> {
        let mut solid = 0;
        let mut gone = BTreeSet::new();
        let mut waits = false;
        for owner in &node.owners {
            match self.standing(node, owner, definitions) {
                Standing::Solid => solid += 1,
                Standing::Waiting => {
                    waits = true;
                    gone.insert(owner.uid.clone());
                }
                Standing::Gone => {
                    gone.insert(owner.uid.clone());
                }
            }
        }
        if gone.is_empty() {
            return None;
        }
        let action = if solid > 0 {
            Action::Disown { uids: gone }
        } else {
            let foreground = node.foreground || (waits && self.dependents.contains_key(uid));
            Action::Delete { foreground, owners: node.owners.clone() }
        };
        Some(step(uid, node, action))
    }

    fn standing(&self, node: &Node, owner: &Owner, definitions: &Definitions) -> Standing {
        let (group, _) = machinery::meta::group_version(&owner.api_version);
        // The kind of the owner may be served later, so the dependents stay.
        let Some(definition) = definitions.by_kind(group, &owner.kind) else { return Standing::Solid };
        // A cluster-scoped object cannot have a namespaced owner: such a reference never resolves.
        if definition.namespaced && node.key.namespace().is_none() {
            return Standing::Solid;
        }
        let Some(found) = self.nodes.get(&owner.uid) else { return Standing::Gone };
        let (group, plural) = crate::storage::keys::home(definition);
        let same_kind = found.key.group() == group && found.key.resource() == plural;
        let same_place = !definition.namespaced || found.key.namespace() == node.key.namespace();
        if !same_kind || !same_place || found.key.name() != owner.name {
            return Standing::Gone;
        }
        if found.deleting && found.foreground { Standing::Waiting } else { Standing::Solid }
    }
}

pub(super) fn step(uid: &str, node: &Node, action: Action) -> Step {
    Step { key: node.key.clone(), uid: uid.to_owned(), action }
}

enum Standing {
    /// The owner exists.
    Solid,
    /// The owner waits for its dependents to be deleted.
    Waiting,
    /// The owner does not exist.
    Gone,
}
