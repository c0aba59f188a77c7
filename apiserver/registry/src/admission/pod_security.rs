//! The Pod Security Standards that the labels of a namespace demand.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kinds::Subresource;
use kinds::standards::{self, Level, LevelVersion, Policy};
use machinery::clock::Clock;
use machinery::field::FieldError;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;
use store::Stored;

use super::plugins::forbidden;
use super::review::Operation;
use crate::aside::Aside;
use crate::storage::entries::Storage;
use crate::storage::outline;
use crate::target::Target;

/// Maximum number of pods that are looked at when a namespace gets another level.
const PODS: usize = 3000;
/// Maximum time that is spent on these pods.
const PODS_TIME: Duration = Duration::from_secs(1);

/// The plugin, with what it needs for one write.
pub(crate) struct PodSecurity<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) clock: &'a Clock,
    /// How the pods of a namespace are looked through.
    pub(crate) aside: &'a Aside,
}

impl PodSecurity<'_> {
    /// Checks an object, and returns warnings.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn check(
        &self,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<Vec<String>, Status> {
        let definition = &target.served.definition;
        if !definition.built_in || operation == Operation::Delete {
            return Ok(Vec::new());
        }
        let is_whole = target.subresource == Subresource::None;
        let template = match (definition.group.as_str(), definition.plural.as_str()) {
            ("", "namespaces") if is_whole => return self.of_namespace(old, object).await,
            ("", "pods") => {
                let parts = [Subresource::None, Subresource::EphemeralContainers, Subresource::Resize];
                let concerns =
                    parts.contains(&target.subresource) && old.is_none_or(|old| differs(object, old));
                return if concerns { of_pod(self.storage, target, object) } else { Ok(Vec::new()) };
            }
            _ if !is_whole => return Ok(Vec::new()),
            ("", "podtemplates") => &object["template"],
            ("", "replicationcontrollers")
            | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
            | ("batch", "jobs") => &object["spec"]["template"],
            ("batch", "cronjobs") => &object["spec"]["jobTemplate"]["spec"]["template"],
            _ => return Ok(Vec::new()),
        };
        let Some(policy) = policy(self.storage, target.namespace).filter(|_| template.is_object()) else {
            return Ok(Vec::new());
        };
        Ok(warning(policy.warn, template).into_iter().collect())
    }

    async fn of_namespace(&self, old: Option<&Value>, namespace: &Value) -> Result<Vec<String>, Status> {
        match raised(old, namespace)? {
            Some(enforce) => Ok(self.existing_pods(meta::name(namespace), enforce).await),
            None => Ok(Vec::new()),
        }
    }

    /// Warns of the pods that a new level would refuse.
    async fn existing_pods(&self, namespace: &str, enforce: LevelVersion) -> Vec<String> {
        let (stored, _) = self.storage.range(&format!("/registry/core/pods/{namespace}/"));
        let all = stored.len();
        let bytes: usize = stored.iter().map(|stored| stored.value.len()).sum();
        let judging = async { judge(stored, enforce, self.clock) };
        let Ok((found, checked)) = self.aside.perform(bytes, judging).await else {
            // Nobody has looked at them, and no level is refused for its warnings.
            return vec!["failed to list pods while checking new PodSecurity enforce level".to_owned()];
        };
        warnings_of(found, (checked, all), namespace, enforce)
    }
}

/// Returns the policy of a namespace; `None` if there is no such namespace.
fn policy(storage: &Storage, namespace: &str) -> Option<Policy> {
    let stored = storage.stored(&format!("/registry/core/namespaces/{namespace}"))?;
    let outline = outline::of(&stored)?;
    Some(Policy::of(|key| outline.label(key)).0)
}

/// Reads the policy of a namespace that is written, and says which of its labels are malformed.
fn policy_of(namespace: &Value) -> (Policy, Vec<FieldError>) {
    let labels = meta::labels(namespace);
    Policy::of(|key| labels?.get(key)?.as_str())
}

fn warning(policy: LevelVersion, pod: &Value) -> Option<String> {
    let found = standards::violations(policy, &pod["metadata"]["annotations"], &pod["spec"]);
    (!found.is_empty())
        .then(|| format!("would violate PodSecurity \"{policy}\": {}", standards::details(&found)))
}

