//! Writes objects into a workload cluster.

pub mod difference;
pub mod kinds;
pub mod problem;

use std::future::Future;

use engine::objects::FIELD_MANAGER;
use kube::Client;
use kube::api::{GetParams, Patch, PatchParams, PostParams};
use kube::core::Request;
use machinery::clock::Clock;
use serde_json::Value;

use super::manifests::{Manifest, text};
use super::outcome::Failure;
use crate::limits::{CLUSTER_TIMEOUT, FAILURES_NAMED};
use difference::difference;
use kinds::Kinds;
use problem::Problem;

/// A workload cluster during one reconcile.
pub struct Remote {
    client: Client,
    kinds: Kinds,
    clock: Clock,
    /// When the work on this cluster ends.
    deadline: tokio::time::Instant,
    /// Why no further request is sent.
    lost: Option<String>,
}

type HttpRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl Remote {
    /// Begins the work on a workload cluster.
    pub fn new(client: Client, clock: &Clock) -> Self {
        let deadline = clock.monotonic() + CLUSTER_TIMEOUT;
        Self { client, kinds: Kinds::default(), clock: clock.clone(), deadline, lost: None }
    }

    /// Applies the objects of a resource. The failure of one does not prevent the others, unless the cluster does not answer.
    ///
    /// # Errors
    /// An object could not be applied.
    pub async fn apply(
        &mut self,
        manifests: &[Manifest],
        updates: bool,
        is_secret: bool,
    ) -> Result<(), Failure> {
        let mut failures = Vec::new();
        let mut is_retried = false;
        for manifest in manifests {
            if let Some(reason) = &self.lost {
                failures.push(reason.clone());
                is_retried = true;
                break;
            }
            if let Err(problem) = self.apply_one(manifest, updates).await {
                is_retried |= problem.is_retried();
                if let Problem::NoAnswer(reason) = &problem {
                    self.lost = Some(format!("the workload cluster does not answer: {reason}"));
                } else if failures.len() < FAILURES_NAMED {
                    failures.push(problem.text(manifest, is_secret));
                }
            }
        }
        failures.extend(self.lost.clone().filter(|reason| !failures.contains(reason)));
        if failures.is_empty() { Ok(()) } else { Err(Failure { reason: failures.join(", "), is_retried }) }
    }

    async fn apply_one(&mut self, manifest: &Manifest, updates: bool) -> Result<(), Problem> {
        let object = &manifest.object;
        if let Some(fault) = manifest.fault {
            return Err(Problem::Faulty(fault));
        }
        if updates && manifest.is_generated {
            return Err(Problem::Faulty(
                "metadata.generateName is possible only with the strategy ApplyOnce",
            ));
        }
        let metadata = &object["metadata"];
        let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
        if !self.kinds.knows(api_version) {
            let answer = self.send(kinds::request(api_version)).await;
            self.kinds.learn(api_version, answer)?;
        }
        let resource = self.kinds.get(api_version, kind).ok_or(Problem::NotServed)?.clone();
        let namespace = text(metadata, "namespace");
        if resource.is_namespaced && namespace.is_empty() {
            return Err(Problem::NoNamespace);
        }
        let request = Request::new(resource.path(api_version, namespace));
        if updates && let Some(current) = self.get(&request, text(metadata, "name")).await? {
            return self.change(&request, &current, object).await;
        }
        let body = serde_json::to_vec(object).map_err(|error| Problem::Unreadable(error.to_string()))?;
        let parameters = PostParams { field_manager: Some(FIELD_MANAGER.into()), ..PostParams::default() };
        match self.send(request.create(&parameters, body)).await {
            Err(problem) if !updates && problem.is_already_exists() => {}
            answer => drop(answer?),
        }
        if kind == "CustomResourceDefinition" {
            // The next object may be of the new kind.
            self.kinds = Kinds::default();
        }
        Ok(())
    }

    async fn get(&mut self, request: &Request, name: &str) -> Result<Option<Value>, Problem> {
        match self.send(request.get(name, &GetParams::default())).await {
            Ok(answer) => {
                let parsed = machinery::decode::own(answer.as_bytes());
                parsed.map(Some).map_err(|_| Problem::Unreadable("its answer is no object".to_owned()))
            }
            Err(problem) if problem.is_not_found() => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    async fn change(&mut self, request: &Request, current: &Value, wanted: &Value) -> Result<(), Problem> {
        let Some(patch) = difference(current, wanted) else { return Ok(()) };
        let parameters = PatchParams { field_manager: Some(FIELD_MANAGER.into()), ..PatchParams::default() };
        let name = text(&wanted["metadata"], "name");
        self.send(request.patch(name, &parameters, &Patch::Merge(patch))).await.map(drop)
    }

    /// Sends a request. The client limits the time of the answer.
    fn send(&self, request: HttpRequest) -> impl Future<Output = Result<String, Problem>> + Send + use<> {
        let (client, is_late) = (self.client.clone(), self.clock.monotonic() >= self.deadline);
        async move {
            if is_late {
                let limit = CLUSTER_TIMEOUT.as_secs();
                return Err(Problem::NoAnswer(format!(
                    "the work took longer than {limit} s, the rest is tried later"
                )));
            }
            let request =
                request.map_err(|_| Problem::Unreadable("its name cannot be requested".to_owned()))?;
            client.request_text(request).await.map_err(Problem::of)
        }
    }
}
