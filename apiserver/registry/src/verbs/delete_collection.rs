//! The verb `deletecollection`.

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use kinds::Subresource;
use machinery::status::Status;

use super::{delete, list};
use crate::context::{Context, DeleteOptions, ListOptions};
use crate::limits::ASIDE_FROM_BYTES;
use crate::response::{Deleted, Item, List};
use crate::storage::outline::{self, Outline};
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::write::writes::Writes;

/// Maximum number of concurrent deletions for one `deletecollection`.
const DELETIONS_AT_ONCE: usize = 32;

/// Deletes the objects that a list selects, and returns the list.
pub(crate) async fn delete_collection(
    writes: &Writes,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    options: &DeleteOptions,
    list: &ListOptions,
) -> Result<List, Status> {
    let mut list = list.clone();
    // A real API server lists in pages here, and pages match a given revision exactly.
    if list.resource_version_match.is_empty() && !matches!(list.resource_version.as_str(), "" | "0") {
        list.resource_version_match = "Exact".into();
    }
    let selected = list::list(writes.storage(), writes.versions(), context, served, namespace, &list).await?;
    let single = Context { warnings: Vec::new(), ..context.clone() };
    // Concurrent deletions share a commit.
    let mut deletions = FuturesOrdered::new();
    let mut items = selected.items.iter().peekable();
    loop {
        // A large object waits for its turn, and would wait for too long behind others of the same request.
        while deletions.len() < DELETIONS_AT_ONCE
            && let Some(item) =
                items.next_if(|item| deletions.is_empty() || item.object.len() < ASIDE_FROM_BYTES)
        {
            deletions.push_back(delete_item(writes, single.clone(), served, item, options));
        }
        let Some((deleted, warnings)) = deletions.next().await else { break };
        context.warnings.extend(warnings);
        match deleted {
            Ok(_) => {}
            Err(status) if status.reason == "NotFound" => {}
            Err(status) => return Err(status),
        }
    }
    drop(deletions);
    Ok(selected)
}

/// Deletes one item and also returns the warnings. Another object that has got its name was not selected, and stays.
async fn delete_item(
    writes: &Writes,
    mut context: Context,
    served: &Served,
    item: &Item,
    options: &DeleteOptions,
) -> (Result<Deleted, Status>, Vec<String>) {
    let own = Outline::read(&item.object).map(|outline| outline.uid.to_string());
    let mut options = options.clone();
    options.preconditions.uid = options.preconditions.uid.or_else(|| own.clone());
    let deleted = delete::delete(writes, &mut context, served, &item.namespace, &item.name, &options).await;
    let target =
        Target { served, namespace: &item.namespace, name: &item.name, subresource: Subresource::None };
    let is_another = || {
        let found = writes.storage().stored(&target.key());
        let uid = found.as_deref().and_then(|stored| Some(outline::of(stored)?.uid.to_string()));
        uid.is_some() && own.is_some() && uid != own
    };
    let deleted = match deleted {
        Err(status) if status.reason == "Conflict" && is_another() => Err(target.not_found()),
        deleted => deleted,
    };
    (deleted, context.warnings)
}
