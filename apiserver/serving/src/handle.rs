//! The way of one request: who, may they, which handler.

use std::sync::Arc;

use access::attributes::Resource;
use access::authorize::{Decision, forbidden};
use access::{Attributes, User, impersonate};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response};
use machinery::status::Status;
use registry::{Context, Served};

use crate::answer::Answer;
use crate::body::Body;
use crate::connect::{Connect, ConnectRequest, ConnectResource};
use crate::flows::{Seat, too_many};
use crate::input;
use crate::path::ResourcePath;
use crate::query::Query;
use crate::server::Shared;
use crate::verb::Verb;

/// A request for a resource, with what every handler needs.
pub(crate) struct Asked<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) path: &'a ResourcePath,
    pub(crate) query: Query,
    pub(crate) verb: Verb,
    pub(crate) user: User,
}

impl Asked<'_> {
    /// The registry's view of the request.
    pub(crate) fn context(&self) -> Context {
        let agent = self.parts.headers.get(http::header::USER_AGENT);
        Context {
            user: registry::User {
                name: self.user.name.clone(),
                uid: self.user.uid.clone(),
                groups: self.user.groups.clone(),
            },
            user_agent: agent.and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned(),
            ..Context::default()
        }
    }
}

/// What a handler gives back: an answer that is there, or one that is still being made.
pub(crate) enum Reply {
    Answer(Answer, Vec<String>),
    Response(Box<Response<Body>>),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer, Vec::new())
    }
}

