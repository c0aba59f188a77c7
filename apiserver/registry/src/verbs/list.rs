//! The verb `list`.

use std::sync::Arc;
use std::time::Duration;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use store::Stored;

use super::continue_token::{decode_token, encode_token};
use super::read_options::{invalid_options, unparsable};
use super::select::Selection;
use crate::context::{Context, ListOptions};
use crate::limits::{OBJECT_WORK_BYTES, YIELD_BYTES};
use crate::response::{Item, List};
use crate::storage::entries::{Gone, Storage};
use crate::storage::keys;
use crate::versions::current::Versions;
use crate::versions::definitions::Served;
use crate::versions::view::View;

/// Maximum time that a read waits for a future revision.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// Returns a page of a list. Waits for a while if `resourceVersion` is in the future.
///
/// # Errors
/// 400 for malformed options, 410 for expired revisions, 504 for future revisions.
pub(crate) async fn list(
    storage: &Storage,
    versions: &Versions,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    options: &ListOptions,
) -> Result<List, Status> {
    let selection = Selection::parse(served, &options.label_selector, &options.field_selector)?;
    check_options(options)?;
    selection.check_fields()?;
    let prefix = keys::namespace(&served.definition, namespace);
    let token = decode_token(&options.continue_token, &prefix)?;
    if token.is_some() && !matches!(options.resource_version.as_str(), "" | "0") {
        return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
    }
    let exact = match &token {
        Some((revision, _)) => (*revision > 0).then_some(*revision),
        None => exact_revision(storage, options).await?,
    };
    // `resourceVersion=0` allows a state of any age. kube-apiserver answers it from its cache and ignores the
    // limit.
    let any_age = options.resource_version == "0";
    // At most one object of a namespace has the selected name, so that no page is needed.
    let whole = !namespace.is_empty() || !served.definition.namespaced;
    let one = selection.one_name().filter(|_| whole).map(|name| format!("{prefix}{name}"));
    let limit = if any_age || one.is_some() { 0 } else { options.limit };
    let is_continued = token.is_some();
    let start = token.map(|(_, start)| start);
    let aside = &context.aside;
    let all = if one.is_some() { 0 } else { storage.count(&prefix) * OBJECT_WORK_BYTES };
    let listing = async {
        let (entries, revision) = match (exact, &one) {
            (Some(revision), _) => (at(storage, &prefix, revision, is_continued).await?, revision),
            (None, Some(key)) => storage.one(key),
            (None, None) if selection.is_empty() => storage.range(&prefix),
            (None, None) => storage.wanted(&prefix, |stored| selection.may_match(stored)),
        };
        let work = selection.work_on(&entries);
        let listing = async {
            let view = versions.list_view(served, &entries).await?;
            let listing = Listing { served, prefix: &prefix, view, revision };
            Ok(page(&listing, &entries, start, &selection, limit).await)
        };
        aside.perform(work, listing).await?
    };
    aside.perform(all, listing).await?
}

/// Returns the revision that the list must show; `None` for the current one.
async fn exact_revision(storage: &Storage, options: &ListOptions) -> Result<Option<u64>, Status> {
    if options.resource_version.is_empty() {
        return Ok(None);
    }
    let revision: u64 = options.resource_version.parse().map_err(|_| {
        Status::bad_request(format!("invalid resource version: {}", unparsable(&options.resource_version)))
    })?;
    wait_for(storage, revision).await?;
    let exact = options.resource_version_match == "Exact"
        || (options.resource_version_match.is_empty() && options.limit > 0 && revision > 0);
    Ok(exact.then_some(revision))
}

/// Waits up to [`FUTURE_WAIT`] for a future revision.
pub(crate) async fn wait_for(storage: &Storage, revision: u64) -> Result<(), Status> {
    if revision <= storage.revision() {
        return Ok(());
    }
    if tokio::time::timeout(FUTURE_WAIT, storage.reached(revision)).await.is_ok() {
        return Ok(());
    }
    let current = storage.revision();
    let message = format!("Timeout: Too large resource version: {revision}, current: {current}");
    let mut status = Status::new(504, "Timeout", message);
    status.details = Some(serde_json::json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }));
    Err(status)
}

async fn at(
    storage: &Storage,
    prefix: &str,
    revision: u64,
    continued: bool,
) -> Result<Vec<Arc<Stored>>, Status> {
    storage.range_at(prefix, revision).await.map_err(|gone| match gone {
        Gone::Failed(status) => status,
        Gone::Expired => Status::expired(if continued {
            "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter."
        } else {
            "The resourceVersion for the provided list is too old."
        }),
    })
}

/// The data from which a page is built.
struct Listing<'a> {
    served: &'a Served,
    prefix: &'a str,
    view: View,
    revision: u64,
}

async fn page(
    listing: &Listing<'_>,
    entries: &[Arc<Stored>],
    start: Option<String>,
    selection: &Selection,
    limit: i64,
) -> List {
    let Listing { served, prefix, view, revision } = listing;
    let revision = *revision;
    let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let from = start.map_or(0, |start| entries.partition_point(|stored| stored.key.as_str() < &*start));
    let mut list = List {
        items: Vec::new(),
        resource_version: revision,
        continue_token: String::new(),
        remaining: None,
    };
    let mut rest = entries.iter().skip(from);
    let mut last: &str = "";
    let mut work = 0;
    while list.items.len() < limit {
        let Some(stored) = rest.next() else { return list };
        work += selection.work(stored);
        if work >= YIELD_BYTES {
            work = 0;
            tokio::task::yield_now().await;
        }
        last = stored.key.as_str();
        if selection.matches(view, stored) {
            let object = view.text(served, &stored.value, stored.mod_revision.0);
            let namespace = stored.key.namespace().unwrap_or_default().to_owned();
            list.items.push(Item { namespace, name: stored.key.name().to_owned(), object });
        }
    }
    let left = rest.len();
    if left > 0 {
        // The next page begins with the first key after the last key of this page.
        let start = format!("{}\0", last.strip_prefix(*prefix).unwrap_or(last));
        list.continue_token = encode_token(revision, &start);
        if selection.is_empty() {
            list.remaining = Some(left as u64);
        }
    }
    list
}

/// Validates the combination of options, for example that `resourceVersionMatch` comes with `resourceVersion`.
fn check_options(options: &ListOptions) -> Result<(), Status> {
    const FIELD: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let forbid = |detail: &str| FieldError::bare(FieldErrorKind::Forbidden, FIELD, detail);
    let how = options.resource_version_match.as_str();
    let matching = !how.is_empty();
    if matching && options.resource_version.is_empty() {
        errors.push(forbid("resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if matching && !options.continue_token.is_empty() {
        errors.push(forbid("resourceVersionMatch is forbidden when continue is provided"));
    }
    if !matches!(how, "" | "Exact" | "NotOlderThan") {
        let allowed = ["Exact", "NotOlderThan", ""].map(Into::into);
        errors.push(FieldError::not_supported(FIELD, &how.into(), &allowed));
    }
    if how == "Exact" && options.resource_version == "0" {
        errors.push(forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""));
    }
    if options.send_initial_events.is_some() {
        let detail = "sendInitialEvents is forbidden for list";
        errors.push(FieldError::bare(FieldErrorKind::Forbidden, "sendInitialEvents", detail));
    }
    invalid_options(&errors)
}
