//! The verb `get`.

use bytes::Bytes;
use kinds::Subresource;
use machinery::status::Status;

use super::read_options::unparsable;
use super::scale::view;
use crate::registry::Registry;
use crate::target::Target;
use crate::versions::convert;
use crate::versions::definitions::Served;

impl Registry {
    /// Returns one object, or its `/scale`. For `/status` this is the whole object. `resource_version` is the query
    /// parameter.
    ///
    /// # Errors
    /// 404; 500 for a malformed `resource_version`, like a real API server.
    pub async fn get(
        &self,
        served: &Served,
        namespace: &str,
        name: &str,
        subresource: Subresource,
        resource_version: &str,
    ) -> Result<Bytes, Status> {
        let target = Target { served, namespace, name, subresource };
        if !resource_version.is_empty() && resource_version.parse::<u64>().is_err() {
            return Err(Status::new(500, "", unparsable(resource_version)));
        }
        let entry = self.storage().get(&target.key()).ok_or_else(|| target.not_found())?;
        convert::check_version(served, &entry)?;
        if subresource == Subresource::Scale {
            return view::get(served, &self.read(served, &entry).await?);
        }
        self.show(served, &entry.value, entry.revision).await
    }
}
