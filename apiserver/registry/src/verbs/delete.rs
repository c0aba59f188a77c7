//! Deletion of objects: at once, or delayed by finalizers or a grace period.

use chrono::{DateTime, Utc};
use kinds::Subresource;
use kinds::strategy::Strategy;
use machinery::meta;
use machinery::status::Status;
use serde_json::{Value, json};

use super::preconditions::check_preconditions;
use crate::admission::review::Operation;
use crate::context::{Context, DeleteOptions, INTERNAL, Propagation};
use crate::response::Deleted;
use crate::target::Target;
use crate::versions::convert;
use crate::versions::definitions::Served;
use crate::versions::fields;
use crate::write::change::held;
use crate::write::changed::Failure;
use crate::write::writes::Writes;

/// The finalizers by which the garbage collector recognizes what a deletion does with the dependents.
pub(super) const ORPHAN: &str = "orphan";
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Maximum number of attempts if the object changes at the same time.
const ATTEMPTS: usize = 100;

/// Deletes an object, or marks it as deleted if finalizers or a grace period delay its removal.
pub(crate) async fn delete(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    name: &str,
    options: &DeleteOptions,
) -> Result<Deleted, Status> {
    let target = Target { served, namespace, name, subresource: Subresource::None };
    context.propagation = options.policy();
    let aside = context.aside.clone();
    let deleting = async {
        for _ in 0..ATTEMPTS {
            match try_delete(writes, context, &target, options).await {
                Ok(deleted) => return Ok(deleted),
                Err(Failure::Refused(status)) => return Err(status),
                Err(Failure::Raced) => {}
            }
        }
        Err(target.modified())
    };
    aside.perform(writes.storage().bytes(&target.key()), deleting).await?
}

async fn try_delete(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    options: &DeleteOptions,
) -> Result<Deleted, Failure> {
    let served = target.served;
    let entry = writes.storage().get(&target.key()).ok_or_else(|| target.not_found())?;
    // The server itself may delete such objects.
    if context.user.name != INTERNAL {
        convert::check_version(served, &entry)?;
    }
    let mut object = writes.versions().read(served, &entry).await?;
    check_preconditions(target, &object, &options.preconditions)?;
    writes.admission().mutate_deletion(context, target, &object).await?;
    writes.admission().validate(context, target, Operation::Delete, Some(&object), &object).await?;
    let uid = meta::uid(&object).to_owned();
    let before = object.clone();
    let strategy = served.strategy();
    let end = End::of(strategy, &object, options.grace_period_seconds, writes.clock().now());
    if matches!(end, End::Pending) {
        let object = writes.versions().show(served, &entry.value, entry.revision).await?;
        return Ok(Deleted::Object { object, accepted: false });
    }
    strategy.prepare_delete(&mut object);
    let orphans = strategy.orphans_by_default();
    set_finalizers(&mut object, options, orphans);
    let silent = options.orphan_dependents.is_none() && options.propagation.is_none();
    if orphans && silent {
        context.warnings.extend(strategy.orphan_warning().map(str::to_owned));
    }
    if let Some(why) = strategy.undeletable(target.name) {
        return Err(Status::forbidden(served.resource(), target.name, why).into());
    }
    if let End::Until { time, seconds } = end {
        mark(strategy, &mut object, time, seconds);
    }
    if !held(&object) {
        let last = fields::document(served, &writes.versions().to_storage(served, object).await?);
        let mut revision = entry.revision;
        if !context.dry_run {
            let removed = writes.storage().remove(&target.key(), &entry).await;
            revision = removed.map_err(Failure::from)?;
            served.prove(&target.key(), revision, false);
            writes.removed(served, target.name, &uid).await;
        }
        if strategy.delete_returns_object() {
            let object = writes.versions().show_unstored(served, last.at(revision)).await?;
            return Ok(Deleted::Object { object, accepted: false });
        }
        return Ok(Deleted::Status(success(served, target.name, &uid)));
    }
    if matches!(end, End::Now) && !meta::is_deleting(&object) {
        mark(strategy, &mut object, writes.clock().now(), 0);
    }
    let mut document = fields::document(served, &writes.versions().to_storage(served, object.clone()).await?);
    let revision = if context.dry_run || object == before {
        entry.revision
    } else {
        let shown = document.clone();
        let put = writes.storage().put(&target.key(), Some(entry.revision), document).await;
        let entry = put.map_err(Failure::from)?;
        document = shown;
        writes.wrote(served, &entry).await;
        entry.revision
    };
    let object = writes.versions().show_unstored(served, document.at(revision)).await?;
    Ok(Deleted::Object { object, accepted: false })
}

