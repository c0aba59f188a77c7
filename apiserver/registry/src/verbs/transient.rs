//! Objects that are never stored: the bodies of reviews and token requests.

use machinery::apply::{self, Reset, Writer};
use machinery::status::Status;
use serde_json::Value;

use crate::context::{Context, Input};
use crate::registry::Registry;
use crate::versions::definitions::Served;
use crate::write::decode;
use crate::write::identity;
use crate::write::ownership::AllVersions;

impl Registry {
    /// Decodes a body as a creation would: types, defaults, namespace and field ownership. `subresource` is the
    /// subresource of the request, or empty.
    ///
    /// # Errors
    /// 400 for an invalid body.
    pub fn transient(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        subresource: &str,
        input: Input,
    ) -> Result<Value, Status> {
        let mut object = decode::input(context, served, input)?;
        identity::identify(served.definition.namespaced, namespace, "", &mut object)?;
        let manager = context.manager();
        let api_version = served.api_version();
        let versions = AllVersions(&served.definition, &context.conversions);
        let writer = Writer {
            manager: &manager,
            api_version: &api_version,
            subresource,
            reset: Reset::Nothing,
            now: self.0.clock.now(),
            versions: &versions,
        };
        Ok(apply::update(None, object, &writer))
    }
}
