//! Jobs: their Pods run until enough of them have succeeded, which they do at once.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::{is_deleting, uid};
use k8s_openapi::api::batch::v1::{Job, JobCondition, JobSpec, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use workloads::readiness::ready_since;

use super::key::{Key, Outcome};
use super::objects::Objects;
use super::view::{View, is_active, phase};

/// The label and the annotation with the number of a Pod.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const REACHED: (&str, &str) = ("CompletionsReached", "Reached expected number of succeeded pods");

/// What is to be done for a Job.
struct Plan {
    /// The Pods to create; those of an indexed Job have numbers.
    create: Vec<Option<i32>>,
    delete: Vec<Arc<Pod>>,
    status: JobStatus,
}

/// Reconciles a Job.
pub(super) async fn reconcile(objects: &Objects, view: &View, key: &Key) -> Outcome {
    let Some(job) = objects.get::<Job>(key) else { return Ok(None) };
    let Some(spec) = job.spec.clone().filter(|_| !is_deleting(&job)) else { return Ok(None) };
    if spec.managed_by.as_deref().is_some_and(|by| by != "kubernetes.io/job-controller") {
        return Ok(None);
    }
    if let Some(end) = job.status.as_ref().and_then(|status| status.completion_time.as_ref()) {
        return expire(objects, key, &spec, engine::time::utc(end)).await;
    }
    let plan = plan(&job, &spec, &view.pods_of(uid(&job)), objects.now());
    for index in plan.create {
        objects.create(&pod(objects, &job, &spec, index)).await?;
    }
    for pod in &plan.delete {
        objects.delete_pod(pod).await?;
    }
    objects.write_status(key, &job.status, &plan.status).await?;
    Ok(None)
}

/// Deletes a finished Job after its time to live.
async fn expire(objects: &Objects, key: &Key, spec: &JobSpec, end: DateTime<Utc>) -> Outcome {
    let Some(seconds) = spec.ttl_seconds_after_finished else { return Ok(None) };
    let left = end + TimeDelta::seconds(seconds.into()) - objects.now();
    match left.to_std() {
        Ok(left) if left > Duration::ZERO => Ok(Some(left)),
        _ => objects.api.delete(key.place()).await.map(|()| None),
    }
}

fn pod(objects: &Objects, job: &Job, spec: &JobSpec, index: Option<i32>) -> Pod {
    let number = index.map(|index| format!("{index}-")).unwrap_or_default();
    let name = format!("{}-{number}{}", job.name_any(), objects.random.name_suffix());
    let mut pod = workloads::pods::pod(job, &spec.template, name);
    if let Some(index) = index {
        pod.labels_mut().insert(INDEX.to_owned(), index.to_string());
        pod.annotations_mut().insert(INDEX.to_owned(), index.to_string());
        pod.spec.get_or_insert_default().hostname = Some(format!("{}-{index}", job.name_any()));
    }
    pod
}

fn plan(job: &Job, spec: &JobSpec, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Plan {
    let parallel = spec.parallelism.unwrap_or(1);
    let is_indexed = spec.completion_mode.as_deref() == Some("Indexed");
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| is_active(pod)).collect();
    let with = |wanted: &str| pods.iter().filter(|pod| phase(pod) == wanted).collect::<Vec<_>>();
    let (succeeded, failed) = (with("Succeeded"), with("Failed"));
    let index_of = |pod: &Pod| pod.labels().get(INDEX)?.parse::<i32>().ok();
    let mut done: Vec<i32> = succeeded.iter().filter_map(|pod| index_of(pod)).collect();
    done.sort_unstable();
    done.dedup();
    let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let count = if is_indexed { number(done.len()) } else { number(succeeded.len()) };
    // Without a number of completions, the first success is enough.
    let is_complete = match spec.completions {
        Some(completions) => count >= completions,
        None => count > 0 && active.is_empty(),
    };
    let is_suspended = spec.suspend == Some(true);
    let left = spec.completions.map_or(if count > 0 { 0 } else { parallel }, |all| all - count);
    let wanted = if is_suspended || is_complete { 0 } else { parallel.min(left).max(0) };
    let missing = engine::batch::to_create(wanted, active.len());
    let taken: Vec<i32> = active.iter().filter_map(|pod| index_of(pod)).chain(done.iter().copied()).collect();
    let free = (0..spec.completions.unwrap_or_default()).filter(|index| !taken.contains(index));
    let create = match is_indexed {
        true => free.take(missing).map(Some).collect(),
        false => vec![None; missing],
    };
    let extra = active.len().saturating_sub(usize::try_from(wanted).unwrap_or_default());
    let delete: Vec<Arc<Pod>> = active.iter().take(extra).map(|pod| (*pod).clone()).collect();
    let before = job.status.clone().unwrap_or_default();
    let ready = active.iter().filter(|pod| ready_since(pod).is_some()).count();
    let mut status = JobStatus {
        active: Some(number(active.len())).filter(|count| *count > 0),
        ready: Some(number(ready)),
        terminating: Some(0),
        succeeded: Some(count).filter(|count| *count > 0),
        failed: Some(number(failed.len())).filter(|count| *count > 0),
        completed_indexes: is_indexed.then(|| intervals(&done)).filter(|text| !text.is_empty()),
        start_time: before.start_time.clone().or_else(|| (!is_suspended).then(|| engine::time::time(now))),
        uncounted_terminated_pods: Some(UncountedTerminatedPods::default()),
        ..before
    };
    if is_complete && active.is_empty() && !is_suspended {
        status.completion_time = Some(engine::time::time(now));
        let conditions = status.conditions.get_or_insert_default();
        conditions.extend(["SuccessCriteriaMet", "Complete"].map(|kind| condition(kind, now)));
    }
    Plan { create, delete, status }
}

fn condition(kind: &str, now: DateTime<Utc>) -> JobCondition {
    JobCondition {
        type_: kind.to_owned(),
        status: "True".to_owned(),
        reason: Some(REACHED.0.to_owned()),
        message: Some(REACHED.1.to_owned()),
        last_probe_time: Some(engine::time::time(now)),
        last_transition_time: Some(engine::time::time(now)),
    }
}

/// Writes sorted numbers as the API does: `0-2,4`.
fn intervals(numbers: &[i32]) -> String {
    let mut parts: Vec<(i32, i32)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == *number => *end = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let show = |(start, end): (i32, i32)| match start == end {
        true => start.to_string(),
        false => format!("{start}-{end}"),
    };
    parts.into_iter().map(show).collect::<Vec<_>>().join(",")
}
