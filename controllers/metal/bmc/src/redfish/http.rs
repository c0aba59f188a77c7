//! Requests to a Redfish service: authentication, timeouts, retries, errors.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Method, StatusCode, header};
use serde_json::{Value, json};

use super::connection::{Connection, Failure, Raw};
use super::message::refusal;
use crate::network::Network;
use crate::{BmcAddress, Credentials, Error, Result, Verification, limits};

/// The path of the collection of sessions.
pub(crate) const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// A resource of the service.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// The path of the resource.
    pub path: String,
    /// The entity tag, for `If-Match`.
    pub etag: Option<String>,
    /// The content of the resource.
    pub body: Value,
}

/// A successful answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The call, for later error messages.
    pub call: String,
    /// The HTTP status.
    pub status: u16,
    /// The header `Location`, as a path.
    pub location: Option<String>,
    /// The body; null if it is empty or not JSON.
    pub body: Value,
}

/// A session at the service.
struct Session {
    token: String,
    path: Option<String>,
}

/// The client of a service.
pub(crate) struct Http {
    connection: Connection,
    credentials: Credentials,
    origin: String,
    /// The session, if one is open. Basic authentication is tried first; a service that refuses it gets a session.
    session: Mutex<Option<Session>>,
    /// Whether the service has refused Basic authentication. Then each call sends a wrong password only once, because services lock
    /// users out after several failures.
    wants_session: AtomicBool,
}

impl Http {
    pub(crate) fn new(
        address: &BmcAddress,
        credentials: Credentials,
        verification: &Verification,
        network: Arc<dyn Network>,
    ) -> Result<Self> {
        let connection = Connection::new(address, verification, network)?;
        Ok(Self {
            connection,
            credentials,
            origin: address.origin(),
            session: Mutex::new(None),
            wants_session: AtomicBool::new(false),
        })
    }

    /// Returns the name of a request for error messages.
    pub(crate) fn call(&self, method: &Method, path: &str) -> String {
        format!("{method} {path} at {}", self.origin)
    }

    /// Returns `scheme://host:port` of the service.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Reads a resource. The request is repeated if the service is busy or the connection breaks.
    pub(crate) async fn get(&self, path: &str) -> Result<Resource> {
        let mut path = path.to_owned();
        let mut redirects = 0;
        loop {
            let raw = self.get_again(&path).await?;
            if raw.status.is_redirection() && redirects < limits::REDIRECTS_MAX {
                redirects += 1;
                path = self.redirected(&path, &raw)?;
                continue;
            }
            let call = self.call(&Method::GET, &path);
            let etag = raw.header("etag");
            let body = self.accept(&call, raw)?.body;
            if !body.is_object() {
                let reason = "a JSON object was expected".to_owned();
                return Err(Error::Answer { call, reason });
            }
            let etag = etag.or_else(|| body["@odata.etag"].as_str().map(str::to_owned));
            return Ok(Resource { path, etag, body });
        }
    }

