//! `rollout restart | pause | resume` of MachineDeployments and KubeadmControlPlanes.

use chrono::{DateTime, Utc};
use engine::names::PAUSED;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use machinery::clock::{Clock, parse_rfc3339, rfc3339};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::{Context, Error, Result};

/// A subcommand of `rollout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `restart`: replaces every machine.
    Restart,
    /// `pause`: no machine is replaced until `resume`.
    Pause,
    /// `resume`: machines are replaced again.
    Resume,
}

/// The kinds that have rollouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A MachineDeployment.
    MachineDeployment,
    /// A KubeadmControlPlane.
    KubeadmControlPlane,
}

/// Performs `action` on each of the resources, which are written as `kind/name`.
///
/// # Errors
/// A resource is not written as `kind/name`, does not exist, has a kind without rollouts, or is in a state that does not allow the
/// action. The first error ends the run; resources before it have been changed.
pub async fn run(
    action: Action,
    resources: &[String],
    connection: &Connection,
    namespace: Option<&str>,
    clock: &Clock,
) -> Result<()> {
    if resources.is_empty() {
        return Err(Error::invalid("required resource not specified"));
    }
    let resources = resources.iter().map(|resource| reference(resource)).collect::<Result<Vec<_>>>()?;
    let namespace = namespace.unwrap_or(&connection.namespace);
    for (kind_name, name) in resources {
        let kind = Kind::called(&kind_name).ok_or_else(|| action.invalid(&kind_name))?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(connection.client.clone(), namespace, &kind.resource());
        let failed = || {
            format!("failed to fetch {kind_name}/{name}: failed to get {} {namespace}/{name}", kind.name())
        };
        let object = api.get(&name).await.context(failed)?;
        let object = serde_json::to_value(object).unwrap_or_default();
        let now = clock.now();
        check(action, kind, &object, now)
            .map_err(|reason| Error::invalid(reason.replace("RESOURCE", &format!("{kind_name}/{name}"))))?;
        let patch = Patch::Merge(change(action, kind, now));
        let parameters =
            PatchParams { field_manager: Some("clusterctl".to_owned()), ..PatchParams::default() };
        let failed = || format!("failed while patching {} {namespace}/{name}", kind.name());
        api.patch(&name, &parameters, &patch).await.context(failed)?;
    }
    Ok(())
}

/// Parses `kind/name`, and returns both in lower case.
pub fn reference(resource: &str) -> Result<(String, String)> {
    let resource = resource.to_lowercase();
    let parts: Vec<&str> = resource.split('/').collect();
    match parts.as_slice() {
        [kind, name] if !kind.is_empty() && !name.is_empty() => Ok(((*kind).to_owned(), (*name).to_owned())),
        [_, _] => Err(Error::invalid("arguments in resource/name form must have a single resource and name")),
        [_] => Err(Error::invalid("arguments must be in resource/name format (e.g. machinedeployment/md-1)")),
        _ => Err(Error::invalid("arguments in resource/name form may not have more than one slash")),
    }
}

impl Action {
    fn invalid(self, kind: &str) -> Error {
        let known = "[machinedeployment kubeadmcontrolplane]";
        Error::invalid(match self {
            Self::Restart => format!("Invalid resource type {kind}. Valid values: {known}"),
            Self::Pause => format!("Invalid resource type {kind:?}, valid values are {known}"),
            Self::Resume => format!("invalid resource type {kind:?}, valid values are {known}"),
        })
    }
}

impl Kind {
    fn called(name: &str) -> Option<Self> {
        match name {
            "machinedeployment" => Some(Self::MachineDeployment),
            "kubeadmcontrolplane" => Some(Self::KubeadmControlPlane),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::MachineDeployment => "MachineDeployment",
            Self::KubeadmControlPlane => "KubeadmControlPlane",
        }
    }

    fn resource(self) -> ApiResource {
        let group = match self {
            Self::MachineDeployment => "cluster.x-k8s.io",
            Self::KubeadmControlPlane => "controlplane.cluster.x-k8s.io",
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1beta2", self.name()))
    }

    fn paused(self, object: &Value) -> bool {
        match self {
            Self::MachineDeployment => object["spec"]["paused"] == true,
            Self::KubeadmControlPlane => object["metadata"]["annotations"].get(PAUSED).is_some(),
        }
    }
}

/// Checks whether the object's state allows the action. The error is the reason, in which the caller replaces `RESOURCE` by the name of
/// the object.
pub fn check(action: Action, kind: Kind, object: &Value, now: DateTime<Utc>) -> Result<(), String> {
    let after = object.pointer("/spec/rollout/after").and_then(Value::as_str);
    let later = after.and_then(parse_rfc3339).is_some_and(|time| time > now);
    let name = kind.name();
    match (action, kind.paused(object), kind) {
        (Action::Restart, true, Kind::MachineDeployment) => {
            Err(format!("can't restart paused {name} (run rollout resume first): RESOURCE"))
        }
        (Action::Restart, true, Kind::KubeadmControlPlane) => {
            Err(format!("can't restart paused {name} (remove annotation '{PAUSED}' first): RESOURCE"))
        }
        (Action::Restart, false, _) if later => {
            Err(format!("can't update {name} (remove 'spec.rollout.after' first): RESOURCE"))
        }
        (Action::Pause, true, _) => Err(format!("{name} is already paused: RESOURCE\n")),
        (Action::Resume, false, _) => Err(format!("{name} is not currently paused: RESOURCE\n")),
        _ => Ok(()),
    }
}

fn change(action: Action, kind: Kind, now: DateTime<Utc>) -> Value {
    match (action, kind) {
        (Action::Restart, _) => json!({"spec": {"rollout": {"after": rfc3339(now)}}}),
        (Action::Pause, Kind::MachineDeployment) => json!({"spec": {"paused": true}}),
        (Action::Resume, Kind::MachineDeployment) => json!({"spec": {"paused": false}}),
        (Action::Pause, Kind::KubeadmControlPlane) => json!({"metadata": {"annotations": {PAUSED: "true"}}}),
        (Action::Resume, Kind::KubeadmControlPlane) => json!({"metadata": {"annotations": {PAUSED: null}}}),
    }
}