/// The time at which a deleted object is removed, unless finalizers delay it.
enum End {
    /// At once: the kind has no grace period, or the period is over.
    Now,
    /// After a grace period, which is recorded in the object. With `seconds` 0, the period is recorded and the object
    /// is removed at once.
    Until { time: DateTime<Utc>, seconds: i64 },
    /// After the grace period of an earlier deletion, which this deletion does not shorten.
    Pending,
}

impl End {
    /// Determines the end of the object. If a deletion is in progress already, its period can only be shortened.
    fn of(strategy: &dyn Strategy, object: &Value, asked: Option<i64>, now: DateTime<Utc>) -> Self {
        let asked = asked.map(|seconds| if seconds < 0 { 1 } else { seconds });
        let Some(period) = strategy.grace_period(object, asked) else { return Self::Now };
        let deleted = object["metadata"]["deletionTimestamp"].as_str();
        let Some(deleted) = deleted.and_then(machinery::clock::parse_rfc3339) else {
            let time = now + chrono::Duration::seconds(period);
            return Self::Until { time, seconds: period };
        };
        let current = object["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        match asked {
            _ if current == 0 => Self::Now,
            Some(asked) if asked < current => {
                let time = deleted + chrono::Duration::seconds(asked - current);
                // The kubelet must see the change before the object is removed, even if the shorter period is over
                // already.
                let seconds = if time < now { asked.min(1) } else { asked };
                Self::Until { time: time.max(now), seconds }
            }
            _ => Self::Pending,
        }
    }
}

/// Records the deletion timestamp and the grace period. The first deletion increments the generation.
fn mark(strategy: &dyn Strategy, object: &mut Value, time: DateTime<Utc>, seconds: i64) {
    let generation = meta::generation(object);
    let Some(metadata) = meta::metadata_mut(object) else { return };
    let first = metadata.get("deletionTimestamp").is_none();
    metadata.insert("deletionTimestamp".into(), machinery::clock::rfc3339(time).into());
    if !strategy.graceful() {
        return;
    }
    metadata.insert("deletionGracePeriodSeconds".into(), seconds.into());
    if first && generation > 0 {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

/// Sets the finalizers of the garbage collector according to the requested propagation policy.
fn set_finalizers(object: &mut Value, options: &DeleteOptions, orphans_by_default: bool) {
    let current: Vec<&str> = meta::finalizers(object).collect();
    let orphan = match (options.orphan_dependents, options.propagation) {
        (Some(orphan), _) => orphan,
        (None, Some(propagation)) => propagation == Propagation::Orphan,
        (None, None) if current.contains(&FOREGROUND) => false,
        (None, None) => orphans_by_default || current.contains(&ORPHAN),
    };
    let foreground = match (options.orphan_dependents, options.propagation) {
        (Some(_), _) => false,
        (None, Some(propagation)) => propagation == Propagation::Foreground,
        (None, None) => current.contains(&FOREGROUND),
    };
    let mut finalizers: Vec<Value> = current
        .iter()
        .filter(|name| ![ORPHAN, FOREGROUND].contains(name))
        .map(|name| (*name).into())
        .collect();
    if orphan {
        finalizers.push(ORPHAN.into());
    }
    if foreground {
        finalizers.push(FOREGROUND.into());
    }
    let same = finalizers.len() == current.len()
        && current.iter().all(|name| finalizers.iter().any(|finalizer| finalizer == name));
    let Some(metadata) = meta::metadata_mut(object) else { return };
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else if !same {
        metadata.insert("finalizers".into(), finalizers.into());
    }
}

/// Returns the `Status` of a completed deletion.
fn success(served: &Served, name: &str, uid: &str) -> Value {
    let mut details = json!({"name": name, "kind": served.definition.plural, "uid": uid});
    if !served.definition.group.is_empty() {
        details["group"] = served.definition.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
