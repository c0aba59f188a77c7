//! The preconditions of a deletion, and of taking one back.

use machinery::meta;
use machinery::status::{GroupResource, Status};
use serde_json::Value;

use crate::context::Preconditions;
use crate::target::Target;

/// Checks the UID and the resource version that the client expects.
pub(super) fn check_preconditions(
    target: &Target<'_>,
    object: &Value,
    preconditions: &Preconditions,
) -> Result<(), Status> {
    let definition = &target.served.definition;
    // Kinds without graceful deletion have different messages.
    if !target.served.strategy().graceful() {
        return check_plainly(target, object, preconditions);
    }
    let resource = GroupResource { group: &definition.group, resource: &definition.kind };
    let checks = [
        (
            &preconditions.uid,
            meta::uid(object),
            "UID",
            "The object might have been deleted and then recreated",
        ),
        (
            &preconditions.resource_version,
            meta::resource_version(object),
            "ResourceVersion",
            "The object might have been modified",
        ),
    ];
    for (wanted, found, what, why) in checks {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). {why}"
            );
            return Err(Status::conflict(resource, target.name, &why));
        }
    }
    Ok(())
}

fn check_plainly(target: &Target<'_>, object: &Value, preconditions: &Preconditions) -> Result<(), Status> {
    let checks = [
        (&preconditions.uid, meta::uid(object), "UID"),
        (&preconditions.resource_version, meta::resource_version(object), "ResourceVersion"),
    ];
    for (wanted, found, what) in checks {
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            return Err(Status::conflict(target.served.resource(), target.name, &why));
        }
    }
    Ok(())
}
