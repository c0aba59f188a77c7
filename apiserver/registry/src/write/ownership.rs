//! Field ownership: the writer of a request, and the versions of a resource.

use kinds::Subresource;
use kinds::definition::Definition;
use machinery::apply::{Reset, Writer};
use machinery::clock::Clock;
use machinery::schema::Schema;
use machinery::status::Status;
use machinery::{apply, meta, schema};
use serde_json::Value;

use super::writes::Writes;
use crate::context::Context;
use crate::target::Target;
use crate::versions::conversions::Conversions;
use crate::versions::current::Versions;
use crate::versions::definitions::Served;

/// Maximum number of conversions for one calculation, as a guard against endless repetition.
const MOST: usize = 64;

/// Returns `object` with the field ownership after a write over `live` by any verb except apply.
///
/// # Errors
/// If the conversion webhook fails.
pub(crate) async fn note(
    writes: &Writes,
    context: &Context,
    target: &Target<'_>,
    live: Option<&Value>,
    object: Value,
) -> Result<Value, Status> {
    let noted =
        |object| as_writer(writes.clock(), context, target, |writer| apply::update(live, object, writer));
    if target.served.definition.conversion.is_none() {
        return Ok(noted(object));
    }
    loop {
        let noted = noted(object.clone());
        if !convert_missing(writes.versions(), context, target.served).await? {
            return Ok(noted);
        }
    }
}

/// Fetches the conversions that the last calculation of field ownership needed. Returns whether there were any, so
/// that the calculation must be repeated.
pub(crate) async fn convert_missing(
    versions: &Versions,
    context: &Context,
    served: &Served,
) -> Result<bool, Status> {
    let Some(conversion) = served.definition.conversion.clone() else { return Ok(false) };
    let missing = context.conversions.take_missing();
    let any = !missing.is_empty();
    if context.conversions.count() > MOST {
        return Err(Status::internal("field ownership needs too many conversions"));
    }
    for (object, api_version) in missing {
        let converted = versions.webhooks().convert(&conversion, vec![object.clone()], &api_version).await?;
        if let Some(converted) = converted.into_iter().next() {
            context.conversions.add(object, api_version, converted);
        }
    }
    Ok(any)
}

/// All versions of a resource, for field ownership.
pub(crate) struct AllVersions<'a>(pub(crate) &'a Definition, pub(crate) &'a Conversions);

impl apply::Versions for AllVersions<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        let (group, version) = meta::group_version(api_version);
        (group == self.0.group).then_some(())?;
        self.0.version(version).map(|version| &*version.schema)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let (group, version) = meta::group_version(api_version);
        (group == self.0.group).then_some(())?;
        let version = self.0.version(version)?;
        if self.0.conversion.is_some() && meta::api_version(object) != api_version {
            return self.1.find(object, api_version);
        }
        if self.0.built_in && meta::api_version(object) != api_version {
            return Some(kinds::in_version(self.0, &version.name, object.clone()));
        }
        Some(self.0.converted(object.clone(), &version.name))
    }

    fn refusal(&self, api_version: &str) -> Option<String> {
        let (group, version) = meta::group_version(api_version);
        let known = group == self.0.group && self.0.version(version).is_some();
        let why = || format!("request to convert CR to an invalid group/version: {api_version}");
        (!self.0.built_in && !known).then(why)
    }

    fn empty_object(&self, api_version: &str) -> Option<Value> {
        if kinds::is_known(self.0) {
            return kinds::zero_object(self.0, meta::group_version(api_version).1);
        }
        let schema = self.schema(api_version).filter(|_| self.0.built_in)?;
        let mut object = Value::Object(serde_json::Map::new());
        schema::default(schema, &mut object);
        crate::write::decode::write_nulls(schema, &mut object);
        kinds::strategy(self.0).normalize(&mut object);
        Some(object)
    }
}

const STATUS: Reset<'_> = Reset::Fields(&[&["status"]]);
const STATUS_ONLY: Reset<'_> = Reset::AllBut(&[&["status"]]);
const SPEC: Reset<'_> = Reset::Fields(&[&["spec"]]);

fn reset(target: &Target<'_>) -> Reset<'static> {
    if let Some(own) = target.served.strategy().reset(target.subresource) {
        return own;
    }
    match target.subresource {
        // For these subresources, a real API server records the owners of all fields that were sent.
        Subresource::EphemeralContainers | Subresource::Resize => Reset::Nothing,
        Subresource::Status if target.served.definition.built_in => SPEC,
        Subresource::Status => STATUS_ONLY,
        Subresource::Scale => Reset::Nothing,
        _ if target.served.version.status => STATUS,
        _ => Reset::Nothing,
    }
}

/// Calls `with` with the [`Writer`] of the request.
pub(crate) fn as_writer<R>(
    clock: &Clock,
    context: &Context,
    target: &Target<'_>,
    with: impl FnOnce(&Writer<'_>) -> R,
) -> R {
    let manager = context.manager();
    let api_version = target.served.api_version();
    let versions = AllVersions(&target.served.definition, &context.conversions);
    with(&Writer {
        manager: &manager,
        api_version: &api_version,
        subresource: target.subresource.name(),
        reset: reset(target),
        now: clock.now(),
        versions: &versions,
    })
}
