//! Objects that are never stored: the bodies of reviews and token requests.

use machinery::apply::{self, Reset, Writer};
use machinery::clock::Clock;
use machinery::status::Status;
use serde_json::Value;

use crate::context::{Context, Input};
use crate::versions::definitions::Served;
use crate::write::decode;
use crate::write::identity;
use crate::write::ownership::AllVersions;

/// Decodes a body as a creation would: types, defaults, namespace and field ownership. `subresource` is the
/// subresource of the request, or empty.
pub(crate) fn transient(
    clock: &Clock,
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
        now: clock.now(),
        versions: &versions,
    };
    Ok(apply::update(None, object, &writer))
}
