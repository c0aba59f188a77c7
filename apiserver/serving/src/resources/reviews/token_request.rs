//! `serviceaccounts/NAME/token`: issues service account tokens.
//!
//! The checks and their messages are those of `k8s.io/kubernetes/pkg/registry/core/serviceaccount`.

use ::access::Tokens;
use ::access::tokens::{Bound, Reference};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{Method, Response};
use machinery::clock::{Clock, rfc3339};
use machinery::field::{FieldError, FieldErrorKind, quote};
use machinery::meta;
use machinery::status::{GroupResource, Status};
use registry::{Registry, Served, Subresource};
use serde_json::Value;

use super::messages::invalid_request;
use crate::request::input::{self, expected, is_kind};
use crate::request::query::Query;
use crate::request::write_options::apply_options;
use crate::resources::connect::{Connect, ConnectRequest, ConnectResource};
use crate::response::answer::{Answer, wants_pretty};
use crate::response::negotiate::{Offer, negotiate};
use crate::transport::body::Body;

/// The path and methods of the subresource.
pub(crate) const TOKEN: ConnectResource = ConnectResource {
    group: "",
    version: "v1",
    resource: "serviceaccounts",
    subresource: "token",
    kind: "TokenRequest",
    kind_group_version: Some(("authentication.k8s.io", "v1")),
    methods: &[Method::POST],
};

const SHORTEST_SECONDS: i64 = 600;
const LONGEST_SECONDS: i64 = 1 << 32;
/// The lifetime that the kubelet requests for Pods. Such a token gets an extended lifetime, for clients that
/// do not reload it.
const EXTENDED_FROM_SECONDS: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 3600;

/// Issues tokens.
#[derive(Clone)]
pub(crate) struct TokenRequests {
    pub(crate) registry: Registry,
    pub(crate) tokens: Tokens,
    pub(crate) clock: Clock,
}

impl Connect for TokenRequests {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let this = self.clone();
        async move { this.answer(&request).await }.boxed()
    }
}

impl TokenRequests {
    async fn answer(&self, request: &ConnectRequest) -> Result<Response<Body>, Status> {
        let headers = &request.parts.headers;
        let query = Query::parse(request.parts.uri.query().unwrap_or_default());
        let mut media = negotiate(headers, Offer { streams: false, protobuf: true })?;
        media.pretty = media.pretty || wants_pretty(headers, query.flag("pretty"));
        let format = input::format(headers)?;
        let mut context = request.context.clone();
        apply_options(&mut context, query.write_options("CreateOptions", false)?);
        let served = self
            .registry
            .served("authentication.k8s.io", "v1", "tokenrequests")
            .ok_or_else(Status::no_such_path)?;
        let definitions = self.registry.definitions();
        let api_version = served.api_version();
        let input =
            input::object(&request.body, format, expected(&api_version, &served), |version, kind| {
                is_kind(&definitions, version, kind)
            })?;
        // An empty reference counts as one, although nothing of it is kept.
        let refers = input.object["spec"]["boundObjectRef"].is_object();
        let mut object =
            self.registry.transient(&mut context, &served, &request.namespace, TOKEN.subresource, input)?;
        if refers && object["spec"]["boundObjectRef"].is_null() {
            object["spec"]["boundObjectRef"] = serde_json::json!({});
        }
        let answer = self.issue(request, object).await?;
        Ok(Answer::value(201, &answer, media).finish(headers, &context.warnings))
    }

