//! Performs the actions that a Cluster of a class takes by its topology.

use anyhow::Result;
use serde_json::json;

use super::classes::{class_name, workers};
use super::manifests::VERSIONS;
use super::progress::Progress;
use super::script::Action;
use super::user::{User, path_of};

impl Progress<'_> {
    /// Performs an action that a Cluster of a class takes by its topology. Returns whether it is one.
    pub(super) async fn change_topology(&mut self, user: &User, action: Action) -> Result<bool> {
        let (Action::ScaleControlPlane(number, _)
        | Action::ScaleWorkers(number, _)
        | Action::Upgrade(number)
        | Action::UpgradeToLast(number)
        | Action::RollOut(number)
        | Action::Rebase(number)
        | Action::DeleteWorkers(number)) = action
        else {
            return Ok(false);
        };
        let mut wanted = self.wanted[number].clone();
        if !wanted.shape.is_of_class {
            return Ok(false);
        }
        let topology = match action {
            Action::ScaleControlPlane(_, replicas) => {
                wanted.control_plane = replicas;
                json!({"controlPlane": {"replicas": replicas}})
            }
            Action::ScaleWorkers(_, replicas) => {
                wanted.workers = wanted.workers.map(|_| replicas);
                json!({"workers": workers(wanted.workers)})
            }
            Action::DeleteWorkers(_) => {
                wanted.workers = None;
                json!({"workers": null})
            }
            Action::RollOut(_) => {
                wanted.rollouts += 1;
                json!({"variables": [{"name": "maxPods", "value": 110 + wanted.rollouts}]})
            }
            Action::Rebase(_) => {
                wanted.is_of_second_class = !wanted.is_of_second_class;
                json!({"classRef": {"name": class_name(&wanted.shape, wanted.is_of_second_class)}})
            }
            _ => {
                let last = VERSIONS.len() - 1;
                wanted.version =
                    if action == Action::Upgrade(number) { (wanted.version + 1).min(last) } else { last };
                json!({"version": VERSIONS[wanted.version]})
            }
        };
        let patch = json!({"spec": {"topology": topology}});
        // The server refuses another version during an upgrade.
        if user.try_patch(&path_of(&wanted.cluster()), &patch).await? {
            self.wanted[number] = wanted;
        }
        Ok(true)
    }
}
