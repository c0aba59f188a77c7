//! The verb `get`.

use bytes::Bytes;
use kinds::Subresource;
use machinery::status::Status;

use super::read_options::unparsable;
use super::scale::view;
use crate::storage::entries::{Entry, Storage};
use crate::target::Target;
use crate::versions::convert;
use crate::versions::current::Versions;
use crate::versions::definitions::Served;

/// An object that a read has found.
pub struct Found<'a> {
    target: Target<'a>,
    entry: Entry,
    /// Whether a conversion that was made before will do: the client asks for any state, or one from a revision on.
    any: bool,
}

impl Found<'_> {
    /// Returns the size of the stored object in bytes.
    pub fn stored_bytes(&self) -> usize {
        self.entry.value.len()
    }

    /// Returns how many bytes of the object have to be converted for its reader; 0 if it is shown as it is stored.
    pub fn converted_bytes(&self) -> usize {
        convert::work(self.target.served, self.entry.revision, self.stored_bytes())
    }
}

/// Finds one object, which [`Registry::found`] shows. `resource_version` is the query parameter.
///
/// # Errors
/// 404; 500 for a malformed `resource_version`, like a real API server.
pub(crate) fn find<'a>(
    storage: &Storage,
    served: &'a Served,
    namespace: &'a str,
    name: &'a str,
    subresource: Subresource,
    resource_version: &str,
) -> Result<Found<'a>, Status> {
    let target = Target { served, namespace, name, subresource };
    if !resource_version.is_empty() && resource_version.parse::<u64>().is_err() {
        return Err(Status::new(500, "", unparsable(resource_version)));
    }
    let entry = storage.get(&target.key()).ok_or_else(|| target.not_found())?;
    Ok(Found { target, entry, any: !resource_version.is_empty() })
}

/// Returns what was found, or its `/scale`. For `/status` this is the whole object.
///
/// # Errors
/// 500 for an object in a version that its definition does not contain; the errors of a conversion webhook.
pub(crate) async fn show(versions: &Versions, found: &Found<'_>) -> Result<Bytes, Status> {
    let Found { target, entry, any } = found;
    convert::check_version(target.served, entry)?;
    if target.subresource == Subresource::Scale {
        return view::get(target.served, &versions.read(target.served, entry).await?);
    }
    if *any {
        return versions.show(target.served, &entry.value, entry.revision).await;
    }
    versions.show_anew(target.served, &entry.value, entry.revision).await
}
