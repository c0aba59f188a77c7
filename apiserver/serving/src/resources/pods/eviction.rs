//! `pods/NAME/eviction`: a deletion that PodDisruptionBudgets can refuse.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use machinery::clock::{Clock, rfc3339};
use machinery::meta;
use machinery::selector::LabelSelector;
use machinery::status::Status;
use registry::{Context, DeleteOptions, ListOptions, PatchBody, Preconditions, Registry, Subresource};
use serde_json::{Value, json};

use super::posted::{done, object, posted, served};
use crate::resources::connect::{Connect, ConnectRequest};
use crate::transport::body::Body;

pub(crate) struct Eviction {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
}

impl Connect for Eviction {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let this = Self { registry: self.registry.clone(), clock: self.clock.clone() };
        async move { this.evict(&request).await }.boxed()
    }
}

impl Eviction {
    async fn evict(&self, request: &ConnectRequest) -> Result<Response<Body>, Status> {
        let mut posted = posted(request, "Eviction", &["policy/v1", "policy/v1beta1"])?;
        let pod = object(&self.registry, "pods", &request.namespace, &request.name).await?;
        let options = &posted.object["deleteOptions"];
        posted.context.dry_run |= options["dryRun"].as_array().is_some_and(|list| !list.is_empty());
        if !is_unprotected(&pod) {
            self.ask_budgets(&posted.context, &request.namespace, &pod).await?;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let options = DeleteOptions {
            grace_period_seconds: options["gracePeriodSeconds"].as_i64(),
            preconditions: Preconditions {
                // The budget was asked about this Pod, and not about another one that gets its name.
                uid: text(&options["preconditions"]["uid"]).or_else(|| text(&pod["metadata"]["uid"])),
                resource_version: text(&options["preconditions"]["resourceVersion"]),
            },
            ..DeleteOptions::default()
        };
        let pods = served(&self.registry, "", "pods")?;
        let (namespace, name) = (&request.namespace, &request.name);
        self.registry.delete(&mut posted.context, &pods, namespace, name, &options).await?;
        Ok(done(posted.media, &request.parts.headers))
    }

    /// Uses up one allowed disruption of the Pod's budget, or refuses the eviction.
    async fn ask_budgets(&self, context: &Context, namespace: &str, pod: &Value) -> Result<(), Status> {
        let budgets = served(&self.registry, "policy", "poddisruptionbudgets")?;
        let listed =
            self.registry.list(&mut context.clone(), &budgets, namespace, &ListOptions::default()).await?;
        let all = listed.items.iter().filter_map(|item| machinery::decode::own(&item.object).ok());
        let mut own = all.filter(|budget| selects(budget, pod));
        let Some(budget) = own.next() else { return Ok(()) };
        if own.next().is_some() {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(Status::new(500, "", why));
        }
        let status = &budget["status"];
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        let policy = budget["spec"]["unhealthyPodEvictionPolicy"].as_str().unwrap_or_default();
        let spare = count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0;
        if !is_ready(pod) && (policy == "AlwaysAllow" || spare) {
            return Ok(());
        }
        let name = meta::name(&budget);
        if count("observedGeneration") < meta::generation(&budget) {
            let why = format!("The disruption budget {name} is still being processed by the server.");
            return Err(refused(&why, Some(10)));
        }
        let allowed = count("disruptionsAllowed");
        if allowed <= 0 {
            let (needed, found) = (count("desiredHealthy"), count("currentHealthy"));
            let why =
                format!("The disruption budget {name} needs {needed} healthy pods and has {found} currently");
            return Err(refused(&why, None));
        }
        // A concurrent eviction must see one disruption fewer; the patch fails if the budget was written in
        // between.
        let patch = json!({
            "metadata": {"resourceVersion": meta::resource_version(&budget)},
            "status": {
                "disruptionsAllowed": allowed - 1,
                "disruptedPods": {meta::name(pod): rfc3339(self.clock.now())},
            },
        });
        let patch = PatchBody::Merge(Bytes::from(patch.to_string()));
        let mut context = context.clone();
        self.registry
            .patch(&mut context, &budgets, namespace, name, Subresource::Status, patch)
            .await
            .map(drop)
            .map_err(|status| match status.code {
                409 => refused(
                    &format!("The disruption budget {name} is still being processed by the server."),
                    Some(10),
                ),
                _ => status,
            })
    }
}

/// Returns whether the Pod needs no protection because it does not run.
fn is_unprotected(pod: &Value) -> bool {
    meta::is_deleting(pod)
        || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// Returns whether the budget selects the Pod. A budget without a selector selects none, an empty selector
/// selects all.
fn selects(budget: &Value, pod: &Value) -> bool {
    let selector = &budget["spec"]["selector"];
    selector.is_object()
        && LabelSelector::from_object(selector).is_ok_and(|selector| selector.matches(meta::labels(pod)))
}

fn refused(why: &str, retry: Option<u64>) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
    if let Some(seconds) = retry {
        details["retryAfterSeconds"] = seconds.into();
    }
    status.details = Some(details);
    status
}
