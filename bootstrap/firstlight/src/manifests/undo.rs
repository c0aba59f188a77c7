//! Finds the values that an apply would change back: fields that others have changed since the manifests were applied here.

use kube::Client;
use kube::core::Status;
use serde_json::Value;
use server::names::{APPLY_MANAGER, FIELD_MANAGER};

use super::apply::{ApplyError, Target, request};
use super::field_path;
use super::read::Document;

/// The reason in the causes of a conflict of server-side apply.
pub const CONFLICT: &str = "FieldManagerConflict";

/// A field that another field manager has changed, and that the manifest would change back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The place in the manifests, for example `cluster.yaml:12`.
    pub place: String,
    /// The object, for example `cluster.cluster.x-k8s.io/first`.
    pub what: String,
    /// The path of the field, for example `spec.replicas`.
    pub field: String,
    /// The current value.
    pub now: String,
    /// The value of the manifest.
    pub manifest: String,
    /// The field managers that set the current value.
    pub managers: String,
}

impl std::fmt::Display for Undone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, what, field, now, manifest, managers } = self;
        write!(f, "{place}: {what}: {field}: {now} → {manifest} (set by {managers})")
    }
}

/// Returns the values of others that an apply of the document would change. The server itself finds them: it refuses an apply that is
/// not forced. The dry run uses a field manager that owns nothing, because the fields that [`APPLY_MANAGER`] owns may also be set by
/// `kubectl apply --server-side`; fields that it owns alone or with others were wanted here, and may be changed. A value that is in `expected`,
/// the object after the apply, as it is now, is not undone: admission sets it whatever the manifest says.
///
/// # Errors
/// The document cannot be sent.
pub(super) async fn undone(
    client: &Client,
    document: &Document,
    target: &Target,
    [live, expected]: [&Value; 2],
) -> Result<Vec<Undone>, ApplyError> {
    let query = format!("fieldManager={FIELD_MANAGER}&dryRun=All");
    let refused = match client.request::<Value>(request(document, &document.object, target, &query)?).await {
        Err(kube::Error::Api(status)) if status.code == 409 => status,
        // Other errors are those of the forced apply, which reports them with their place.
        _ => return Ok(Vec::new()),
    };
    let found = |field: &str| field_path::find(live, field).zip(field_path::find(expected, field));
    let changes = |field: &str| found(field).is_none_or(|(live, expected)| live != expected);
    Ok(conflicts(&refused)
        .into_iter()
        .filter(|(field, _)| changes(field))
        .map(|(field, managers)| Undone {
            place: format!("{}:{}", document.file, document.line_of(&field).unwrap_or(document.line)),
            what: target.what.clone(),
            now: value_at(live, &field),
            manifest: value_at(&document.object, &field),
            field,
            managers: managers.join(", "),
        })
        .collect())
}

/// Returns the fields in conflict with the managers that own them, without the fields that this program or `kubectl` has applied.
pub fn conflicts(refused: &Status) -> Vec<(String, Vec<String>)> {
    // The message has no version for a manager that applies.
    let own = format!("{APPLY_MANAGER:?}");
    let mut fields: Vec<(String, Vec<String>)> = Vec::new();
    for cause in refused.details.iter().flat_map(|details| &details.causes) {
        let Some(manager) = cause.message.strip_prefix("conflict with ").filter(|_| cause.reason == CONFLICT)
        else {
            continue;
        };
        let field = cause.field.trim_start_matches('.').to_owned();
        match fields.iter_mut().find(|(found, _)| *found == field) {
            Some((_, managers)) => managers.push(manager.to_owned()),
            None => fields.push((field, vec![manager.to_owned()])),
        }
    }
    fields.retain(|(_, managers)| !managers.contains(&own));
    for manager in fields.iter_mut().flat_map(|(_, managers)| managers) {
        // The version and the time of the write are of no interest.
        manager.truncate(manager.find(" using ").unwrap_or(manager.len()));
    }
    fields
}

/// Returns the value of a field as short text.
pub fn value_at(object: &Value, path: &str) -> String {
    field_path::find(object, path).map_or_else(|| "none".to_owned(), short)
}

/// The longest text of a value.
pub const VALUE_CHARACTERS: usize = 60;

fn short(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
