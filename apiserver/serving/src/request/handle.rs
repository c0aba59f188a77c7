//! The path of a request: authentication, authorization, handler.

use std::sync::Arc;

use access::User;
use access::user::{ANONYMOUS, GROUP_MASTERS};
use http::request::Parts;
use http::{Method, Response};
use machinery::status::Status;
use tracing::Instrument as _;

use super::admit::Request;
use super::aside::aside;
use super::asked::Asked;
use super::audit::{Answered, AuditRecord};
use super::flows::{Seat, too_many};
use super::query::Query;
use super::reached::limit_of;
use super::read_body::RequestBody;
use super::target::path::{ResourcePath, unescaped};
use super::target::route::Route;
use super::verb::Verb;
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::shared::Shared;
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

impl Shared {
    /// Answers a request with this body.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        record: &AuditRecord,
        parts: &Parts,
        body: RequestBody,
    ) -> Response<Body> {
        let started = self.clock.monotonic();
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let path = unescaped(parts.uri.path());
        let resource = path.as_deref().and_then(ResourcePath::parse);
        let verb = resource.map_or(Verb::Other, |resource| resource.verb(&parts.method, &query));
        let route = resource.map(|resource| self.route(resource, verb, &query));
        let span = record.span(verb, parts, route.as_ref().and_then(Route::resource));
        let reply = match &path {
            Some(path) => {
                let incoming = Incoming { record, parts, path, route: route.as_ref(), verb };
                self.reply(incoming, query, body).instrument(span.clone()).await
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
        span.in_scope(|| self.answered(&Answered { record, verb, resource, code, elapsed }));
        response
    }

    /// Follows each answered request: counts it and logs it.
    fn answered(&self, answered: &Answered<'_>) {
        let resource = answered.resource.unwrap_or_default();
        let labels = (resource.group, resource.resource, resource.subresource);
        self.metrics.request(answered.verb.as_str(), labels, answered.code, answered.elapsed);
        let (user, impersonated) = (answered.record.user(), answered.record.impersonated());
        tracing::debug!(user, impersonated, code = answered.code, elapsed = ?answered.elapsed, "answered");
    }

    /// Authenticates, authorizes and handles a request. A path that its resource does not have is refused
    /// before authorization.
    async fn reply(
        self: &Arc<Self>,
        incoming: Incoming<'_>,
        query: Query,
        body: RequestBody,
    ) -> Result<Reply, Status> {
        let Incoming { record, parts, path, route, verb } = incoming;
        if verb != Verb::Watch {
            query.check_timeout()?;
        }
        let user = record.asked_by(self.options.authenticator.authenticate(parts)?);
        if let Some(presence) = parts.extensions.get::<Presence>() {
            self.signed_in(presence, user);
        }
        let method = parts.method.as_str().to_ascii_lowercase();
        let (verb, resource) = match route {
            Some(Route::Target(target)) => (verb.as_str(), Some(target.resource())),
            Some(Route::Unknown(unknown)) => (verb.as_str(), Some(unknown.resource())),
            Some(Route::Nowhere(missing)) => return Ok(missing.reply(&parts.headers)),
            None => (method.as_str(), None),
        };
        let user = self.admit(record, &parts.headers, user, Request { verb, path, resource })?;
        match route {
            Some(Route::Target(target)) => {
                let aside = self.large.of_user(&user.name);
                self.resource(Asked { parts, target, query, user, aside }, body).await
            }
            Some(Route::Unknown(unknown)) => self.no_such_resource(unknown),
            Some(Route::Nowhere(_)) | None => match self.given(path) {
                Some(given) => self.answer_given(given, path, parts, user, body).await,
                None => Ok(self.other_path(parts, path, &query)),
            },
        }
    }

    /// Handles a request for a resource: a subresource implemented in Rust, or a verb of the registry.
    async fn resource(self: &Arc<Self>, asked: Asked<'_>, body: RequestBody) -> Result<Reply, Status> {
        if asked.target.connect().is_some() {
            return self.connect(asked, body).await;
        }
        let seat = self.seat(&asked).await?;
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
                self.review(&asked, served, body, &mut warnings).await
            }
            Verb::Get => self.get(&asked, served).await,
            Verb::List => self.list(&asked, served, &mut warnings).await,
            Verb::Watch => self.watch(&asked, served, &warnings, seat).await,
            // On the heap, because each request would have the room that the largest one needs.
            _ => Box::pin(self.write(&asked, served, body, &mut warnings)).await,
        };
        match result {
            Ok(Reply::Answer(answer, _)) => Ok(Reply::Answer(answer, warnings)),
            Ok(response) => Ok(response),
            Err(status) => {
                if let Some(limit) = limit_of(&status) {
                    self.metrics.limit(limit);
                }
                let answer = aside(status.message.len(), || Answer::error(&status, &asked.parts.headers));
                Ok(Reply::Answer(answer, warnings))
            }
        }
    }

    /// Waits for a seat. Watches last long, so they have seats of their own, for which no request waits.
    pub(crate) async fn seat(&self, asked: &Asked<'_>) -> Result<Option<Seat>, Status> {
        let user = asked.user;
        let master = user.is_in(GROUP_MASTERS);
        let seat = match asked.target.verb() {
            Verb::Watch if master => return Ok(None),
            Verb::Watch => self.watches.try_enter(&user.name).ok_or("watches"),
            _ if master => self.masters.enter(&user.name).await,
            _ => self.flows.enter(&user.name).await,
        };
        seat.map(Some).map_err(|limit| {
            self.metrics.limit(limit);
            too_many()
        })
    }

    /// Assigns the connection behind `presence` to `user`.
    pub(crate) fn signed_in(&self, presence: &Presence, user: &User) {
        if user.name != ANONYMOUS
            && let Some(limit) = presence.sign_in(&user.name)
        {
            self.metrics.limit(limit);
        }
    }

    /// Returns 504 for a request that reached [`crate::limits::REQUEST`].
    pub(crate) fn late(&self, message: &str) -> Status {
        self.metrics.limit("request");
        Status::timeout(message)
    }
}
