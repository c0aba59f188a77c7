//! The simulated etcd of a workload cluster, limited to its members, which is all that a control plane uses.
//! The members are the cluster's etcd Pods, so that their state can be read and changed with kubectl. A
//! member whose Pod is not ready is dead. Without a quorum of live members only `Status` is answered.

use std::convert::Infallible;
use std::sync::Arc;

use chrono::TimeDelta;
use engine::etcd::{
    self, AlarmResponse, Member, MemberListResponse, MemberRemoveRequest, MemberRemoveResponse,
    MoveLeaderRequest, MoveLeaderResponse, ResponseHeader, StatusResponse,
};
use futures::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery::clock::{Clock, parse_rfc3339, rfc3339_micro};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;

use super::api::{Api, Place};
use crate::names::{ETCD_CLUSTER_ID, ETCD_LEADER_FROM, ETCD_MEMBER_ID, ETCD_MEMBER_REMOVED, KUBE_SYSTEM};

/// The etcd version that `Status` reports.
const VERSION: &str = "3.6.4";

/// The etcd of one workload cluster.
#[derive(Clone)]
pub struct Etcd {
    api: Api,
    clock: Clock,
}

/// A failed call: gRPC code and message.
type Failure = (u32, String);

/// A member of etcd, as its Pod describes it.
#[derive(Debug, Clone)]
pub struct Replica {
    /// The name of the Pod.
    pub pod: String,
    /// The name of the member.
    pub name: String,
    /// The ID of the member.
    pub id: u64,
    /// The ID of its cluster.
    pub cluster_id: u64,
    /// When it began to lead; empty if it never did.
    pub leader_from: String,
    /// Whether it was removed from its cluster.
    pub removed: bool,
    /// Whether it does not answer.
    pub dead: bool,
}

impl Etcd {
    /// Creates an etcd whose members are the etcd Pods in `api`.
    pub fn new(api: Api, clock: Clock) -> Self {
        Self { api, clock }
    }

    /// Serves gRPC over one connection to the member in Pod `pod`, until the connection closes.
    pub async fn serve<S>(self, pod: String, config: Arc<ServerConfig>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let stream = match TlsAcceptor::from(config).accept(stream).await {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(pod, %error, "etcd: TLS handshake failed");
                return;
            }
        };
        let service = hyper::service::service_fn(move |request| {
            let (etcd, pod) = (self.clone(), pod.clone());
            async move { Ok::<_, Infallible>(etcd.answer(&pod, request).await) }
        });
        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, "etcd: connection ended");
        }
    }

    async fn answer(&self, pod: &str, request: Request<Incoming>) -> Response<GrpcBody> {
        let path = request.uri().path().to_owned();
        let outcome = match Limited::new(request.into_body(), etcd::MAX_MESSAGE).collect().await {
            Ok(body) => self.call(pod, &path, &body.to_bytes()).await,
            Err(error) => Err((etcd::INTERNAL, error.to_string())),
        };
        let (data, code, message) = match outcome {
            Ok(data) => (Some(data), etcd::OK, String::new()),
            Err((code, message)) => (None, code, message),
        };
        let mut trailers = HeaderMap::new();
        trailers.insert(etcd::GRPC_STATUS, HeaderValue::from(code));
        if let Ok(value) = HeaderValue::from_str(&message) {
            trailers.insert(etcd::GRPC_MESSAGE, value);
        }
        let frames =
            data.map(|data| Ok(Frame::data(data))).into_iter().chain([Ok(Frame::trailers(trailers))]);
        let mut response = Response::new(StreamBody::new(stream::iter(frames.collect::<Vec<_>>())));
        response
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, HeaderValue::from_static(etcd::CONTENT_TYPE));
        response
    }

    async fn call(&self, pod: &str, path: &str, body: &[u8]) -> Result<Bytes, Failure> {
        let replicas = self.replicas().await?;
        let here = here(&replicas, pod)?;
        if !has_quorum(&replicas) && path != etcd::STATUS {
            return Err((etcd::UNAVAILABLE, "etcdserver: no leader".to_owned()));
        }
        match path {
            etcd::MEMBER_LIST => {
                let members = members(&replicas);
                Ok(etcd::frame(&MemberListResponse { header: header(here), members }))
            }
            etcd::MEMBER_REMOVE => {
                let request: MemberRemoveRequest = decode(body)?;
                let left = self.remove(&replicas, request.id).await?;
                Ok(etcd::frame(&MemberRemoveResponse { header: header(here), members: members(&left) }))
            }
            etcd::STATUS => Ok(etcd::frame(&StatusResponse {
                header: header(here),
                version: VERSION.to_owned(),
                leader: leader(&replicas).map_or(0, |leader| leader.id),
                ..StatusResponse::default()
            })),
            etcd::MOVE_LEADER => {
                let request: MoveLeaderRequest = decode(body)?;
                self.move_leader(&replicas, request.target_id).await?;
                Ok(etcd::frame(&MoveLeaderResponse { header: header(here) }))
            }
            etcd::ALARM => Ok(etcd::frame(&AlarmResponse { header: header(here), alarms: Vec::new() })),
            other => Err((etcd::UNIMPLEMENTED, format!("{other} is not implemented by the simulated etcd"))),
        }
    }

    async fn replicas(&self) -> Result<Vec<Replica>, Failure> {
        let pods = self.api.list(Place::pod(KUBE_SYSTEM, ""), "component=etcd").await;
        let pods = pods.map_err(|error| (etcd::INTERNAL, error.to_string()))?;
        Ok(pods.iter().filter_map(replica).collect())
    }

    async fn remove(&self, replicas: &[Replica], id: u64) -> Result<Vec<Replica>, Failure> {
        let found = replicas.iter().find(|replica| replica.id == id && !replica.removed);
        let removed = found.ok_or_else(|| (etcd::NOT_FOUND, "etcdserver: member not found".to_owned()))?;
        let patch = json!({"metadata": {"annotations": {ETCD_MEMBER_REMOVED: ""}}});
        self.annotate(removed, patch).await?;
        Ok(replicas.iter().filter(|replica| replica.id != id).cloned().collect())
    }

    async fn move_leader(&self, replicas: &[Replica], target: u64) -> Result<(), Failure> {
        let found = replicas.iter().find(|replica| replica.id == target && !replica.removed);
        let target = found
            .ok_or_else(|| (etcd::FAILED_PRECONDITION, "etcdserver: bad leader transferee".to_owned()))?;
        // The newest time decides who leads, so the new leader needs a later time than the present one even
        // within the same moment.
        let present = leader(replicas).and_then(|leader| parse_rfc3339(&leader.leader_from));
        let since =
            present.map_or(self.clock.now(), |at| self.clock.now().max(at + TimeDelta::microseconds(1)));
        let since = rfc3339_micro(since);
        self.annotate(target, json!({"metadata": {"annotations": {ETCD_LEADER_FROM: since}}})).await
    }

    async fn annotate(&self, replica: &Replica, patch: Value) -> Result<(), Failure> {
        let outcome = self.api.merge(Place::pod(KUBE_SYSTEM, &replica.pod), patch).await;
        outcome.map_err(|error| (etcd::INTERNAL, error.to_string()))
    }
}

