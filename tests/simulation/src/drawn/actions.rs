//! Performs the actions of a script.

use anyhow::{Result, bail};
use chrono::TimeDelta;
use firstlight::manifests::apply::apply_all;
use machinery::clock::rfc3339;
use serde_json::{Value, json};

use super::manifests::{VERSIONS, cluster};
use super::progress::{HANGS, Progress};
use super::script::{Action, Failure};
use super::user::{User, path_of};
use crate::invariants::{FOREIGN, is_deleting};
use crate::simulation::Life;

const SILENT: &str = "simulated.firstlight.dev/api-server-silent";
/// Annotation of control plane Machines that their controller sets, also if somebody removes it.
const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
/// For this long after a disturbance, availability is not judged.
const AFTERMATH: TimeDelta = TimeDelta::minutes(10);
/// Longer than any script.
const ENDLESS: TimeDelta = TimeDelta::days(1000);

impl Failure {
    fn annotation(self, is_of_control_plane: bool) -> &'static str {
        match self {
            Self::KubeletStopped => "simulated.firstlight.dev/kubelet-stopped",
            Self::EtcdMemberUnhealthy if is_of_control_plane => {
                "simulated.firstlight.dev/etcd-member-unhealthy"
            }
            Self::NodeNotReady | Self::EtcdMemberUnhealthy => "simulated.firstlight.dev/node-not-ready",
            Self::VolumeAttached => "simulated.firstlight.dev/volume-attached",
        }
    }
}

/// Returns objects that belong to nobody, with the paths of their collections.
pub(super) fn foreign(namespace: &str) -> [(String, Value); 3] {
    let metadata = json!({
        "name": "foreign", "namespace": namespace,
        "labels": {FOREIGN: "", "cluster.x-k8s.io/cluster-name": "c0"},
    });
    let core = format!("/api/v1/namespaces/{namespace}");
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    [
        (format!("{core}/secrets"), json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})),
        (
            format!("{core}/configmaps"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}),
        ),
        (
            format!("/apis/{infrastructure}/namespaces/{namespace}/devmachines"),
            json!({"apiVersion": infrastructure, "kind": "DevMachine", "metadata": metadata,
                "spec": {"backend": {"inMemory": {}}}}),
        ),
    ]
}

/// Returns whether a control plane has been initialised.
fn is_initialized(plane: &Value) -> bool {
    plane["status"]["initialization"]["controlPlaneInitialized"] == true
}

/// Returns whether a Machine has a Node and stays.
fn is_working(machine: &Value) -> bool {
    machine["status"]["nodeRef"].is_object() && !is_deleting(machine)
}

