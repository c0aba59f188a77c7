//! Helpers that the subresources of Pods, Services and Nodes share.

use http::HeaderMap;
use machinery::field::quote;
use machinery::meta;
use machinery::status::{GroupResource, Status};
use registry::{Context, Registry, Served, Subresource};
use serde_json::{Value, json};

use crate::request::input;
use crate::request::query::Query;
use crate::resources::connect::ConnectRequest;
use crate::response::answer::{Answer, wants_pretty};
use crate::response::negotiate::{Media, Offer, negotiate};
use crate::transport::body::Body;

pub(crate) const fn core(resource: &'static str) -> GroupResource<'static> {
    GroupResource { group: "", resource }
}

/// Returns a stored kind as served in v1.
pub(crate) fn served(registry: &Registry, group: &str, plural: &str) -> Result<Served, Status> {
    registry.served(group, "v1", plural).ok_or_else(Status::no_such_path)
}

/// Returns the object of that name.
pub(crate) async fn object(
    registry: &Registry,
    plural: &'static str,
    namespace: &str,
    name: &str,
) -> Result<Value, Status> {
    let served = served(registry, "", plural)?;
    let bytes = registry.get(&served, namespace, name, Subresource::None, "").await?;
    machinery::decode::own(&bytes).map_err(|_| Status::not_found(core(plural), name))
}

/// The decoded body of a request that acts on the object of the path, and the media type of its response.
pub(super) struct Posted {
    pub(super) object: Value,
    pub(super) context: Context,
    pub(super) media: Media,
}

/// Reads a body of `kind` in one of these versions, which must name the object of the path.
pub(super) fn posted(request: &ConnectRequest, kind: &str, versions: &[&str]) -> Result<Posted, Status> {
    let headers = &request.parts.headers;
    let query = Query::parse(request.parts.uri.query().unwrap_or_default());
    let mut media = negotiate(headers, Offer { streams: false, protobuf: true })?;
    media.pretty = media.pretty || wants_pretty(headers, query.flag("pretty"));
    let format = input::format(headers)?;
    let mut context = request.context.clone();
    crate::request::write_options::apply_options(&mut context, query.write_options("CreateOptions", false)?);
    let expected = input::Expected { api_version: versions[0], kind, built_in: true, strict: true };
    let input = input::object(&request.body, format, expected, |version, found| {
        found == kind && versions.contains(&version)
    })?;
    if meta::name(&input.object) != request.name {
        return Err(Status::bad_request(format!("name in URL does not match name in {kind} object")));
    }
    Ok(Posted { object: input.object, context, media })
}

pub(crate) fn success() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})
}

/// Returns the response for a completed action.
pub(crate) fn done(media: Media, headers: &HeaderMap) -> http::Response<Body> {
    Answer::value(201, &success(), media).finish(headers, &[])
}

/// Checks the container that a request names.
///
/// # Errors
/// 400 if the Pod has no container of that name, or has several and the request names none.
pub(crate) fn container(pod: &Value, asked: &str) -> Result<(), Status> {
    let name = meta::name(pod);
    let of = |kind: &str| -> Vec<String> {
        let containers = pod["spec"][kind].as_array().into_iter().flatten();
        containers.filter_map(|one| one["name"].as_str().map(str::to_owned)).collect()
    };
    let (init, own) = (of("initContainers"), of("containers"));
    let known = || {
        init.iter().chain(&own).any(|one| one == asked)
            || of("ephemeralContainers").contains(&asked.to_owned())
    };
    if !asked.is_empty() {
        let why = format!("container {asked} is not valid for pod {name}");
        return if known() { Ok(()) } else { Err(Status::bad_request(why)) };
    }
    let default = pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"].is_string();
    if own.len() < 2 || default {
        return Ok(());
    }
    let also = if init.is_empty() {
        String::new()
    } else {
        format!(" or one of the init containers: [{}]", init.join(" "))
    };
    Err(Status::bad_request(format!(
        "a container name must be specified for pod {name}, choose one of: [{}]{also}",
        own.join(" ")
    )))
}

/// Returns a name quoted as in kube-apiserver's messages.
pub(crate) fn shown(name: &str) -> String {
    quote(name)
}