fn of_pod(storage: &Storage, target: &Target<'_>, pod: &Value) -> Result<Vec<String>, Status> {
    let Some(policy) = policy(storage, target.namespace) else { return Ok(Vec::new()) };
    let enforce = policy.enforce;
    let found = standards::violations(enforce, &pod["metadata"]["annotations"], &pod["spec"]);
    if !found.is_empty() {
        let why = format!("violates PodSecurity \"{enforce}\": {}", standards::details(&found));
        return Err(forbidden(target, pod, &why));
    }
    Ok(warning(policy.warn, pod).into_iter().collect())
}

/// Returns whether an update changes what the standards are about: the containers and their images.
fn differs(pod: &Value, old: &Value) -> bool {
    let images = |pod: &Value, field: &str| -> Vec<Value> {
        let containers = pod["spec"][field].as_array().into_iter().flatten();
        containers.map(|container| container["image"].clone()).collect()
    };
    ["containers", "initContainers", "ephemeralContainers"]
        .into_iter()
        .any(|field| images(pod, field) != images(old, field))
}

/// Returns the level that the pods of a namespace have to satisfy from now on, if it is not one that they satisfied before.
///
/// # Errors
/// 422 for labels that are wrong and were not before.
fn raised(old: Option<&Value>, namespace: &Value) -> Result<Option<LevelVersion>, Status> {
    let (policy, errors) = policy_of(namespace);
    let before = old.map(policy_of);
    let same = |(_, before): &(Policy, Vec<_>)| !before.is_empty() && *before == errors;
    if !errors.is_empty() && !before.as_ref().is_some_and(same) {
        return Err(Status::invalid("", "Namespace", meta::name(namespace), &errors));
    }
    let Some((before, _)) = before else { return Ok(None) };
    let (now, then) = (policy.enforce, before.enforce);
    let is_relaxed = now.version == then.version && now.level <= then.level;
    let is_satisfied = now == then || now.level == Level::Privileged || is_relaxed;
    Ok((!is_satisfied).then_some(now))
}

/// Puts one pod of each controller first, because its other pods hardly differ. What counts as the controller is the first owner, which is the
/// only one of nearly all pods.
fn by_controller(pods: Vec<Arc<Stored>>) -> Vec<Arc<Stored>> {
    let mut seen = HashSet::new();
    let (mut first, mut others) = (Vec::with_capacity(pods.len()), Vec::new());
    for pod in pods {
        let owner = outline::of(&pod).and_then(|outline| outline.owners.first());
        let is_first = owner.is_none_or(|owner| seen.insert(owner.uid.clone()));
        let list = if is_first { &mut first } else { &mut others };
        list.push(pod);
    }
    first.append(&mut others);
    first
}

/// The names of the pods that break a level, by how they break it.
type Found = BTreeMap<String, Vec<String>>;

/// Looks at the pods for at most [`PODS_TIME`], and says at how many.
fn judge(pods: Vec<Arc<Stored>>, enforce: LevelVersion, clock: &Clock) -> (Found, usize) {
    let begun = clock.monotonic();
    let pods = by_controller(pods);
    let mut found = Found::new();
    for (index, stored) in pods.iter().take(PODS).enumerate() {
        let pod = machinery::decode::own::<Value>(&stored.value).unwrap_or_default();
        let violations = standards::violations(enforce, &pod["metadata"]["annotations"], &pod["spec"]);
        if !violations.is_empty() {
            found.entry(standards::reasons(&violations)).or_default().push(stored.key.name().to_owned());
        }
        if clock.monotonic().duration_since(begun) >= PODS_TIME {
            return (found, index + 1);
        }
    }
    (found, pods.len().min(PODS))
}

/// Returns the warnings of what was found in `checked` of `all` pods.
fn warnings_of(
    found: Found,
    (checked, all): (usize, usize),
    namespace: &str,
    enforce: LevelVersion,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if checked < all {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {all} existing pods"
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
        ));
    }
    let shown = |(why, pods): (String, Vec<String>)| {
        let first = pods.iter().min().cloned().unwrap_or_default();
        match pods.len() {
            1 => format!("{first}: {why}"),
            2 => format!("{first} (and 1 other pod): {why}"),
            count => format!("{first} (and {} other pods): {why}", count - 1),
        }
    };
    let mut lines: Vec<String> = found.into_iter().map(shown).collect();
    lines.sort();
    warnings.extend(lines);
    warnings
}
