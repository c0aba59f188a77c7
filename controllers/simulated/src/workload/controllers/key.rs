//! The names of what is reconciled.

use std::time::Duration;

use machinery::status::Status;

use crate::workload::api::Place;

/// What is reconciled. Those before others in this order are reconciled first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Pod,
    Job,
    StatefulSet,
    ReplicaSet,
    Deployment,
    DaemonSet,
}

impl Kind {
    /// Returns the kind with this name that has Pods or ReplicaSets.
    pub fn of_owner(name: &str) -> Option<Self> {
        Some(match name {
            "Job" => Self::Job,
            "StatefulSet" => Self::StatefulSet,
            "ReplicaSet" => Self::ReplicaSet,
            "Deployment" => Self::Deployment,
            "DaemonSet" => Self::DaemonSet,
            _ => return None,
        })
    }

    /// Returns the group and the plural name.
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::Pod => ("", "pods"),
            Self::Job => ("batch", "jobs"),
            Self::StatefulSet => ("apps", "statefulsets"),
            Self::ReplicaSet => ("apps", "replicasets"),
            Self::Deployment => ("apps", "deployments"),
            Self::DaemonSet => ("apps", "daemonsets"),
        }
    }
}

/// The name of what is reconciled.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub kind: Kind,
    pub namespace: String,
    pub name: String,
}

impl Key {
    /// Returns the location of the object.
    pub fn place(&self) -> Place<'_> {
        let (group, plural) = self.kind.resource();
        Place { group, plural, namespace: &self.namespace, name: &self.name }
    }
}

/// When an object is reconciled without a change; `None` for never.
pub(super) type Outcome = Result<Option<Duration>, Status>;