impl Shared {
    /// Answers a request whose body is `body`.
    pub(crate) async fn answer<B>(self: &Arc<Self>, parts: Parts, body: B) -> Response<Body>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
        let started = self.clock.monotonic();
        let path = ResourcePath::parse(parts.uri.path());
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let verb = path.as_ref().map_or(Verb::Other, |path| {
            // What has a name is read, whatever the query says.
            let watch = path.name.is_empty() && query.flag("watch").unwrap_or(false);
            Verb::of(&parts.method, !path.name.is_empty(), watch)
        });
        let head = parts.method == Method::HEAD;
        let admitted = match verb {
            Verb::Watch => Ok(()),
            _ => query.check_timeout(),
        };
        let reply = match admitted.and_then(|()| self.admit(&parts, path.as_ref(), &query, verb)) {
            Err(status) => Err(status),
            Ok(user) => match &path {
                None => Ok(self.other_path(&parts, body).await),
                Some(path) => {
                    let asked = Asked { parts: &parts, path, query, verb, user };
                    self.resource(asked, body).await
                }
            },
        };
        let mut response = match reply {
            Ok(Reply::Answer(answer, warnings)) => answer.finish(&parts.headers, &warnings),
            Ok(Reply::Response(response)) => *response,
            Err(status) => Answer::error(&status, &parts.headers).finish(&parts.headers, &[]),
        };
        if head {
            *response.body_mut() = Body::empty();
        }
        let labels = path.as_ref().map_or(("", "", ""), |path| {
            (path.group.as_str(), path.resource.as_str(), path.subresource.as_str())
        });
        let code = response.status().as_u16();
        // Paths that do not exist would make a label each.
        let labels = if code == 404 && verb == Verb::Other { ("", "", "") } else { labels };
        self.metrics.request(verb.as_str(), labels, code, started.elapsed());
        response
    }

    /// Authentication, impersonation, authorisation.
    fn admit(
        &self,
        parts: &Parts,
        path: Option<&ResourcePath>,
        query: &Query,
        verb: Verb,
    ) -> Result<User, Status> {
        let user = self.options.authenticator.authenticate(parts)?;
        let method = parts.method.as_str().to_ascii_lowercase();
        // A list or watch of one name is authorised as a request for it.
        let selected = match verb {
            Verb::List | Verb::Watch => selected_name(query),
            _ => None,
        };
        let resource = path.map(|path| Resource {
            group: &path.group,
            version: &path.version,
            resource: &path.resource,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: if path.name.is_empty() { selected.as_deref().unwrap_or_default() } else { &path.name },
        });
        let named = if resource.is_some() { verb.as_str() } else { method.as_str() };
        let attributes = Attributes { user: &user, verb: named, path: parts.uri.path(), resource };
        let authorizer = &*self.options.authorizer;
        let other = impersonate::impersonate(&attributes, &parts.headers, authorizer)?;
        let attributes = Attributes { user: other.as_ref().unwrap_or(&user), ..attributes };
        if let Decision::Deny(reason) = authorizer.authorize(&attributes) {
            return Err(forbidden(&attributes, &reason));
        }
        Ok(other.unwrap_or(user))
    }

    /// A request for a resource: a subresource written in Rust, or a verb of the registry.
    async fn resource<B>(self: &Arc<Self>, asked: Asked<'_>, body: B) -> Result<Reply, Status>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
        if let Some((resource, connect)) = self.connect(asked.path) {
            return self.connect_to(resource, connect.clone(), asked, body).await;
        }
        let _seat = self.seat(&asked).await?;
        let path = asked.path;
        let served = self.registry.served(&path.group, &path.version, &path.resource);
        let Some(served) = served.filter(|served| !served.definition.verbs.is_empty()) else {
            return self.no_such_resource(&path.group);
        };
        let mut warnings: Vec<String> = served.version.deprecation_warning.iter().cloned().collect();
        match crate::refusal::refusal(&asked, &served) {
            None => {}
            Some(Err(status)) => {
                return Ok(Reply::Answer(Answer::error(&status, &asked.parts.headers), warnings));
            }
            Some(refusal) => return refusal,
        }
        let result = match asked.verb {
            Verb::Create if !served.definition.is_stored() => {
                self.review(&asked, &served, body, &mut warnings).await
            }
            Verb::Get => self.get(&asked, &served).await,
            Verb::List => self.list(&asked, &served, &mut warnings).await,
            Verb::Watch => self.watch(&asked, &served, &warnings).await,
            _ => self.write(&asked, &served, body, &mut warnings).await,
        };
        match result {
            Ok(Reply::Answer(answer, _)) => Ok(Reply::Answer(answer, warnings)),
            Ok(response) => Ok(response),
            Err(status) => {
                if status.code == 413 {
                    self.metrics.limit("body_bytes");
                }
                Ok(Reply::Answer(Answer::error(&status, &asked.parts.headers), warnings))
            }
        }
    }

    /// Waits until it is the asker's turn. Watches go on for so long that they take no seat.
    async fn seat(&self, asked: &Asked<'_>) -> Result<Option<Seat>, Status> {
        if asked.verb == Verb::Watch {
            return Ok(None);
        }
        let seat = self.flows.enter(&asked.user.name).await;
        seat.map(Some).map_err(|limit| {
            self.metrics.limit(limit);
            too_many()
        })
    }

    /// Why the asker may not create the object of the path, if so.
    pub(crate) fn create_refusal(&self, asked: &Asked<'_>) -> Option<Status> {
        let path = asked.path;
        let resource = Resource {
            group: &path.group,
            version: &path.version,
            resource: &path.resource,
            subresource: &path.subresource,
            namespace: &path.namespace,
            name: &path.name,
        };
        let attributes = Attributes {
            user: &asked.user,
            verb: Verb::Create.as_str(),
            path: asked.parts.uri.path(),
            resource: Some(resource),
        };
        match self.options.authorizer.authorize(&attributes) {
            Decision::Allow => None,
            Decision::Deny(reason) => Some(forbidden(&attributes, &reason)),
        }
    }

    fn connect(&self, path: &ResourcePath) -> Option<&(ConnectResource, Arc<dyn Connect>)> {
        if path.subresource.is_empty() {
            return None;
        }
        self.options.connects.iter().find(|(resource, _)| {
            resource.group == path.group
                && resource.version == path.version
                && resource.resource == path.resource
                && resource.subresource == path.subresource
        })
    }

    async fn connect_to<B>(
        &self,
        resource: &ConnectResource,
        connect: Arc<dyn Connect>,
        asked: Asked<'_>,
        body: B,
    ) -> Result<Reply, Status>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
        if !resource.methods.contains(&asked.parts.method) {
            return Err(Status::method_not_allowed(
                "the server does not allow this method on the requested resource",
            ));
        }
        let upgrade = asked.parts.extensions.get::<hyper::upgrade::OnUpgrade>().is_some();
        let body = if upgrade { Bytes::new() } else { input::read(body, &self.metrics).await? };
        let request = ConnectRequest {
            user: asked.user,
            namespace: asked.path.namespace.clone(),
            name: asked.path.name.clone(),
            rest: asked.path.rest.clone(),
            parts: asked.parts.clone(),
            body,
        };
        connect.connect(request).await.map(|response| Reply::Response(Box::new(response)))
    }

    /// 504 for a request that reached [`crate::limits::REQUEST`].
    pub(crate) fn late(&self, message: &str) -> Status {
        self.metrics.limit("request");
        Status::timeout(message)
    }

    /// Groups of built-in kinds answer with a `Status`, everything else with a text, as on a real server.
    pub(crate) fn no_such_resource(&self, group: &str) -> Result<Reply, Status> {
        let definitions = self.registry.definitions();
        if group.is_empty() || definitions.iter().any(|one| one.built_in && one.group == group) {
            return Err(Status::no_such_path());
        }
        Ok(Answer::page_not_found().into())
    }
}

/// The name that a field selector asks for.
fn selected_name(query: &Query) -> Option<String> {
    let selector = query.get("fieldSelector")?;
    let mut terms = selector.split(',');
    terms.find_map(|term| {
        let (field, value) = term.split_once("==").or_else(|| term.split_once('='))?;
        (field == "metadata.name").then(|| value.to_owned())
    })
}

/// Whether a resource is served under this name at all: for errors.
pub(crate) fn is_kind(definitions: &registry::Definitions, api_version: &str, kind: &str) -> bool {
    let (group, version) = machinery::meta::group_version(api_version);
    definitions.by_kind(group, kind).is_some_and(|definition| definition.version(version).is_some())
}

/// For error texts about the body of a write to `served`.
pub(crate) fn expected<'a>(api_version: &'a str, served: &'a Served) -> input::Expected<'a> {
    let definition = &served.definition;
    input::Expected { api_version, kind: &definition.kind, built_in: definition.built_in, strict: true }
}
