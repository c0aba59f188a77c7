//! Reads the objects on which the plan of a Cluster with a topology depends.

mod blueprint;
mod current;
mod variables;
mod workers;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::events::Recorder;
use engine::{Error, External, Manager, NamespacedName, Objects, Result, aside};
use k8s_openapi::api::core::v1::Secret;
use kube::api::DynamicObject;
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachineHealthCheck, MachinePool};
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::memory::Memory;
use crate::desired::Contract;
use crate::extensions::Extensions;
use crate::limits::LARGE_TEMPLATES_BYTES;
use crate::{Blueprint, Current};

/// The controller of Clusters with a topology.
pub(super) struct TopologyController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub classes: Objects<ClusterClass>,
    pub deployments: Objects<MachineDeployment>,
    pub pools: Objects<MachinePool>,
    pub machines: Objects<Machine>,
    pub checks: Objects<MachineHealthCheck>,
    pub secrets: Objects<Secret>,
    pub external: External,
    pub extensions: Arc<dyn Extensions>,
    pub memory: Memory,
    /// For Clusters whose templates need much memory: one at a time.
    pub large: Semaphore,
    pub recorder: Recorder,
}

/// The state of the world that the plan of a Cluster with a topology depends on.
pub struct Observed {
    /// The class with its templates.
    pub blueprint: Blueprint,
    /// The Cluster and its objects.
    pub current: Current,
    /// The contract of the control plane's kind.
    pub contract: Contract,
    /// Whether runtime extensions are called (feature gate `RuntimeSDK`).
    pub calls_hooks: bool,
    /// The time of this reconcile.
    pub now: DateTime<Utc>,
}

impl TopologyController {
    /// Reads the state on which the plan of `cluster` depends.
    ///
    /// # Errors
    /// An object that the class or the Cluster refers to does not exist or cannot be read, or it is not one of a topology; or the class does
    /// not define or lacks a variable.
    pub(super) async fn read(&self, cluster: &Arc<Cluster>, blueprint: Blueprint) -> Result<Observed> {
        let memory = self.memory.of(cluster);
        let cluster = &aside(|| variables::with_defaults(cluster, &blueprint.class, &memory))?;
        let contract = self.contract(&blueprint).await?;
        let current = self.current(cluster, &blueprint, contract).await?;
        Ok(Observed {
            blueprint,
            current,
            contract,
            calls_hooks: self.manager.features().runtime_sdk,
            now: self.manager.clock().now(),
        })
    }

    /// Waits until the objects of the Cluster may be read and made. They are, while the result is kept.
    pub(super) async fn seat(&self, cluster: &Cluster, blueprint: &Blueprint) -> Option<SemaphorePermit<'_>> {
        if blueprint.copied_bytes(cluster) < LARGE_TEMPLATES_BYTES {
            return None;
        }
        self.large.acquire().await.ok()
    }

    /// Returns the contract that the version of the control plane's kind in the class implements.
    async fn contract(&self, blueprint: &Blueprint) -> Result<Contract> {
        let template = &blueprint.control_plane.object;
        let (version, kind) = version_and_kind(template);
        let kind = kind.strip_suffix("Template").unwrap_or(kind);
        let resolved = self.manager.contracts().resolve_in(version, kind).await?;
        Ok(if resolved.contract == "v1beta1" { Contract::V1Beta1 } else { Contract::V1Beta2 })
    }

    /// Returns an object in exactly this version.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    async fn object(&self, api_version: &str, kind: &str, key: &NamespacedName) -> Result<Value> {
        let objects = self.external.objects_at(api_version, kind).await?;
        let found = objects.get(key);
        let missing = || Error::failed(format!("{kind} {key} ({api_version}) does not exist"));
        whole(&found.ok_or_else(missing)?, api_version, kind)
    }
}

/// Returns `apiVersion` and `kind` of an object.
pub(super) fn version_and_kind(object: &Value) -> (&str, &str) {
    (object["apiVersion"].as_str().unwrap_or_default(), object["kind"].as_str().unwrap_or_default())
}

/// Returns a cached object as JSON with `apiVersion` and `kind`.
pub(super) fn whole(object: &Arc<DynamicObject>, api_version: &str, kind: &str) -> Result<Value> {
    let mut value = serde_json::to_value(object.as_ref()).map_err(|error| {
        Error::json(format!("read {kind} {}", NamespacedName::of(object.as_ref())), error)
    })?;
    value["apiVersion"] = api_version.into();
    value["kind"] = kind.into();
    Ok(value)
}
