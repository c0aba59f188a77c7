//! The path of a request: authentication, authorization, handler.

use access::User;
use access::user::ANONYMOUS;
use http::request::Parts;
use http::{Method, Response};
use machinery::status::Status;
use tracing::Instrument as _;

use super::aside::aside;
use super::asked::Asked;
use super::audit::{Answered, AuditRecord};
use super::authorization::Request;
use super::query::Query;
use super::reached::limit_of;
use super::read_body::RequestBody;
use super::target::path::{ResourcePath, unescaped};
use super::target::route::{Route, no_such_resource, route};
use super::token_uses;
use super::verb::Verb;
use crate::metrics::Metrics;
use crate::paths::nonresource::answer_given;
use crate::resources::reviews::review;
use crate::resources::{mounted, reads, writes};
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::services::Services;
use crate::transport::body::Body;
use crate::transport::connections::Presence;

/// A request with what its path means, before anybody is identified.
struct Incoming<'a> {
    record: &'a AuditRecord,
    parts: &'a Parts,
    path: &'a str,
    route: Option<&'a Route<'a>>,
    verb: Verb,
}

/// Answers a request with this body.
pub(crate) async fn answer(
    services: &Services,
    record: &AuditRecord,
    parts: &Parts,
    body: RequestBody,
) -> Response<Body> {
    let started = services.clock.monotonic();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let path = unescaped(parts.uri.path());
    let resource = path.as_deref().and_then(ResourcePath::parse);
    let verb = resource.map_or(Verb::Other, |resource| resource.verb(&parts.method, &query));
    let route = resource.map(|resource| route(services, resource, verb, &query));
    let span = record.span(verb, parts, route.as_ref().and_then(Route::resource));
    let reply = match &path {
        Some(path) => {
            let incoming = Incoming { record, parts, path, route: route.as_ref(), verb };
            reply(services, incoming, query, body).instrument(span.clone()).await
        }
        None => Ok(Answer::text(400, "400 Bad Request").into()),
    };
    let mut response = match reply {
        Ok(Reply::Answer(answer, warnings)) => answer.finish(&parts.headers, &warnings),
        Ok(Reply::Response(response)) => *response,
        Err(status) => Answer::error(&status, &parts.headers).finish(&parts.headers, &[]),
    };
    if parts.method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    // Only served resources become label values; otherwise unauthenticated clients could create any
    // number of labels.
    let resource = match &route {
        Some(Route::Target(target)) => Some(target.resource()),
        _ => None,
    };
    let (code, elapsed) = (response.status().as_u16(), started.elapsed());
    span.in_scope(|| answered(&services.metrics, &Answered { record, verb, resource, code, elapsed }));
    response
}

/// Follows each answered request: counts it and logs it.
fn answered(metrics: &Metrics, answered: &Answered<'_>) {
    let resource = answered.resource.unwrap_or_default();
    let labels = (resource.group, resource.resource, resource.subresource);
    metrics.request(answered.verb.as_str(), labels, answered.code, answered.elapsed);
    let (user, impersonated) = (answered.record.user(), answered.record.impersonated());
    tracing::debug!(user, impersonated, code = answered.code, elapsed = ?answered.elapsed, "answered");
}

/// Authenticates, authorizes and handles a request. A path that its resource does not have is refused
/// before authorization.
async fn reply(
    services: &Services,
    incoming: Incoming<'_>,
    query: Query,
    body: RequestBody,
) -> Result<Reply, Status> {
    let Incoming { record, parts, path, route, verb } = incoming;
    if verb != Verb::Watch {
        query.check_timeout()?;
    }
    let user = services.authenticator.authenticate(parts);
    token_uses::label(&services.registry, &*services.authenticator).await;
    let user = record.asked_by(user?);
    if let Some(presence) = parts.extensions.get::<Presence>() {
        signed_in(&services.metrics, presence, user);
    }
    let method = parts.method.as_str().to_ascii_lowercase();
    let (verb, resource) = match route {
        Some(Route::Target(target)) => (verb.as_str(), Some(target.resource())),
        Some(Route::Unknown(unknown)) => (verb.as_str(), Some(unknown.resource())),
        Some(Route::Nowhere(missing)) => return Ok(missing.reply(&parts.headers)),
        None => (method.as_str(), None),
    };
    let user =
        services.authorization.authorize(record, &parts.headers, user, Request { verb, path, resource })?;
    match route {
        Some(Route::Target(target)) => {
            let aside = services.large.of_user(&user.name);
            let permissions = services.authorization.permissions();
            of_resource(services, Asked { parts, target, query, user, aside, permissions }, body).await
        }
        Some(Route::Unknown(unknown)) => no_such_resource(&services.registry, unknown),
        Some(Route::Nowhere(_)) | None => match services.paths.given(path) {
            Some(given) => answer_given(&services.uploads, given, path, parts, user, body).await,
            None => Ok(services.paths.answer(parts, path, &query)),
        },
    }
}

/// Handles a request for a resource: a subresource implemented in Rust, or a verb of the registry.
async fn of_resource(services: &Services, asked: Asked<'_>, body: RequestBody) -> Result<Reply, Status> {
    if asked.target.connect().is_some() {
        return mounted::connect(services, asked, body).await;
    }
    let seat = services.seats.enter(&asked).await?;
    let served = asked.target.served();
    let mut warnings: Vec<String> = served.version.deprecation_warning.iter().cloned().collect();
    match crate::request::refusal::refusal(&asked, served) {
        None => {}
        Some(Err(status)) => {
            return Ok(Reply::Answer(Answer::error(&status, &asked.parts.headers), warnings));
        }
        Some(refusal) => return refusal,
    }
    let result = match asked.target.verb() {
        Verb::Create if !served.definition.is_stored() => {
            review::review(services, &asked, served, body, &mut warnings).await
        }
        Verb::Get => reads::get(services, &asked, served).await,
        Verb::List => reads::list(services, &asked, served, &mut warnings).await,
        Verb::Watch => reads::watch(services, &asked, served, &warnings, seat).await,
        // On the heap, because each request would have the room that the largest one needs.
        _ => Box::pin(writes::write(services, &asked, served, body, &mut warnings)).await,
    };
    match result {
        Ok(Reply::Answer(answer, _)) => Ok(Reply::Answer(answer, warnings)),
        Ok(response) => Ok(response),
        Err(status) => {
            if let Some(limit) = limit_of(&status) {
                services.metrics.limit(limit);
            }
            let answer = aside(status.message.len(), || Answer::error(&status, &asked.parts.headers));
            Ok(Reply::Answer(answer, warnings))
        }
    }
}

/// Assigns the connection behind `presence` to `user`.
pub(crate) fn signed_in(metrics: &Metrics, presence: &Presence, user: &User) {
    if user.name != ANONYMOUS
        && let Some(limit) = presence.sign_in(&user.name)
    {
        metrics.limit(limit);
    }
}
