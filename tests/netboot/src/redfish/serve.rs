//! Serves the service over streams: authentication, faults, responses.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http::{Method, Request};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::answers::{Answer, answer, error, json as json_answer};
use super::orders::Fault;
use super::resources::{Seen, resource};
use super::service::Service;
use super::writes::TASK;

/// A self-signed certificate of the service.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    acceptor: TlsAcceptor,
}

impl Identity {
    /// Creates a certificate for these names and addresses.
    pub fn self_signed(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let configuration = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        Self { certificate, acceptor: TlsAcceptor::from(Arc::new(configuration)) }
    }
}

impl Service {
    /// Serves on a port until the task is dropped; returns the address, for port 0.
    ///
    /// # Errors
    /// Returns the errors of the socket.
    pub async fn listen(
        self: Arc<Self>,
        address: SocketAddr,
        identity: Option<Identity>,
    ) -> io::Result<(SocketAddr, tokio::task::JoinHandle<()>)> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(self.clone().serve(stream, identity.clone()));
            }
        });
        Ok((address, task))
    }

    /// Serves a stream until it ends.
    pub async fn serve<S>(self: Arc<Self>, stream: S, identity: Option<Identity>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        match identity {
            None => self.serve_http(stream).await,
            Some(identity) => {
                if let Ok(stream) = identity.acceptor.accept(stream).await {
                    self.serve_http(stream).await;
                }
            }
        }
    }

    async fn serve_http<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(self: Arc<Self>, stream: S) {
        let service = service_fn(|request| {
            let this = self.clone();
            async move { this.answer(request).await }
        });
        let connection =
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A fault that drops the connection ends it with an error.
        drop(connection.await);
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Answer, io::Error> {
        let (method, path) =
            (request.method().to_string(), request.uri().path().trim_end_matches('/').to_owned());
        self.state().requests.push(format!("{method} {path}"));
        let fault = self.fault(&method, &path);
        match &fault {
            Some(Fault::Silent) => std::future::pending().await,
            Some(Fault::Drop) => return Err(io::Error::other("dropped")),
            Some(Fault::Garbage) => return Ok(answer(200, &[], "<html><body>Please log in</body></html>")),
            Some(Fault::Status(status)) => {
                return Ok(error(*status, "The service says no, as it was ordered to."));
            }
            Some(Fault::Busy(seconds)) => {
                let mut busy = error(503, "The service is temporarily unavailable.");
                if let Some(seconds) = seconds {
                    busy.headers_mut().insert("retry-after", (*seconds).into());
                }
                return Ok(busy);
            }
            Some(Fault::Ignore) => return Ok(answer(204, &[], "")),
            Some(Fault::Lie(..)) | None => {}
        }
        let Some(path) = path.strip_prefix("/redfish/v1") else {
            return Ok(error(404, "The resource was not found."));
        };
        let lie = match fault {
            Some(Fault::Lie(pointer, value)) => Some((pointer, value)),
            _ => None,
        };
        self.route(path.to_owned(), request, lie).await
    }

    async fn route(
        &self,
        path: String,
        request: Request<Incoming>,
        lie: Option<(&'static str, Value)>,
    ) -> Result<Answer, io::Error> {
        let (parts, body) = request.into_parts();
        let body: Bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let header =
            |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if path == "/SessionService/Sessions" && parts.method == Method::POST {
            return Ok(self.log_in(&body));
        }
        if !path.is_empty() && !self.is_known(header("authorization"), header("x-auth-token")) {
            return Ok(error(401, "The session or the credentials are not valid."));
        }
        let tag = self.tag();
        let taken = tag.trim_start_matches("W/");
        Ok(match parts.method {
            Method::GET if path == TASK => self.task(),
            Method::GET => match self.resource(&path).await {
                Some(mut body) => {
                    if let Some((pointer, value)) = lie {
                        *body.pointer_mut(pointer).unwrap() = value;
                    }
                    json_answer(200, &[("etag", &tag)], &body)
                }
                None => error(404, &format!("The resource {path} was not found.")),
            },
            Method::PATCH if !["", taken].contains(&header("if-match")) => {
                error(412, "The ETag supplied did not match.")
            }
            Method::PATCH => self.patch(&path, &body),
            Method::POST => self.post(&path, &body).await,
            Method::DELETE => self.delete(&path),
            _ => error(405, "The method is not allowed."),
        })
    }

    async fn resource(&self, path: &str) -> Option<Value> {
        let seen = Seen { is_on: self.machine.is_on().await, macs: self.machine.macs() };
        resource(&self.behaviour, &self.state(), &seen, path)
    }

    fn tag(&self) -> String {
        let weak = if self.behaviour.weak_tags { "W/" } else { "" };
        format!("{weak}\"{}\"", self.state().version)
    }

    fn log_in(&self, body: &Value) -> Answer {
        let mut state = self.state();
        if body["UserName"] != state.user.as_str() || body["Password"] != state.password.as_str() {
            // Some real services reveal too much in errors.
            return error(401, &format!("Password {} of {} is wrong.", body["Password"], body["UserName"]));
        }
        let token = format!("token-{}", state.requests.len());
        state.sessions.push(token.clone());
        let location = format!("/redfish/v1/SessionService/Sessions/{token}");
        json_answer(201, &[("x-auth-token", &token), ("location", &location)], &json!({"Id": token}))
    }

    fn is_known(&self, authorization: &str, token: &str) -> bool {
        let state = self.state();
        let pair = format!("{}:{}", state.user, state.password);
        let basic = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair));
        (authorization == basic && !self.behaviour.sessions_only)
            || state.sessions.iter().any(|session| session == token)
    }
}
