//! The limit ranges of a namespace complete and check its pods and claims.

use kinds::{Subresource, limit_ranges};
use machinery::meta;
use machinery::status::Status;
use serde_json::Value;

use super::plugins::forbidden;
use super::review::Operation;
use crate::target::Target;
use crate::versions::reader::Reader;

/// What limit ranges are about.
#[derive(Clone, Copy)]
enum Subject {
    Pod,
    Claim,
}

/// Returns what is written if limit ranges are about it. The containers of a pod only change by a resize.
fn subject(target: &Target<'_>, operation: Operation, old: Option<&Value>) -> Option<Subject> {
    let definition = &target.served.definition;
    if !definition.built_in || !definition.group.is_empty() || old.is_some_and(meta::is_deleting) {
        return None;
    }
    match (definition.plural.as_str(), operation, target.subresource) {
        ("pods", Operation::Create, Subresource::None) | ("pods", Operation::Update, Subresource::Resize) => {
            Some(Subject::Pod)
        }
        ("persistentvolumeclaims", Operation::Create | Operation::Update, Subresource::None) => {
            Some(Subject::Claim)
        }
        _ => None,
    }
}

fn ranges(reader: Reader<'_>, target: &Target<'_>) -> Vec<Value> {
    reader.stored_objects("", "limitranges", target.namespace)
}

/// Gives the containers of a pod what they lack.
pub(crate) fn complete(
    reader: Reader<'_>,
    target: &Target<'_>,
    operation: Operation,
    old: Option<&Value>,
    object: &mut Value,
) {
    if matches!(subject(target, operation, old), Some(Subject::Pod)) {
        ranges(reader, target).iter().for_each(|range| limit_ranges::complete_pod(range, object));
    }
}

/// Checks a pod or a claim.
///
/// # Errors
/// 403 with what is too small, too large or missing.
pub(crate) fn check(
    reader: Reader<'_>,
    target: &Target<'_>,
    operation: Operation,
    old: Option<&Value>,
    object: &Value,
) -> Result<(), Status> {
    let Some(subject) = subject(target, operation, old) else { return Ok(()) };
    let checked = |range: &Value| match subject {
        Subject::Pod => limit_ranges::check_pod(range, object),
        Subject::Claim => limit_ranges::check_claim(range, object),
    };
    ranges(reader, target).iter().try_for_each(checked).map_err(|why| forbidden(target, object, &why))
}