    async fn get_again(&self, path: &str) -> Result<Raw> {
        let mut attempt = 1;
        loop {
            let answer = self.authenticated(&Method::GET, path, None, None).await;
            let wait = match &answer {
                _ if attempt == limits::GET_ATTEMPTS => return answer,
                Ok(raw) if raw.status == StatusCode::SERVICE_UNAVAILABLE => {
                    retry_after(&raw.headers, attempt)
                }
                Err(Error::Unreachable { .. }) => Duration::from_secs(1) * attempt,
                _ => return answer,
            };
            attempt += 1;
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends a request that changes the service; it is not repeated.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Answer> {
        let call = self.call(&method, path);
        let raw = self.authenticated(&method, path, body, None).await?;
        self.accept(&call, raw)
    }

    /// Changes a resource if its entity tag still matches. Services differ in the form of their own tags that they accept: the original
    /// one, the strong form of a weak tag, or none.
    pub(crate) async fn patch(&self, resource: &Resource, body: &Value) -> Result<Answer> {
        let call = self.call(&Method::PATCH, &resource.path);
        let given = resource.etag.as_deref();
        let strong = given.and_then(|tag| tag.strip_prefix("W/"));
        let forms = [given, strong, None];
        let mut forms = forms.iter().enumerate().filter(|(place, tag)| *place != 1 || tag.is_some());
        loop {
            let tag = forms.next().and_then(|(_, tag)| *tag);
            let raw = self.authenticated(&Method::PATCH, &resource.path, Some(body), tag).await?;
            if raw.status == StatusCode::PRECONDITION_FAILED && tag.is_some() {
                continue;
            }
            return self.accept(&call, raw);
        }
    }

    /// Closes the session, if there is one.
    pub(crate) async fn close(&self) {
        let session = self.session().take();
        if let Some(Session { token, path: Some(path) }) = session {
            // If the session cannot be closed, it expires by itself.
            drop(self.connection.exchange(&Method::DELETE, &path, &[("x-auth-token", &token)], None).await);
        }
        self.connection.close();
    }

    fn session(&self) -> std::sync::MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn token(&self) -> Option<String> {
        self.session().as_ref().map(|session| session.token.clone())
    }

    async fn authenticated(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        etag: Option<&str>,
    ) -> Result<Raw> {
        let wants_session = self.wants_session.load(Ordering::Relaxed);
        if wants_session
            && self.token().is_none()
            && let Some(refusal) = self.log_in().await?
            && refusal.status == StatusCode::UNAUTHORIZED
        {
            return Ok(refusal);
        }
        let raw = self.once(method, path, body, etag).await?;
        if raw.status != StatusCode::UNAUTHORIZED {
            return Ok(raw);
        }
        // Basic authentication is disabled, the session has expired, or the password is wrong: the attempt to log in shows which.
        let refusal = self.log_in().await?;
        let is_wanted = refusal.as_ref().is_none_or(|refusal| refusal.status == StatusCode::UNAUTHORIZED);
        self.wants_session.store(is_wanted, Ordering::Relaxed);
        match refusal {
            Some(_) => Ok(raw),
            None => self.once(method, path, body, etag).await,
        }
    }

    async fn once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        etag: Option<&str>,
    ) -> Result<Raw> {
        let (token, basic) = (self.token(), self.credentials.basic());
        let mut headers = vec![match &token {
            Some(token) => ("x-auth-token", token.as_str()),
            None => ("authorization", basic.as_str()),
        }];
        headers.extend(etag.map(|tag| ("if-match", tag)));
        let answer = self.connection.exchange(method, path, &headers, body).await;
        answer.map_err(|failure| self.failed(self.call(method, path), failure))
    }

    /// Opens a session; returns the service's answer if it refuses.
    async fn log_in(&self) -> Result<Option<Raw>> {
        *self.session() = None;
        let body = json!({"UserName": self.credentials.username, "Password": self.credentials.password()});
        let answer = self.connection.exchange(&Method::POST, SESSIONS, &[], Some(&body)).await;
        let raw = answer.map_err(|failure| self.failed(self.call(&Method::POST, SESSIONS), failure))?;
        let Some(token) = raw.header("x-auth-token").filter(|_| raw.status.is_success()) else {
            return Ok(Some(raw));
        };
        let path = raw.header("location").and_then(|location| self.path_of(&location));
        *self.session() = Some(Session { token, path });
        Ok(None)
    }

    fn failed(&self, call: String, failure: Failure) -> Error {
        match failure {
            Failure::Input(reason) => Error::Input(format!("{call}: {reason}")),
            Failure::TimedOut(after) => Error::TimedOut { call, after },
            Failure::Certificate(reason) => Error::Certificate { call, reason },
            Failure::Broken(reason) => Error::Unreachable { call, reason },
            Failure::Answer(reason) => Error::Answer { call, reason },
        }
    }

    /// Returns the path of a URL of this service; `None` if the URL belongs to another one.
    pub(crate) fn path_of(&self, address: &str) -> Option<String> {
        if address.starts_with('/') && !address.starts_with("//") {
            return Some(address.to_owned());
        }
        let uri: http::Uri = address.parse().ok()?;
        let ours = self.connection.is_here(&uri);
        uri.path_and_query().filter(|_| ours).map(|path| path.as_str().to_owned())
    }

    fn redirected(&self, path: &str, raw: &Raw) -> Result<String> {
        let location = raw.header("location").unwrap_or_default();
        self.path_of(&location).ok_or_else(|| {
            // Its path and its query may contain what only the service may tell.
            let host = location.parse::<http::Uri>().ok().and_then(|uri| Some(uri.authority()?.to_string()));
            let host = host.unwrap_or_else(|| "another place".to_owned());
            let reason = format!("the service points to {host}, which is another one: use its address");
            Error::Answer { call: self.call(&Method::GET, path), reason }
        })
    }

    /// Converts a response to an answer or an error.
    fn accept(&self, call: &str, raw: Raw) -> Result<Answer> {
        let parsed: Result<Value, _> = match raw.body.trim_ascii() {
            [] => Ok(Value::Null),
            body => serde_json::from_slice(body),
        };
        let location = raw.header("location").and_then(|location| self.path_of(&location));
        let (call, status) = (call.to_owned(), raw.status.as_u16());
        if raw.status.is_success() {
            let body = match parsed {
                Ok(body) => body,
                // Some services answer writes with an HTML page.
                Err(_) if !call.starts_with("GET ") => Value::Null,
                Err(error) => return Err(Error::Answer { call, reason: format!("not JSON ({error})") }),
            };
            return Ok(Answer { call, status, location, body });
        }
        let message = self.credentials.redact(&refusal(&parsed.unwrap_or_default()));
        Err(match raw.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                let message = format!("status {status}: {message}");
                Error::Unauthorized { call, message }
            }
            _ => Error::Status { call, status, message },
        })
    }
}

/// Returns the pause before the next attempt: `Retry-After`, or else one second more for each attempt.
fn retry_after(headers: &HeaderMap, attempt: u32) -> Duration {
    let told = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    told.map_or(Duration::from_secs(1) * attempt, Duration::from_secs).min(limits::RETRY_AFTER_MAX)
}