type GrpcBody = StreamBody<stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

fn decode<M: prost::Message + Default>(body: &[u8]) -> Result<M, Failure> {
    etcd::unframe(body).map_err(|error| (etcd::INTERNAL, error))
}

fn replica(pod: &Value) -> Option<Replica> {
    let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str();
    let name = pod["metadata"]["name"].as_str()?;
    Some(Replica {
        pod: name.to_owned(),
        name: name.strip_prefix("etcd-")?.to_owned(),
        id: annotation(ETCD_MEMBER_ID)?.parse().ok()?,
        cluster_id: annotation(ETCD_CLUSTER_ID)?.parse().ok()?,
        leader_from: annotation(ETCD_LEADER_FROM).unwrap_or_default().to_owned(),
        removed: annotation(ETCD_MEMBER_REMOVED).is_some(),
        dead: is_dead(pod),
    })
}

/// Returns whether the member is dead: its Pod reports that it is not ready. A Pod without conditions is
/// still starting.
fn is_dead(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] != "True")
}

/// Returns whether more than half of the members are alive.
pub fn has_quorum(replicas: &[Replica]) -> bool {
    let members = replicas.iter().filter(|replica| !replica.removed);
    let (living, all) =
        members.fold((0, 0), |(living, all), replica| (living + usize::from(!replica.dead), all + 1));
    living > all / 2
}

/// Returns the member that was called. A removed member answers no call, like a real one that has stopped.
pub fn here<'a>(replicas: &'a [Replica], pod: &str) -> Result<&'a Replica, Failure> {
    let found = replicas.iter().find(|replica| replica.pod == pod);
    let here = found.ok_or_else(|| (etcd::UNAVAILABLE, format!("there is no member in pod {pod}")))?;
    if here.dead {
        return Err((etcd::UNAVAILABLE, format!("the member in pod {pod} does not run")));
    }
    if here.removed {
        return Err((
            etcd::UNAVAILABLE,
            "etcdserver: the member has been permanently removed from the cluster".into(),
        ));
    }
    if replicas.iter().any(|other| other.cluster_id != here.cluster_id) {
        return Err((etcd::INTERNAL, "etcdserver: members belong to different clusters".into()));
    }
    Ok(here)
}

fn header(replica: &Replica) -> Option<ResponseHeader> {
    Some(ResponseHeader {
        cluster_id: replica.cluster_id,
        member_id: replica.id,
        ..ResponseHeader::default()
    })
}

/// Returns the members that are not removed.
pub fn members(replicas: &[Replica]) -> Vec<Member> {
    let present = replicas.iter().filter(|replica| !replica.removed);
    present
        .map(|replica| Member { id: replica.id, name: replica.name.clone(), ..Member::default() })
        .collect()
}

/// Returns the live member with the latest leadership time; the first by name if none has a time.
pub fn leader(replicas: &[Replica]) -> Option<&Replica> {
    let present = replicas.iter().filter(|replica| !replica.removed && !replica.dead && has_quorum(replicas));
    present.max_by(|a, b| a.leader_from.cmp(&b.leader_from).then_with(|| b.pod.cmp(&a.pod)))
}