    /// Returns the request with the issued token.
    async fn issue(&self, request: &ConnectRequest, mut object: Value) -> Result<Value, Status> {
        let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
        let account = self.object("serviceaccounts", namespace, name).await?;
        let now = self.clock.now();
        identify(&mut object, &account, &rfc3339(now))?;
        let spec = &mut object["spec"];
        if spec["audiences"].as_array().is_none_or(Vec::is_empty) {
            spec["audiences"] = self.tokens.audiences().into();
        }
        let seconds = spec["expirationSeconds"].as_i64().unwrap_or_default();
        check_seconds(seconds)?;
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("boundObjectRef").or_insert(Value::Null);
        }
        let spec = &object["spec"];
        let mut bound = Bound {
            namespace: namespace.to_owned(),
            serviceaccount: reference(&account),
            ..Bound::default()
        };
        self.bind(&spec["boundObjectRef"], namespace, name, &mut bound).await?;
        let audiences = spec["audiences"].as_array().into_iter().flatten();
        let audiences: Vec<String> = audiences.filter_map(Value::as_str).map(str::to_owned).collect();
        let extended = bound.pod.is_some()
            && seconds == EXTENDED_FROM_SECONDS
            && audiences.iter().all(|one| self.tokens.audiences().contains(one));
        if extended {
            bound.warnafter = Some(now.timestamp() + seconds);
        }
        let lifetime = if extended { EXTENDED_SECONDS } else { seconds };
        let claims = self.tokens.claims(audiences, lifetime, bound);
        let expiration = now + chrono::Duration::seconds(seconds);
        object["status"] = serde_json::json!({
            "token": self.tokens.issue(&claims)?, "expirationTimestamp": rfc3339(expiration),
        });
        Ok(object)
    }

    /// Resolves the object that the token is bound to, which must exist.
    async fn bind(
        &self,
        asked: &Value,
        namespace: &str,
        account: &str,
        bound: &mut Bound,
    ) -> Result<(), Status> {
        if !asked.is_object() {
            return Ok(());
        }
        let text = |field: &str| asked[field].as_str().unwrap_or_default();
        // An invalid apiVersion counts as absent.
        let api_version = Some(text("apiVersion")).filter(|text| text.matches('/').count() < 2);
        let (group, version) = meta::group_version(api_version.unwrap_or_default());
        let (kind, name) = (text("kind"), text("name"));
        if name.is_empty() && matches!((group, kind), ("", "Pod" | "Secret" | "Node")) {
            return Err(Status::bad_request("Name parameter required."));
        }
        let found = match (group, kind) {
            ("", "Pod") => {
                let pod = self.object("pods", namespace, name).await?;
                if meta::text(&pod, &["spec", "serviceAccountName"]) != account {
                    let why = "to pod running with different serviceaccount name.";
                    let account = quote(account);
                    return Err(Status::bad_request(format!(
                        "cannot bind token for serviceaccount {account} {why}"
                    )));
                }
                let node = meta::text(&pod, &["spec", "nodeName"]);
                if !node.is_empty() {
                    // For a Node that does not exist, only the name is known.
                    let known = self.object("nodes", "", node).await.map(|node| reference(&node));
                    let unknown = Reference { name: node.to_owned(), ..Reference::default() };
                    bound.node = Some(known.unwrap_or(unknown));
                }
                bound.pod.insert(reference(&pod)).clone()
            }
            ("", "Node") => bound.node.insert(reference(&self.object("nodes", "", name).await?)).clone(),
            ("", "Secret") => {
                bound.secret.insert(reference(&self.object("secrets", namespace, name).await?)).clone()
            }
            _ => {
                let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(Status::bad_request(why));
            }
        };
        let uid = text("uid");
        if !uid.is_empty() && uid != found.uid {
            let why = format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            );
            return Err(Status::conflict(GroupResource { group, resource: kind }, name, &why));
        }
        Ok(())
    }

    async fn object(&self, plural: &str, namespace: &str, name: &str) -> Result<Value, Status> {
        let missing = || Status::not_found(GroupResource { group: "", resource: plural }, name);
        let served: Served = self.registry.served("", "v1", plural).ok_or_else(missing)?;
        let text = self.registry.get(&served, namespace, name, Subresource::None, "").await?;
        serde_json::from_slice(&text).map_err(|_| Status::internal("a stored object is not valid JSON"))
    }
}

fn reference(object: &Value) -> Reference {
    Reference { name: meta::name(object).to_owned(), uid: meta::uid(object).to_owned() }
}

/// Sets the request's name and UID to those of the account; refuses differing ones.
fn identify(object: &mut Value, account: &Value, now: &str) -> Result<(), Status> {
    let (name, uid) = (meta::name(account), meta::uid(account));
    let given = meta::name(object);
    if !given.is_empty() && given != name {
        let why = "must match the service account name if specified";
        let error = FieldError::new(FieldErrorKind::Invalid, "metadata.name", &given.into(), why);
        return Err(invalid_request(name, &[error]));
    }
    let given = meta::uid(object);
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        let resource = GroupResource { group: "authentication.k8s.io", resource: "TokenRequest" };
        return Err(Status::conflict(resource, name, &why));
    }
    if let Some(metadata) = meta::metadata_mut(object) {
        metadata.insert("name".into(), name.into());
        metadata.insert("uid".into(), uid.into());
        metadata.insert("creationTimestamp".into(), now.into());
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Status> {
    let why = if seconds < SHORTEST_SECONDS {
        "may not specify a duration less than 10 minutes"
    } else if seconds > LONGEST_SECONDS {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let error = FieldError::new(FieldErrorKind::Invalid, "spec.expirationSeconds", &seconds.into(), why);
    Err(invalid_request("", &[error]))
}
