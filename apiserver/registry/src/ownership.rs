//! Field ownership: the writer of a request, and the versions of a resource.

use machinery::apply::{self, Reset, Versions, Writer};
use machinery::meta;
use machinery::schema::{self, Schema};
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;

use crate::context::{Context, Subresource};
use crate::definition::Definition;
use crate::definitions::Served;
use crate::registry::Registry;
use crate::write::Target;

/// Maximum number of conversions for one calculation, as a guard against endless repetition.
const MOST: usize = 64;

/// Conversions by webhook that the calculation of field ownership needs.
///
/// The calculation is synchronous. It records missing conversions here and continues with a wrong result, which is
/// discarded. Then the conversions are fetched ([`Registry::convert_missing`]) and the calculation is repeated.
#[derive(Debug, Default)]
pub struct Conversions(Mutex<Fetched>);

#[derive(Debug, Default, Clone)]
struct Fetched {
    /// The original object, the target version, and the converted object.
    done: Vec<(Value, String, Value)>,
    missing: Vec<(Value, String)>,
}

impl Clone for Conversions {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

impl Conversions {
    fn find(&self, object: &Value, api_version: &str) -> Option<Value> {
        let mut fetched = self.0.lock();
        let found = fetched.done.iter().find(|(from, to, _)| to == api_version && from == object);
        if let Some((_, _, converted)) = found {
            return Some(converted.clone());
        }
        fetched.missing.push((object.clone(), api_version.to_owned()));
        None
    }
}

impl Registry {
    /// Returns `object` with the field ownership after a write over `live` by any verb except apply.
    ///
    /// # Errors
    /// If the conversion webhook fails.
    pub(crate) async fn note(
        &self,
        context: &Context,
        target: &Target<'_>,
        live: Option<&Value>,
        object: Value,
    ) -> Result<Value, Status> {
        let noted = |object| as_writer(self, context, target, |writer| apply::update(live, object, writer));
        if target.served.definition.conversion.is_none() {
            return Ok(noted(object));
        }
        loop {
            let noted = noted(object.clone());
            if !self.convert_missing(context, target.served).await? {
                return Ok(noted);
            }
        }
    }

    /// Fetches the conversions that the last calculation of field ownership needed. Returns whether there were any, so
    /// that the calculation must be repeated.
    pub(crate) async fn convert_missing(&self, context: &Context, served: &Served) -> Result<bool, Status> {
        let Some(conversion) = served.definition.conversion.clone() else { return Ok(false) };
        let missing = std::mem::take(&mut context.conversions.0.lock().missing);
        let any = !missing.is_empty();
        if context.conversions.0.lock().done.len() > MOST {
            return Err(Status::internal("the owners of fields need too many conversions"));
        }
        for (object, api_version) in missing {
            let converted = self.convert_by_webhook(&conversion, vec![object.clone()], &api_version).await?;
            if let Some(converted) = converted.into_iter().next() {
                context.conversions.0.lock().done.push((object, api_version, converted));
            }
        }
        Ok(any)
    }
}

/// All versions of a resource, for field ownership.
pub(crate) struct AllVersions<'a>(pub(crate) &'a Definition, pub(crate) &'a Conversions);

impl Versions for AllVersions<'_> {
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
            return Some(crate::strategy::in_version(self.0, &version.name, object.clone()));
        }
        let mut object = object.clone();
        if let Some(map) = object.as_object_mut() {
            map.insert("apiVersion".into(), self.0.api_version(&version.name).into());
        }
        Some(object)
    }

    fn refusal(&self, api_version: &str) -> Option<String> {
        let (group, version) = meta::group_version(api_version);
        let known = group == self.0.group && self.0.version(version).is_some();
        let why = || format!("request to convert CR to an invalid group/version: {api_version}");
        (!self.0.built_in && !known).then(why)
    }

    fn empty_object(&self, api_version: &str) -> Option<Value> {
        if let Some(kind) = crate::kinds::find(self.0) {
            let version = meta::group_version(api_version).1;
            return machinery::types::zero_object(&machinery::types::name_of(kind.group, version, kind.kind));
        }
        let schema = self.schema(api_version).filter(|_| self.0.built_in)?;
        let mut object = Value::Object(serde_json::Map::new());
        schema::default(schema, &mut object);
        crate::decode::write_nulls(schema, &mut object);
        crate::strategy::of(self.0).normalize(&mut object);
        Some(object)
    }
}

const STATUS: Reset<'_> = Reset::Fields(&[&["status"]]);
const BOTH: Reset<'_> = Reset::Fields(&[&["spec"], &["status"]]);
const STATUS_ONLY: Reset<'_> = Reset::AllBut(&[&["status"]]);
const SPEC: Reset<'_> = Reset::Fields(&[&["spec"]]);
const SPEC_AND_CONDITIONS: Reset<'_> = Reset::Fields(&[&["spec"], &["status", "conditions"]]);
const SPEC_AND_CERTIFICATE: Reset<'_> = Reset::Fields(&[&["spec"], &["status", "certificate"]]);

fn is_request(target: &Target<'_>) -> bool {
    let definition = &target.served.definition;
    definition.built_in && definition.plural == "certificatesigningrequests"
}

fn reset(target: &Target<'_>) -> Reset<'static> {
    match target.subresource {
        Subresource::Status if is_request(target) => SPEC_AND_CONDITIONS,
        Subresource::Approval => SPEC_AND_CERTIFICATE,
        // For these subresources, a real API server records the owners of all fields that were sent.
        Subresource::EphemeralContainers | Subresource::Resize => Reset::Nothing,
        Subresource::Status if target.served.definition.built_in => SPEC,
        Subresource::Status => STATUS_ONLY,
        Subresource::Scale => Reset::Nothing,
        // Neither spec nor status of a CertificateSigningRequest can be changed through the main resource.
        Subresource::None if is_request(target) => BOTH,
        _ if target.served.version.status => STATUS,
        _ => Reset::Nothing,
    }
}

/// Calls `with` with the [`Writer`] of the request.
pub(crate) fn as_writer<R>(
    registry: &Registry,
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
        now: registry.0.clock.now(),
        versions: &versions,
    })
}
