//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{
    columns, daemon_set, deployment, disruption_budget, replication_controller, stateful_set, warnings,
};
use crate::kind::{Kind, kind};
use crate::strategy::Generation;
use crate::strategy::rules::{NONE, Rules};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject =
    Subject { kinds: &KINDS, columns: columns::of, warnings: warnings::of, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 7] = [
    kind("", "ReplicationController", "replicationcontrollers", &["rc"]).status().scale().all().generation().orphans()
        .selectable(&["status.replicas"])
        .rules(replication_controller::REPLICATION_CONTROLLER),
    kind("apps", "ControllerRevision", "controllerrevisions", &[]).rules(Rules { immutable_fields: &["data"], ..NONE }),
    kind("apps", "DaemonSet", "daemonsets", &["ds"]).status().all().generation().rules(daemon_set::DAEMON_SET),
    kind("apps", "Deployment", "deployments", &["deploy"]).status().scale().all().generation_of(Generation::SpecAndAnnotations).rules(deployment::DEPLOYMENT),
    kind("apps", "ReplicaSet", "replicasets", &["rs"]).status().scale().all().generation()
        .rules(deployment::REPLICA_SET),
    kind("apps", "StatefulSet", "statefulsets", &["sts"]).status().scale().all().generation().metadata_repeats(2, 2).rules(stateful_set::STATEFUL_SET),
    kind("policy", "PodDisruptionBudget", "poddisruptionbudgets", &["pdb"]).status().generation().conditional().metadata_repeats(0, 0)
        .rules(disruption_budget::BUDGET),
];
