//! The graph of objects: which object owns which, what moves, what stays and why. Pure.
//!
//! The rules are those of `clusterctl move` (source: cluster-api v1.14, `cmd/clusterctl/client/cluster/objectgraph.go`). Objects that
//! move although those rules would leave them behind are marked [`Fate::Beyond`].

pub mod facts;

use std::collections::{BTreeSet, HashMap};

pub use facts::{Facts, Need, Owner};

use crate::names;
use crate::object::Key;

/// An object in the graph.
#[derive(Debug, Clone)]
pub struct Node {
    /// Group, kind, namespace and name.
    pub key: Key,
    /// Its identity at the source.
    pub uid: String,
    /// The relations that it states.
    pub facts: Facts,
}

/// The decision whether an object moves, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It moves by clusterctl's rules.
    Moves,
    /// It moves although clusterctl would leave it behind, with the reason.
    Beyond(&'static str),
    /// It stays, with the reason.
    Stays(&'static str),
}

/// The graph with the results for each node. All vectors have one entry per node.
#[derive(Debug, Default)]
pub struct Graph {
    /// The objects.
    pub nodes: Vec<Node>,
    /// For each node, the nodes that must be created before it: its owners, and the objects that clusterctl treats as its owners.
    pub before: Vec<Vec<usize>>,
    /// The decision for each node.
    pub fates: Vec<Fate>,
    /// Whether a node belongs to a cluster-scoped object: if it already exists at the target it is left alone, and it is not deleted at
    /// the source.
    pub shared_globally: Vec<bool>,
    /// Other reasons why the source keeps the object although it moves.
    pub kept: Vec<Option<&'static str>>,
}

/// The part of the source that moves.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Only objects in this namespace, and what they need, move; if empty, everything moves.
    pub namespace: String,
    /// Namespaces of infrastructure providers; the credentials of cluster-scoped identities are there.
    pub provider_namespaces: BTreeSet<String>,
}

const LABELLED: &str = "it names its Cluster by label or field";
const GOVERNS: &str = "it has a say in how Machines that move are drained";
const NEEDED: &str = "an object that moves names it";
/// Why an object stays that nothing which moves owns.
pub const UNOWNED: &str = "no Cluster, ClusterClass or ClusterResourceSet that moves owns it";
const DELETING: &str = "it is being deleted";
/// The source keeps objects that are in another namespace than the one that moves. The pivot of another namespace may already have
/// copied them.
pub const ELSEWHERE: &str = "it stands in another namespace than what moves";

