//! A client of one etcd member: gRPC over HTTP/2 and TLS, through a port-forward to its Pod.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::etcd::{self as wire, Member};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Collected, Full, Limited};
use hyper::body::Body;
use hyper::client::conn::http2::SendRequest;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Portforwarder;
use kube::{Api, Client};
use prost::Message;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use crate::error::{Error, Result};

const PORT: u16 = 2379;
const NAMESPACE: &str = "kube-system";
/// kubeadm's certificates of etcd have this name. The name of a Pod may be longer than a DNS label.
const SERVER_NAME: &str = "localhost";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The most bytes of an answer. A member takes less than a kilobyte of a list of all, and an empty one two bytes but a hundred once it is
/// decoded, so this bounds the memory for what a hostile cluster answers.
pub const ANSWER_BYTES: usize = 64 << 10;

/// A connection to one member.
pub struct EtcdClient {
    sender: SendRequest<Full<Bytes>>,
    forward: Portforwarder,
}

impl Drop for EtcdClient {
    fn drop(&mut self) {
        self.forward.abort();
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Etcd(error.to_string())
}

/// Reads the body of an answer.
///
/// # Errors
/// [`Error::Etcd`]: it breaks off, or has more than [`ANSWER_BYTES`].
pub async fn collected<B>(body: B) -> Result<Collected<Bytes>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    Limited::new(body, ANSWER_BYTES).collect().await.map_err(failed)
}

impl EtcdClient {
    /// Connects to the etcd member in Pod `pod` of the cluster that `client` is connected to.
    ///
    /// # Errors
    /// [`Error::Etcd`], also if connecting takes longer than ten seconds.
    pub async fn connect(client: &Client, pod: &str, tls: Arc<ClientConfig>) -> Result<Self> {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, Self::open(client, pod, tls)).await;
        connected
            .unwrap_or_else(|_| Err(failed(format!("no connection to {pod} within {CONNECT_TIMEOUT:?}"))))
    }

    async fn open(client: &Client, pod: &str, tls: Arc<ClientConfig>) -> Result<Self> {
        let pods = Api::<Pod>::namespaced(client.clone(), NAMESPACE);
        let mut forward = pods.portforward(pod, &[PORT]).await.map_err(failed)?;
        let stream = forward.take_stream(PORT).ok_or_else(|| failed("the port-forward has no stream"))?;
        let name = ServerName::try_from(SERVER_NAME).map_err(failed)?;
        let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(failed)?;
        let sender = net::http2(stream).await.map_err(failed)?;
        Ok(Self { sender, forward })
    }

    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    async fn call<Answer: Message + Default>(&self, path: &str, message: &impl Message) -> Result<Answer> {
        let request = Request::post(format!("https://etcd{path}"))
            .header(http::header::CONTENT_TYPE, wire::CONTENT_TYPE)
            .header(http::header::TE, "trailers")
            .body(Full::new(wire::frame(message)))
            .map_err(failed)?;
        let answer = tokio::time::timeout(CALL_TIMEOUT, self.send(request)).await;
        let body = answer.unwrap_or_else(|_| Err(failed(format!("no answer within {CALL_TIMEOUT:?}"))));
        let name = path.rsplit('/').next().unwrap_or(path);
        body.and_then(|body| wire::unframe(&body).map_err(Error::Etcd)).map_err(|error| match error {
            Error::Etcd(text) => Error::Etcd(format!("{name}: {text}")),
            other => other,
        })
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes> {
        let mut sender = self.sender.clone();
        sender.ready().await.map_err(failed)?;
        let response = sender.send_request(request).await.map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(failed(response.status()));
        }
        outcome(response.headers())?;
        let body = collected(response.into_body()).await?;
        if let Some(trailers) = body.trailers() {
            outcome(trailers)?;
        }
        Ok(body.to_bytes())
    }

    /// Returns all members.
    ///
    /// # Errors
    /// [`Error::Etcd`].
    pub async fn members(&self) -> Result<Vec<Member>> {
        let request = wire::MemberListRequest { linearizable: true };
        let answer: wire::MemberListResponse = self.call(wire::MEMBER_LIST, &request).await?;
        Ok(answer.members)
    }

    /// Returns the ID of the leader; 0 if there is none.
    ///
    /// # Errors
    /// [`Error::Etcd`].
    pub async fn leader(&self) -> Result<u64> {
        let answer: wire::StatusResponse = self.call(wire::STATUS, &wire::StatusRequest {}).await?;
        Ok(answer.leader)
    }

    /// Returns all raised alarms.
    ///
    /// # Errors
    /// [`Error::Etcd`].
    pub async fn alarms(&self) -> Result<Vec<wire::AlarmMember>> {
        let answer: wire::AlarmResponse = self.call(wire::ALARM, &wire::AlarmRequest::default()).await?;
        Ok(answer.alarms)
    }

    /// Removes a member.
    ///
    /// # Errors
    /// [`Error::Etcd`].
    pub async fn remove(&self, id: u64) -> Result<()> {
        let request = wire::MemberRemoveRequest { id };
        self.call::<wire::MemberRemoveResponse>(wire::MEMBER_REMOVE, &request).await.map(|_| ())
    }

    /// Moves leadership to `target`. The connected member must be the leader.
    ///
    /// # Errors
    /// [`Error::Etcd`].
    pub async fn move_leader(&self, target: u64) -> Result<()> {
        let request = wire::MoveLeaderRequest { target_id: target };
        self.call::<wire::MoveLeaderResponse>(wire::MOVE_LEADER, &request).await.map(|_| ())
    }
}

/// Reads the gRPC status from headers or trailers; absent counts as success.
///
/// # Errors
/// [`Error::Etcd`] with the message and code that etcd sent.
pub fn outcome(headers: &HeaderMap) -> Result<()> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text(wire::GRPC_STATUS) {
        None | Some("0") => Ok(()),
        Some(code) => {
            let message = text(wire::GRPC_MESSAGE).unwrap_or("no message");
            Err(failed(format!("{} (code {code})", percent_decoded(message))))
        }
    }
}

/// Decodes a gRPC message, in which characters other than printable ASCII are percent-encoded.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(byte) = bytes.get(index) {
        let code = (*byte == b'%').then(|| text.get(index + 1..index + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                index += 3;
            }
            None => {
                out.push(*byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
