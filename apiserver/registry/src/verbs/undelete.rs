//! Taking back a deletion. Kubernetes has no such verb; an embedder offers it for kinds whose controllers wait before they act on a deletion.

use kinds::Subresource;
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use super::delete::{FOREGROUND, ORPHAN};
use super::preconditions::check_preconditions;
use crate::admission::review::Operation;
use crate::context::{Context, Preconditions};
use crate::response::Written;
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::versions::fields;
use crate::versions::reader::Reader;
use crate::write::changed::Failure;
use crate::write::writes::Writes;

/// Maximum number of attempts if the object changes at the same time.
const ATTEMPTS: usize = 100;

/// Takes back the deletion of an object that its finalizers still hold, if `check` allows it for the stored object. The result is
/// stored only if the object is unchanged since that check. Admission sees an update. The generation rises, as it does for a deletion.
pub(crate) async fn undelete(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    (namespace, name): (&str, &str),
    preconditions: &Preconditions,
    check: impl Fn(&Value, &Reader<'_>) -> Result<(), Status>,
) -> Result<Written, Status> {
    let target = Target { served, namespace, name, subresource: Subresource::None };
    for _ in 0..ATTEMPTS {
        match try_undelete(writes, context, &target, preconditions, &check).await {
            Ok(written) => return Ok(written),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) => {}
        }
    }
    Err(target.modified())
}

async fn try_undelete(
    writes: &Writes,
    context: &mut Context,
    target: &Target<'_>,
    preconditions: &Preconditions,
    check: &impl Fn(&Value, &Reader<'_>) -> Result<(), Status>,
) -> Result<Written, Failure> {
    let served = target.served;
    let entry = writes.storage().get(&target.key()).ok_or_else(|| target.not_found())?;
    let live = writes.versions().read(served, &entry).await?;
    check_preconditions(target, &live, preconditions)?;
    if !meta::is_deleting(&live) {
        return Err(Status::conflict(served.resource(), target.name, "it is not being deleted").into());
    }
    check(&live, &writes.versions().reader())?;
    let mut object = live.clone();
    unmark(&mut object);
    writes.admission().validate(context, target, Operation::Update, Some(&live), &object).await?;
    let stored = writes.versions().to_storage(served, object).await?;
    let document = fields::document(served, &stored);
    if context.dry_run {
        let object = writes.versions().show_unstored(served, document.at(entry.revision)).await?;
        return Ok(Written { object, created: false });
    }
    let holds = served.holds(&target.key(), entry.revision);
    let entry =
        writes.storage().put(&target.key(), Some(entry.revision), document).await.map_err(Failure::from)?;
    served.prove(&target.key(), entry.revision, holds);
    writes.wrote(served, &entry).await;
    Ok(Written { object: writes.versions().show_written(served, stored, &entry).await?, created: false })
}

/// Removes what a deletion has recorded in the object, with the finalizers of the garbage collector.
fn unmark(object: &mut Value) {
    let generation = meta::generation(object);
    let finalizers: Vec<Value> = meta::finalizers(object)
        .filter(|name| ![ORPHAN, FOREGROUND].contains(name))
        .map(Value::from)
        .collect();
    let Some(metadata) = meta::metadata_mut(object) else { return };
    metadata.remove("deletionTimestamp");
    metadata.remove("deletionGracePeriodSeconds");
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), finalizers.into());
    }
    if generation > 0 {
        metadata.insert("generation".into(), (generation + 1).into());
    }
}
