//! Takes the steps of stand-ins: writes what the contract of Cluster API asks of a provider, in both of its versions, because a schema drops
//! the fields that it does not have.

use anyhow::{Context as _, Result, bail};
use machinery::clock::rfc3339;
use machinery::meta::{name, namespace};
use serde_json::{Value, json};

use super::plan::Step;
use super::{StandIns, pools};
use crate::limits::PLAN_POOL_MACHINES;
use crate::plan::certificates;
use crate::plan::object::{Reference, cluster_of};
use crate::plan::view::View;

/// The port in the control plane endpoint that a stand-in sets.
const PORT: u16 = 6443;

impl StandIns {
    /// Takes a step.
    ///
    /// # Errors
    /// The schema of the object does not permit it.
    pub(super) async fn take(&self, view: &View, object: &Value, step: Step) -> Result<()> {
        match step {
            Step::ProvisionCluster => {
                self.give_endpoint(view, object).await?;
                self.patch(object, "/status", json!({"status": provisioned()})).await
            }
            Step::ProvisionMachine => {
                let id = format!("plan://{}/{}", namespace(object), name(object));
                let id = object["spec"]["providerID"].as_str().unwrap_or(&id);
                self.patch(object, "", json!({"spec": {"providerID": id}})).await?;
                self.patch(object, "/status", json!({"status": provisioned()})).await
            }
            Step::FollowPool => {
                let ids = self.next_machines(view, object)?;
                self.patch(object, "", json!({"spec": {"providerIDList": ids}})).await?;
                let mut status = provisioned();
                status["replicas"] = ids.len().into();
                self.patch(object, "/status", json!({"status": status})).await
            }
            Step::CreateData => {
                let status = json!({
                    "dataSecretName": name(object), "ready": true,
                    "initialization": {"dataSecretCreated": true},
                });
                self.patch(object, "/status", json!({"status": status})).await
            }
            Step::FollowControlPlane => {
                self.give_endpoint(view, object).await?;
                self.patch(object, "/status", json!({"status": self.followed(object)})).await
            }
            Step::Release => self.patch(object, "", json!({"metadata": {"finalizers": null}})).await,
        }
    }

    /// Returns the next list of provider IDs of a pool.
    fn next_machines(&self, view: &View, object: &Value) -> Result<Vec<String>> {
        let pool = pools::pool_of(view, object).context("no MachinePool refers to it")?;
        if let Some(kind) = object["status"]["infrastructureMachineKind"].as_str() {
            bail!("its machines are objects of the kind {kind}, which only their provider makes");
        }
        let wanted = pools::wanted(pool, object);
        if wanted > PLAN_POOL_MACHINES {
            bail!("its pool wants {wanted} machines, and a plan plays {PLAN_POOL_MACHINES} at most");
        }
        Ok(pools::next(pool, object, &self.hosts.versions()))
    }

    /// Sets the endpoint of the Cluster that an object belongs to, unless it has one, and creates the Secrets of the Cluster.
    async fn give_endpoint(&self, view: &View, object: &Value) -> Result<()> {
        let owner = cluster_of(object).unwrap_or_default();
        let (space, cluster) = owner.split_once('/').unwrap_or_default();
        let found = view.cluster(space, cluster).context("it has no Cluster")?;
        if certificates::endpoint(found).is_none()
            && !object["spec"]["controlPlaneEndpoint"]["host"].is_string()
        {
            let endpoint = json!({"host": format!("{cluster}.{space}.invalid"), "port": PORT});
            self.patch(object, "", json!({"spec": {"controlPlaneEndpoint": endpoint}})).await?;
        }
        Ok(())
    }

    /// Returns the status of a control plane that has what its spec wants.
    fn followed(&self, object: &Value) -> Value {
        let (spec, now) = (&object["spec"], rfc3339(self.plane.dependencies().clock.now()));
        let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for condition in ["Available", "Ready"] {
            conditions.retain(|present| present["type"] != condition);
            conditions.push(json!({
                "type": condition, "status": "True", "reason": condition, "message": "",
                "lastTransitionTime": now,
            }));
        }
        let mut status = json!({
            "initialization": {"controlPlaneInitialized": true}, "initialized": true, "ready": true,
            "observedGeneration": object["metadata"]["generation"], "conditions": conditions,
        });
        if spec["version"].is_string() {
            status["version"] = spec["version"].clone();
        }
        if spec["replicas"].is_number() {
            for field in
                ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas", "updatedReplicas"]
            {
                status[field] = spec["replicas"].clone();
            }
            status["unavailableReplicas"] = 0.into();
        }
        status
    }

    /// Applies a merge patch to an object, or to a subresource of it such as `/status`.
    async fn patch(&self, object: &Value, subresource: &str, patch: Value) -> Result<()> {
        let Reference { group, kind, .. } = Reference::of(object);
        let definitions = self.plane.registry.definitions();
        let definition = definitions.by_kind(group, kind).context("its kind is not served")?;
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let version = api_version.split_once('/').map_or(api_version, |(_, version)| version);
        let has_status = definition.version(version).is_some_and(|version| version.status);
        let subresource = if has_status { subresource } else { "" };
        let (space, plural) = (namespace(object), &definition.plural);
        let path = format!("/apis/{api_version}/namespaces/{space}/{plural}/{}{subresource}", name(object));
        let request = http::Request::patch(path)
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.to_string().into_bytes())?;
        match self.client.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The status of a provisioned object.
fn provisioned() -> Value {
    json!({"initialization": {"provisioned": true}, "ready": true})
}