impl Progress<'_> {
    /// Performs an action. One that was interrupted is performed again.
    pub(super) async fn perform(&mut self, life: &Life, action: Action) -> Result<()> {
        let user = User::new(life);
        if self.change_topology(&user, action).await? {
            return Ok(());
        }
        match action {
            Action::Apply(number) => self.apply(life, number).await,
            Action::ScaleControlPlane(number, replicas) => {
                self.wanted[number].control_plane = replicas;
                let path = path_of(&self.wanted[number].plane(self.invariants.view()));
                user.patch(&path, &json!({"spec": {"replicas": replicas}})).await
            }
            Action::ScaleWorkers(number, replicas) => self.scale_workers(&user, number, replicas).await,
            Action::Upgrade(number) | Action::UpgradeToLast(number) => self.upgrade(&user, number).await,
            Action::Rebase(number) => bail!("cluster {number} has no class"),
            Action::RollOut(number) => {
                let after = json!({"spec": {"rollout": {"after": rfc3339(life.clock.now())}}});
                user.patch(&self.path_of_workers(number), &after).await
            }
            Action::Break(number, planes, workers, failure) => {
                self.fail(&user, number, true, planes, failure).await?;
                self.fail(&user, number, false, workers, failure).await
            }
            Action::BreakNew(number, count) => {
                self.hanging.insert(number, count);
                Ok(())
            }
            Action::DeleteMachines(number, planes, workers) => {
                self.delete_machines(life, number, true, planes).await?;
                self.delete_machines(life, number, false, workers).await
            }
            Action::DeleteWorkers(number) => {
                self.wanted[number].workers = None;
                user.delete(&self.path_of_workers(number)).await
            }
            Action::Delete(number) => {
                self.wanted[number].exists = false;
                user.delete(&path_of(&self.wanted[number].cluster())).await
            }
            Action::Silence(number, is_silent) => self.silence(life, number, is_silent).await,
            Action::Cut(number, is_cut) => {
                self.cut(life, number, is_cut);
                Ok(())
            }
            Action::Pause(number, is_paused) => {
                let paused = json!({"spec": {"paused": is_paused}});
                user.patch(&path_of(&self.wanted[number].cluster()), &paused).await
            }
            Action::Edit(number) => self.edit(&user, number).await,
            Action::Settle => self.repair(life).await,
        }
    }

    async fn apply(&mut self, life: &Life, number: usize) -> Result<()> {
        let documents = cluster(&self.wanted[number].shape)?;
        apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
        self.wanted[number].exists = true;
        Ok(())
    }

    async fn scale_workers(&mut self, user: &User, number: usize, replicas: i64) -> Result<()> {
        let wanted = &mut self.wanted[number];
        wanted.workers = wanted.workers.map(|_| replicas);
        user.patch(&self.path_of_workers(number), &json!({"spec": {"replicas": replicas}})).await
    }

    fn path_of_workers(&self, number: usize) -> String {
        path_of(&self.wanted[number].deployment(self.invariants.view()))
    }

    async fn upgrade(&mut self, user: &User, number: usize) -> Result<()> {
        let wanted = &mut self.wanted[number];
        wanted.version = (wanted.version + 1).min(VERSIONS.len() - 1);
        let version = VERSIONS[wanted.version];
        let plane = path_of(&wanted.plane(self.invariants.view()));
        user.patch(&plane, &json!({"spec": {"version": version}})).await?;
        let patch = json!({"spec": {"template": {"spec": {"version": version}}}});
        user.patch(&self.path_of_workers(number), &patch).await
    }

    /// Draws this many of `all`.
    fn draw(&self, mut all: Vec<String>, count: usize) -> Vec<String> {
        let mut drawn = Vec::new();
        while drawn.len() < count && !all.is_empty() {
            let index = usize::try_from(self.random.number() % all.len() as u64).unwrap_or_default();
            drawn.push(all.swap_remove(index));
        }
        drawn
    }

    async fn fail(
        &mut self,
        user: &User,
        number: usize,
        is_of_control_plane: bool,
        count: usize,
        failure: Failure,
    ) -> Result<()> {
        let machines = self.draw(self.machines(number, is_of_control_plane), count);
        for machine in machines.iter().filter_map(|machine| self.infrastructure(machine)) {
            let failure = failure.annotation(is_of_control_plane);
            user.annotate(&path_of(&machine), json!({failure: ""})).await?;
        }
        Ok(())
    }

    async fn delete_machines(
        &mut self,
        life: &Life,
        number: usize,
        is_of_control_plane: bool,
        count: usize,
    ) -> Result<()> {
        self.invariants.disturbs(&self.wanted[number].key(), life.clock.now() + AFTERMATH);
        let mut all = self.machines(number, is_of_control_plane);
        let mut most = count;
        let is_initialized = self.plane(number).is_some_and(is_initialized);
        if is_of_control_plane && is_initialized {
            // Nobody can join a control plane that has lost its last machine, as with Cluster API.
            all.retain(|key| self.invariants.get(key).is_some_and(is_working));
            most = count.min(all.len().saturating_sub(1));
        }
        for machine in self.draw(all, most) {
            self.invariants.deletes(&machine);
            User::new(life).delete(&path_of(&machine)).await?;
        }
        Ok(())
    }

    fn plane(&self, number: usize) -> Option<&Value> {
        self.invariants.get(&self.wanted[number].plane(self.invariants.view()))
    }

    async fn silence(&mut self, life: &Life, number: usize, is_silent: bool) -> Result<()> {
        let wanted = &self.wanted[number];
        let value = if is_silent { json!("") } else { Value::Null };
        let infrastructure = path_of(&wanted.infrastructure(self.invariants.view()));
        User::new(life).annotate(&infrastructure, json!({SILENT: value})).await?;
        let aftermath = if is_silent { ENDLESS } else { AFTERMATH };
        self.invariants.disturbs(&wanted.key(), life.clock.now() + aftermath);
        Ok(())
    }

    fn cut(&mut self, life: &Life, number: usize, is_cut: bool) {
        let aftermath = if is_cut { ENDLESS } else { AFTERMATH };
        self.invariants.disturbs(&self.wanted[number].key(), life.clock.now() + aftermath);
        let Some(port) = self.port(number) else { return };
        if is_cut {
            self.cut.insert(number);
            life.network.cut(port);
        } else {
            self.cut.remove(&number);
            life.network.mend(port);
        }
    }

    async fn edit(&self, user: &User, number: usize) -> Result<()> {
        for kind in ["Machine", "MachineSet", "DevMachine", "KubeadmConfig"] {
            let view = self.invariants.view();
            let all = self.wanted[number].objects(view, kind).map(|(key, _)| key.to_owned()).collect();
            for key in self.draw(all, 1) {
                let metadata = json!({"labels": {"edited": "yes"}, "annotations": {"edited": "yes"}});
                user.patch(&path_of(&key), &json!({"metadata": metadata})).await?;
            }
        }
        for key in self.draw(self.machines(number, true), 1) {
            if !self.invariants.get(&key).is_some_and(is_deleting) {
                user.annotate(&path_of(&key), json!({HOOK: null})).await?;
            }
        }
        Ok(())
    }

    /// Repairs everything that was broken on purpose, except what was deleted.
    async fn repair(&mut self, life: &Life) -> Result<()> {
        let user = User::new(life);
        self.hanging.clear();
        for number in 0..self.wanted.len() {
            if self.cut.contains(&number) {
                self.cut(life, number, false);
            }
            let wanted = self.wanted[number].clone();
            let is_silent = self.invariants.get(&wanted.infrastructure(self.invariants.view()));
            if is_silent.is_some_and(|it| it["metadata"]["annotations"][SILENT].is_string()) {
                self.silence(life, number, false).await?;
            }
            if self.invariants.get(&wanted.cluster()).is_some_and(|it| it["spec"]["paused"] == true) {
                user.patch(&path_of(&wanted.cluster()), &json!({"spec": {"paused": false}})).await?;
            }
            let machines = wanted.objects(self.invariants.view(), "DevMachine");
            let machines: Vec<String> = machines.map(|(key, _)| key.to_owned()).collect();
            for machine in machines {
                let failures = json!({
                    HANGS: null,
                    (Failure::KubeletStopped.annotation(true)): null,
                    (Failure::NodeNotReady.annotation(true)): null,
                    (Failure::EtcdMemberUnhealthy.annotation(true)): null,
                    (Failure::VolumeAttached.annotation(true)): null,
                });
                user.annotate(&path_of(&machine), failures).await?;
            }
        }
        Ok(())
    }
}
