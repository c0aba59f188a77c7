//! Admission rules of a Cluster's deletion, and of the period in which it can be undone.

use machinery::meta;
use serde_json::Value;

use crate::admission::common::{Errors, annotation};
use crate::admission::request::Request;
use crate::deletion_grace::{ANNOTATION, parse};

/// Checks the annotation with the grace period. Once the Cluster is being deleted, the period can only become shorter: what has been deleted
/// stays deleted.
pub(super) fn grace_period(request: Request<'_>, errors: &mut Errors) {
    let Some(new) = annotation(request.new, ANNOTATION) else { return };
    let old = request.old.and_then(|old| annotation(old, ANNOTATION));
    if old == Some(new) {
        return;
    }
    let field = format!("metadata.annotations[{ANNOTATION}]");
    let period = match parse(new) {
        Ok(period) => period,
        Err(why) => return errors.invalid(field, new, why),
    };
    if !request.old.is_some_and(meta::is_deleting) {
        return;
    }
    match old.map(parse) {
        None => errors.forbidden(field, "cannot be added, because the Cluster is being deleted"),
        Some(Ok(before)) if period > before => {
            errors.forbidden(field, "cannot become longer, because the Cluster is being deleted");
        }
        Some(_) => {}
    }
}

/// Refuses a deletion by which the garbage collector would change the objects of the Cluster before its grace period has passed.
///
/// # Errors
/// A sentence: why, and what to do.
pub fn deletion(cluster: &Value, propagation: Option<&str>) -> Result<(), String> {
    if annotation(cluster, ANNOTATION).is_none() {
        return Ok(());
    }
    let has = |finalizer: &str| meta::finalizers(cluster).any(|found| found == finalizer);
    let effect = match propagation {
        Some("Foreground") => "delete its objects at once",
        Some("Orphan") => "take the owner references of its objects away at once",
        // Without a policy, that of an earlier deletion stays.
        None if has("foregroundDeletion") => "delete its objects at once",
        None if has("orphan") => "take the owner references of its objects away at once",
        _ => return Ok(()),
    };
    Err(format!(
        "this propagation policy would {effect}, but the annotation {ANNOTATION} says to wait: use the policy Background, with which the Cluster goes after its objects, too, or remove the annotation"
    ))
}
