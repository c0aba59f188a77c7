//! The plan: the objects that move, in their order, and the objects that stay, with the reasons. Pure, printable, serialisable.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::graph::{ELSEWHERE, Fate, Graph};
use crate::object::Key;

/// One object that moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Group, kind, namespace and name.
    pub object: Key,
    /// Its identity at the source.
    pub uid: String,
    /// The reason why it moves although `clusterctl move` would leave it behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<String>,
    /// The reason why the source keeps the object although it is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// Whether it is left unchanged if the target already has it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// One object that stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stay {
    /// Group, kind, namespace and name.
    pub object: Key,
    /// The reason why it stays.
    pub why: String,
}

/// The objects that move, in groups: the owners of an object are in earlier groups. Objects are deleted in the reverse order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The groups.
    pub groups: Vec<Vec<Step>>,
    /// The objects that do not move. Secrets and ConfigMaps that stay are not listed.
    pub stays: Vec<Stay>,
}

impl Plan {
    /// Returns the plan of a graph.
    pub fn of(graph: &Graph) -> Self {
        let step = |index: usize| {
            let node = &graph.nodes[index];
            Step {
                object: node.key.clone(),
                uid: node.uid.clone(),
                beyond: match graph.fates[index] {
                    Fate::Beyond(why) => Some(why.to_owned()),
                    Fate::Moves | Fate::Stays(_) => None,
                },
                kept: graph.kept[index].map(ToOwned::to_owned),
                shared: node.facts.global
                    || graph.shared_globally[index]
                    || graph.kept[index] == Some(ELSEWHERE),
            }
        };
        let groups = graph.groups().into_iter().map(|group| group.into_iter().map(step).collect()).collect();
        let stays = graph
            .nodes
            .iter()
            .zip(&graph.fates)
            .filter(|(node, _)| !node.key.group.is_empty())
            .filter_map(|(node, fate)| match fate {
                Fate::Stays(why) => Some(Stay { object: node.key.clone(), why: (*why).to_owned() }),
                Fate::Moves | Fate::Beyond(_) => None,
            })
            .collect();
        Self { groups, stays }
    }

    /// Returns all steps, owners first.
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &Step> {
        self.groups.iter().flatten()
    }

    /// Returns the number of objects that move.
    pub fn len(&self) -> usize {
        self.groups.iter().map(Vec::len).sum()
    }

    /// Returns whether nothing moves.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the namespaces that the target needs.
    pub fn namespaces(&self) -> BTreeSet<&str> {
        self.steps().map(|step| step.object.namespace.as_str()).filter(|name| !name.is_empty()).collect()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, group) in self.groups.iter().enumerate() {
            writeln!(f, "Group {}:", number + 1)?;
            for step in group {
                write!(f, "  {}", step.object)?;
                if let Some(why) = &step.beyond {
                    write!(f, " (beyond clusterctl's rules: {why})")?;
                }
                if let Some(why) = &step.kept {
                    write!(f, " (the source keeps it: {why})")?;
                }
                writeln!(f)?;
            }
        }
        if !self.stays.is_empty() {
            writeln!(f, "Stays:")?;
        }
        for stay in &self.stays {
            writeln!(f, "  {}: {}", stay.object, stay.why)?;
        }
        Ok(())
    }
}
