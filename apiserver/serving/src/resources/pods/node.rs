//! The interface to a program that runs Pods: what kube-apiserver asks a kubelet for.

use std::io;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use http::Response;
use machinery::status::Status;
use serde_json::Value;

use crate::resources::connect::ConnectRequest;
use crate::transport::body::Body;

/// What a client wants of the log of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// The name of the container.
    pub container: String,
    /// Whether the log is followed until the container ends.
    pub follow: bool,
    /// Whether the log of the start before the last one is wanted.
    pub previous: bool,
    /// Only the last lines.
    pub tail: Option<u64>,
    /// Only lines of the last seconds.
    pub since_seconds: Option<u64>,
    /// Only lines since this time, in the form of RFC 3339.
    pub since_time: Option<String>,
    /// At most this many bytes.
    pub limit: Option<u64>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
}

/// A Node whose Pods run in the embedding program.
pub trait Node: Send + Sync + 'static {
    /// Returns its name, which is in `spec.nodeName` of its Pods.
    fn name(&self) -> &str;

    /// Returns the log of a container of a Pod.
    ///
    /// # Errors
    /// The container has no such log.
    fn log(&self, pod: &Value, options: LogOptions) -> Result<BoxStream<'static, Bytes>, Status>;

    /// Connects to a port of a Pod.
    ///
    /// # Errors
    /// Nothing listens there.
    fn dial<'a>(&'a self, pod: &'a Value, port: u16) -> BoxFuture<'a, io::Result<net::BoxStream>>;

    /// Serves the subresource `portforward` of a Pod.
    ///
    /// # Errors
    /// The request is no port-forward.
    fn port_forward(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>>;
}