impl Graph {
    /// Builds the graph of `nodes`, and decides which of them move.
    pub fn build(nodes: Vec<Node>, scope: &Scope) -> Self {
        let by_uid: HashMap<&str, usize> =
            nodes.iter().enumerate().map(|(index, node)| (node.uid.as_str(), index)).collect();
        let by_key: HashMap<&Key, usize> =
            nodes.iter().enumerate().map(|(index, node)| (&node.key, index)).collect();
        let mut before = vec![Vec::new(); nodes.len()];
        let mut owned = vec![Vec::new(); nodes.len()];
        let mut labelled = vec![Vec::new(); nodes.len()];
        let mut needed = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let facts = &node.facts;
            let owners = facts.owners.iter().filter_map(|owner| by_uid.get(owner.uid.as_str()).copied());
            let soft = facts.class.iter().chain(&facts.cluster).filter_map(|key| by_key.get(key).copied());
            for owner in owners.chain(soft).filter(|owner| *owner != index) {
                before[index].push(owner);
                owned[owner].push(index);
            }
            if let Some(cluster) = facts.labelled.as_ref().and_then(|key| by_key.get(key).copied()) {
                labelled[cluster].push((index, LABELLED));
            }
            if node.key.is(names::CLUSTER_GROUP, "MachineDrainRule") {
                let governed =
                    |found: &&Node| found.key.is_cluster() && found.key.namespace == node.key.namespace;
                for cluster in nodes.iter().filter(governed) {
                    labelled[by_key[&cluster.key]].push((index, GOVERNS));
                }
            }
            let needs = facts.needs.iter().filter_map(|need| find(need, &node.key, scope, &by_key));
            needed[index].extend(needs.filter(|found| *found != index));
        }
        let mut graph = Self {
            fates: vec![Fate::Stays(UNOWNED); nodes.len()],
            shared_globally: vec![false; nodes.len()],
            kept: vec![None; nodes.len()],
            before,
            nodes,
        };
        graph.move_by_clusterctls_rules(&owned, scope);
        graph.move_beyond(&owned, &labelled, &needed);
        graph.leave_deleting();
        graph.keep_what_others_use(&needed, scope);
        graph
    }

    /// Returns whether an object moves.
    pub fn moves(&self, index: usize) -> bool {
        !matches!(self.fates[index], Fate::Stays(_))
    }

    /// Returns the objects that move, in groups: the owners of an object are in earlier groups. Objects that own each other are together in
    /// the last group.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.nodes.len()).filter(|index| self.moves(*index)).collect();
        let mut placed = vec![false; self.nodes.len()];
        let mut groups = Vec::new();
        while !left.is_empty() {
            let ready =
                |index: &usize| self.before[*index].iter().all(|owner| placed[*owner] || !self.moves(*owner));
            let (mut group, rest): (Vec<usize>, Vec<usize>) = left.into_iter().partition(ready);
            left = rest;
            if group.is_empty() {
                group = std::mem::take(&mut left);
            }
            group.sort_by(|a, b| self.nodes[*a].key.cmp(&self.nodes[*b].key));
            group.iter().for_each(|index| placed[*index] = true);
            groups.push(group);
        }
        groups
    }

    /// Marks the objects that move by clusterctl's rules, starting with the roots in the namespace that moves and with cluster-scoped roots.
    fn move_by_clusterctls_rules(&mut self, owned: &[Vec<usize>], scope: &Scope) {
        for index in 0..self.nodes.len() {
            let Node { key, facts, .. } = &self.nodes[index];
            let ours = scope.namespace.is_empty() || facts.global || key.namespace == scope.namespace;
            // Secrets of identities are in the namespaces of providers and move if they have the label themselves.
            let labelled_secret = key.is("", "Secret") && scope.provider_namespaces.contains(&key.namespace);
            if !ours && !labelled_secret {
                continue;
            }
            if facts.moves && !self.moves(index) {
                self.fates[index] = Fate::Moves;
            }
            if facts.moves_hierarchy {
                let global = facts.global;
                self.move_hierarchy(index, owned, global, scope);
            }
        }
        // The class of a Cluster that moves also moves with its templates, in whichever namespace it is.
        for index in 0..self.nodes.len() {
            if !self.nodes[index].key.is_cluster() || !self.moves(index) {
                continue;
            }
            let classes: Vec<usize> = self.before[index]
                .iter()
                .copied()
                .filter(|owner| self.nodes[*owner].key.is_class())
                .collect();
            for class in classes {
                self.fates[class] = Fate::Moves;
                for template in owned[class].clone() {
                    if !self.nodes[template].key.is_cluster() {
                        self.fates[template] = Fate::Moves;
                    }
                }
            }
        }
    }

    /// Marks `root` and the objects that it owns as moving. Clusters of other namespaces that use a class which moves do not move; they are
    /// read only because they make the source keep the class.
    fn move_hierarchy(&mut self, root: usize, owned: &[Vec<usize>], global: bool, scope: &Scope) {
        let mut seen = BTreeSet::from([root]);
        let mut next = vec![root];
        while let Some(index) = next.pop() {
            self.fates[index] = Fate::Moves;
            self.shared_globally[index] |= global;
            let ours =
                |child: &usize| !self.nodes[*child].key.is_cluster() || !self.stands_elsewhere(*child, scope);
            next.extend(owned[index].iter().copied().filter(|child| ours(child) && seen.insert(*child)));
        }
    }

    fn move_beyond(
        &mut self,
        owned: &[Vec<usize>],
        labelled: &[Vec<(usize, &'static str)>],
        needed: &[Vec<usize>],
    ) {
        let mut next: Vec<usize> = (0..self.nodes.len()).filter(|index| self.moves(*index)).collect();
        while let Some(index) = next.pop() {
            let found =
                labelled[index].iter().copied().chain(needed[index].iter().map(|found| (*found, NEEDED)));
            for (found, why) in found {
                if self.moves(found) || self.nodes[found].key.is_cluster() {
                    continue;
                }
                self.fates[found] = Fate::Beyond(why);
                next.push(found);
                let mut below = owned[found].clone();
                while let Some(child) = below.pop() {
                    if !self.moves(child) {
                        self.fates[child] = Fate::Beyond(why);
                        next.push(child);
                        below.extend(&owned[child]);
                    }
                }
            }
        }
    }

    /// Leaves behind the objects that move beyond clusterctl's rules and are being deleted: the target would only delete them again.
    /// Preflight reports objects that move by clusterctl's rules and are being deleted.
    fn leave_deleting(&mut self) {
        for index in 0..self.nodes.len() {
            if self.nodes[index].facts.deleting && matches!(self.fates[index], Fate::Beyond(_)) {
                self.fates[index] = Fate::Stays(DELETING);
            }
        }
    }

    fn keep_what_others_use(&mut self, needed: &[Vec<usize>], scope: &Scope) {
        for (index, needs) in needed.iter().enumerate() {
            if self.moves(index) {
                continue;
            }
            let used = self.before[index].iter().filter(|owner| self.nodes[**owner].key.is_class());
            for found in used.chain(needs).copied().collect::<Vec<usize>>() {
                self.kept[found] = Some("objects that stay use it");
            }
        }
        for index in 0..self.nodes.len() {
            if self.moves(index) && self.nodes[index].facts.global {
                self.kept[index] = Some("it is cluster-scoped");
            } else if self.shared_globally[index] {
                self.kept[index] = Some("it belongs to a cluster-scoped object");
            } else if self.moves(index) && self.stands_elsewhere(index, scope) {
                self.kept[index] = Some(ELSEWHERE);
            }
        }
        // The source keeps the templates of a class that it keeps.
        for index in 0..self.nodes.len() {
            let class = self.before[index].iter().find(|owner| self.nodes[**owner].key.is_class());
            if let Some(why) = class.and_then(|class| self.kept[*class])
                && !self.nodes[index].key.is_cluster()
            {
                self.kept[index] = Some(why);
            }
        }
    }

    fn stands_elsewhere(&self, index: usize, scope: &Scope) -> bool {
        !scope.namespace.is_empty() && self.nodes[index].key.namespace != scope.namespace
    }
}

/// Returns the object that a reference means: in the namespace that it names (or else cluster-scoped); without one, in the namespace of the
/// object that has the reference, else cluster-scoped, else (credentials of cluster-scoped identities) in a provider's namespace.
fn find(need: &Need, from: &Key, scope: &Scope, by_key: &HashMap<&Key, usize>) -> Option<usize> {
    let at = |namespace: &str| {
        let key = Key {
            group: need.group.clone(),
            kind: need.kind.clone(),
            namespace: namespace.into(),
            name: need.name.clone(),
        };
        by_key.get(&key).copied()
    };
    if let Some(namespace) = &need.namespace {
        return at(namespace).or_else(|| at(""));
    }
    let providers = || scope.provider_namespaces.iter().find_map(|namespace| at(namespace));
    at(&from.namespace).or_else(|| at("")).or_else(|| from.namespace.is_empty().then(providers).flatten())
}
