//! StatefulSets: Pods with numbers, one after another.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::object::{is_deleting, uid};
use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Pod, Volume};
use kube::ResourceExt;
use workloads::pods::{REVISION_HASH, hash};
use workloads::readiness::ready_since;

use super::key::{Key, Outcome};
use super::objects::Objects;
use super::view::{View, has_ended};

const INDEX: &str = "apps.kubernetes.io/pod-index";
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";

/// What is to be done for a StatefulSet.
struct Plan {
    /// The number of the Pod to create.
    create: Vec<i32>,
    delete: Vec<Arc<Pod>>,
    status: StatefulSetStatus,
    again: Option<Duration>,
}

/// Reconciles a StatefulSet.
pub(super) async fn reconcile(objects: &Objects, view: &View, key: &Key) -> Outcome {
    let Some(set) = objects.get::<StatefulSet>(key) else { return Ok(None) };
    if is_deleting(&set) {
        return Ok(None);
    }
    let revision = format!("{}-{}", key.name, hash(&set.spec.template));
    let plan = plan(&set, &revision, &view.pods_of(uid(&set)), objects.now());
    for number in plan.create {
        for mut claim in set.spec.volume_claim_templates.clone().unwrap_or_default() {
            claim.metadata.name = Some(format!("{}-{}-{number}", claim.name_any(), key.name));
            claim.metadata.namespace = Some(key.namespace.clone());
            objects.create(&claim).await?;
        }
        objects.create(&pod(&set, &revision, number)).await?;
    }
    for pod in &plan.delete {
        objects.delete_pod(pod).await?;
    }
    objects.write_status(key, &set.status, &plan.status).await?;
    Ok(plan.again)
}

fn pod(set: &StatefulSet, revision: &str, number: i32) -> Pod {
    let name = format!("{}-{number}", set.name_any());
    let mut pod = workloads::pods::pod(set, &set.spec.template, name.clone());
    let labels =
        [(REVISION_HASH, revision.to_owned()), (INDEX, number.to_string()), (POD_NAME, name.clone())];
    pod.labels_mut().extend(labels.map(|(key, value)| (key.to_owned(), value)));
    let spec = pod.spec.get_or_insert_default();
    spec.hostname = Some(name.clone());
    spec.subdomain = set.spec.service_name.clone().filter(|service| !service.is_empty());
    for claim in set.spec.volume_claim_templates.iter().flatten() {
        let source = PersistentVolumeClaimVolumeSource {
            claim_name: format!("{}-{name}", claim.name_any()),
            read_only: None,
        };
        let volumes = spec.volumes.get_or_insert_default();
        volumes.retain(|volume| volume.name != claim.name_any());
        volumes.push(Volume {
            name: claim.name_any(),
            persistent_volume_claim: Some(source),
            ..Volume::default()
        });
    }
    pod
}

fn plan(set: &StatefulSet, revision: &str, pods: &[Arc<Pod>], now: DateTime<Utc>) -> Plan {
    let first = set.spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
    let wanted = set.spec.replicas.unwrap_or(1);
    let one_by_one = set.spec.pod_management_policy.as_deref() != Some("Parallel");
    let least = TimeDelta::seconds(set.spec.min_ready_seconds.unwrap_or_default().into());
    let is_available = |pod: &Pod| ready_since(pod).is_some_and(|since| since + least <= now);
    let is_healthy = |pod: &Pod| !is_deleting(pod) && is_available(pod);
    let is_current = |pod: &Pod| pod.labels().get(REVISION_HASH).is_some_and(|own| own == revision);
    let number_of = |pod: &Pod| pod.name_any().rsplit('-').next().and_then(|end| end.parse::<i32>().ok());
    let find = |number: i32| pods.iter().find(|pod| number_of(pod) == Some(number));
    let (mut create, mut delete) = (Vec::new(), Vec::new());
    // The first that is missing or not healthy holds up those after it.
    let mut is_whole = true;
    for number in first..first.saturating_add(wanted) {
        match find(number) {
            None => create.push(number),
            Some(pod) if has_ended(pod) && !is_deleting(pod.as_ref()) => delete.push(pod.clone()),
            Some(pod) if is_healthy(pod) => continue,
            Some(_) => {}
        }
        is_whole = false;
        if one_by_one || create.len() >= engine::batch::CREATED_AT_ONCE {
            break;
        }
    }
    let is_wanted = |number: i32| (first..first.saturating_add(wanted)).contains(&number);
    let mut condemned: Vec<(i32, &Arc<Pod>)> = pods
        .iter()
        .filter_map(|pod| Some((number_of(pod)?, pod)))
        .filter(|(number, _)| !is_wanted(*number))
        .collect();
    condemned.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    if is_whole || !one_by_one {
        let going = if one_by_one { 1 } else { condemned.len() };
        let going = condemned.iter().take(going).filter(|(_, pod)| !is_deleting(pod.as_ref()));
        delete.extend(going.map(|(_, pod)| (*pod).clone()));
    }
    if is_whole && condemned.is_empty() {
        let partition = partition(set);
        let old = (first.max(partition)..first.saturating_add(wanted)).rev().filter_map(find);
        delete.extend(old.filter(|pod| !is_current(pod)).take(1).cloned());
    }
    let status = status(set, revision, pods, (&is_available, &is_current));
    let next = pods.iter().filter_map(|pod| ready_since(pod)).map(|since| since + least);
    let again = next.filter(|time| *time > now).min().and_then(|time| (time - now).to_std().ok());
    Plan { create, delete, status, again }
}

/// Returns the lowest number of a Pod that a new template replaces.
fn partition(set: &StatefulSet) -> i32 {
    match set.spec.update_strategy.as_ref() {
        Some(strategy) if strategy.type_.as_deref() == Some("OnDelete") => i32::MAX,
        Some(strategy) => {
            strategy.rolling_update.as_ref().and_then(|rolling| rolling.partition).unwrap_or_default()
        }
        None => 0,
    }
}

/// Whether a Pod is available, and whether it has the current template.
type Judges<'a> = (&'a dyn Fn(&Pod) -> bool, &'a dyn Fn(&Pod) -> bool);

fn status(
    set: &StatefulSet,
    revision: &str,
    pods: &[Arc<Pod>],
    (is_available, is_current): Judges<'_>,
) -> StatefulSetStatus {
    let before = set.status.clone().unwrap_or_default();
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| !has_ended(pod)).collect();
    let count = |holds: &dyn Fn(&Pod) -> bool| {
        i32::try_from(active.iter().filter(|pod| holds(pod)).count()).unwrap_or(i32::MAX)
    };
    let wanted = set.spec.replicas.unwrap_or(1);
    let updated = count(&|pod| !is_deleting(pod) && is_current(pod));
    let ready = count(&|pod| ready_since(pod).is_some());
    let last = before.current_revision.filter(|last| !last.is_empty());
    let is_complete = updated == wanted && ready == wanted && count(&|_| true) == wanted;
    let current = match last {
        Some(last) if !is_complete => last,
        _ => revision.to_owned(),
    };
    let of_current =
        |pod: &Pod| !is_deleting(pod) && pod.labels().get(REVISION_HASH).is_some_and(|own| *own == current);
    StatefulSetStatus {
        replicas: count(&|_| true),
        ready_replicas: Some(ready),
        available_replicas: Some(count(is_available)),
        current_replicas: Some(count(&of_current)),
        updated_replicas: Some(updated),
        current_revision: Some(current),
        update_revision: Some(revision.to_owned()),
        observed_generation: set.metadata.generation,
        collision_count: Some(before.collision_count.unwrap_or_default()),
        conditions: before.conditions,
    }
}
