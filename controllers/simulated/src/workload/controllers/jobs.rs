//! Jobs: their Pods run until enough of them have succeeded, which they do at once.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::{is_deleting, uid};
use k8s_openapi::api::batch::v1::{Job, JobSpec, JobStatus, UncountedTerminatedPods};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use workloads::readiness::ready_since;

use super::job_state;
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
    /// When it is looked at again without a change.
    again: Option<Duration>,
}

/// Reconciles a Job.
pub(super) async fn reconcile(objects: &Objects, view: &View, key: &Key) -> Outcome {
    let Some(job) = objects.get::<Job>(key) else { return Ok(None) };
    let Some(spec) = job.spec.clone().filter(|_| !is_deleting(&job)) else { return Ok(None) };
    if spec.managed_by.as_deref().is_some_and(|by| by != "kubernetes.io/job-controller") {
        return Ok(None);
    }
    if let Some(end) = job_state::ended_at(&job) {
        return expire(objects, key, &spec, end).await;
    }
    let plan = plan(&job, &spec, &view.pods_of(uid(&job)), objects.now());
    for index in plan.create {
        objects.create(&pod(objects, &job, &spec, index)).await?;
    }
    for pod in &plan.delete {
        objects.delete_pod(pod).await?;
    }
    objects.write_status(key, &job.status, &plan.status).await?;
    Ok(plan.again)
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

/// The Pods of a Job.
struct Found<'a> {
    active: Vec<&'a Arc<Pod>>,
    succeeded: Vec<&'a Arc<Pod>>,
    failed: Vec<&'a Arc<Pod>>,
    /// The numbers that have succeeded, in order.
    done: Vec<i32>,
    /// How many successes count.
    count: i32,
}

impl<'a> Found<'a> {
    fn of(pods: &'a [Arc<Pod>], is_indexed: bool) -> Self {
        let with = |wanted: &str| pods.iter().filter(|pod| phase(pod) == wanted).collect::<Vec<_>>();
        let (succeeded, failed) = (with("Succeeded"), with("Failed"));
        let mut done: Vec<i32> = succeeded.iter().filter_map(|pod| index_of(pod)).collect();
        done.sort_unstable();
        done.dedup();
        let count = number(if is_indexed { done.len() } else { succeeded.len() });
        Self { active: pods.iter().filter(|pod| is_active(pod)).collect(), succeeded, failed, done, count }
    }

    /// Returns how many Pods are to be active. Without a number of completions, those that run go on after the first success.
    fn wanted(&self, spec: &JobSpec) -> i32 {
        let parallel = spec.parallelism.unwrap_or(1);
        match spec.completions {
            None if self.count > 0 => number(self.active.len()),
            None => parallel,
            Some(all) => parallel.min(all - self.count).max(0),
        }
    }

    /// Returns the numbers of new Pods.
    fn numbers(&self, spec: &JobSpec, missing: usize) -> Vec<Option<i32>> {
        if spec.completion_mode.as_deref() != Some("Indexed") {
            return vec![None; missing];
        }
        let active = self.active.iter().filter_map(|pod| index_of(pod));
        let taken: BTreeSet<i32> = active.chain(self.done.iter().copied()).collect();
        let free = (0..spec.completions.unwrap_or_default()).filter(|index| !taken.contains(index));
        free.take(missing).map(Some).collect()
    }
}

fn index_of(pod: &Pod) -> Option<i32> {
    pod.labels().get(INDEX)?.parse().ok()
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

fn plan(job: &Job, spec: &JobSpec, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Plan {
    let is_indexed = spec.completion_mode.as_deref() == Some("Indexed");
    let found = Found::of(pods, is_indexed);
    let is_suspended = spec.suspend == Some(true);
    let failure = job_state::failure(job, spec, number(found.failed.len()), now);
    let wanted = if is_suspended || failure.is_some() { 0 } else { found.wanted(spec) };
    let missing = engine::batch::to_create(wanted, found.active.len());
    let wait = job_state::backoff(&found.succeeded, &found.failed, now).filter(|_| missing > 0);
    let create = if wait.is_some() { Vec::new() } else { found.numbers(spec, missing) };
    let extra = found.active.len().saturating_sub(usize::try_from(wanted).unwrap_or_default());
    let delete: Vec<Arc<Pod>> = found.active.iter().take(extra).map(|pod| (*pod).clone()).collect();
    let deadline = job_state::until_deadline(job, spec, now).and_then(|left| left.to_std().ok());
    let deadline = deadline.filter(|_| failure.is_none());
    let status = status(job, spec, &found, failure, now);
    Plan { create, delete, status, again: [wait, deadline].into_iter().flatten().min() }
}

fn status(
    job: &Job,
    spec: &JobSpec,
    found: &Found<'_>,
    failure: Option<job_state::Cause>,
    now: DateTime<Utc>,
) -> JobStatus {
    let is_suspended = spec.suspend == Some(true);
    let is_indexed = spec.completion_mode.as_deref() == Some("Indexed");
    let before = job.status.clone().unwrap_or_default();
    let ready = found.active.iter().filter(|pod| ready_since(pod).is_some()).count();
    let some = |count: usize| Some(number(count)).filter(|count| *count > 0);
    let mut status = JobStatus {
        active: some(found.active.len()),
        ready: Some(number(ready)),
        terminating: Some(0),
        succeeded: Some(found.count).filter(|count| *count > 0),
        failed: some(found.failed.len()),
        completed_indexes: is_indexed.then(|| intervals(&found.done)).filter(|text| !text.is_empty()),
        start_time: before.start_time.clone().or_else(|| (!is_suspended).then(|| engine::time::time(now))),
        uncounted_terminated_pods: Some(UncountedTerminatedPods::default()),
        ..before
    };
    let is_idle = found.active.is_empty();
    let is_complete = is_idle && found.count > 0 && spec.completions.is_none_or(|all| found.count >= all)
        || is_idle && spec.completions == Some(0);
    if let Some(cause) = failure {
        job_state::set(&mut status, "FailureTarget", "True", cause.clone(), now);
        if is_idle {
            job_state::set(&mut status, "Failed", "True", cause, now);
        }
    } else if is_complete {
        status.completion_time = Some(engine::time::time(now));
        let cause = (REACHED.0.to_owned(), REACHED.1.to_owned());
        for kind in ["SuccessCriteriaMet", "Complete"] {
            job_state::set(&mut status, kind, "True", cause.clone(), now);
        }
    } else {
        job_state::suspend(&mut status, is_suspended, now);
    }
    status
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
