//! How long the connections of [`net::http1`] and [`net::http2`] last.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::DuplexStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const DEADLINE: Duration = Duration::from_secs(60);
static ASKED: Notify = Notify::const_new();

/// Answers with a body that begins and does not end, but to `/silent` with nothing.
async fn endless(
    request: Request<Incoming>,
) -> Result<Response<impl Body<Data = Bytes, Error = Infallible>>, Infallible> {
    if request.uri().path() == "/silent" {
        ASKED.notify_one();
        std::future::pending::<()>().await;
    }
    let first = stream::iter([Ok(Frame::data(Bytes::from_static(b"first")))]);
    Ok(Response::new(StreamBody::new(first.chain(stream::pending()))))
}

/// Returns a stream to a server, and the server's task, which ends with the connection.
fn serve(is_http2: bool) -> (DuplexStream, JoinHandle<()>) {
    let (own, other) = tokio::io::duplex(64 << 10);
    let served = async move {
        let (stream, service) = (TokioIo::new(other), service_fn(endless));
        if is_http2 {
            http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await.ok();
        } else {
            http1::Builder::new().serve_connection(stream, service).await.ok();
        }
    };
    (own, tokio::spawn(served))
}

/// Sends a request with a sender that is dropped then.
async fn ask(stream: DuplexStream, is_http2: bool, path: &str) -> Response<Incoming> {
    let request = Request::get(format!("http://a{path}")).body(Empty::<Bytes>::new()).unwrap();
    if is_http2 {
        net::http2(stream).await.unwrap().send_request(request).await.unwrap()
    } else {
        net::http1(stream).await.unwrap().send_request(request).await.unwrap()
    }
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.unwrap()
}

#[tokio::test]
async fn a_connection_ends_when_a_request_is_given_up() {
    for is_http2 in [false, true] {
        let (stream, server) = serve(is_http2);
        let asked = ASKED.notified();
        let mut asking = Box::pin(ask(stream, is_http2, "/silent"));
        in_time(async {
            tokio::select! {
                _ = &mut asking => {}
                () = asked => {}
            }
        })
        .await;
        assert!((&mut asking).now_or_never().is_none() && !server.is_finished());
        drop(asking);
        in_time(server).await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_lasts_as_long_as_the_body_of_its_answer() {
    for is_http2 in [false, true] {
        let (stream, server) = serve(is_http2);
        let mut answer = in_time(ask(stream, is_http2, "/")).await;
        let first = in_time(answer.body_mut().frame()).await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "first");
        assert!(answer.body_mut().frame().now_or_never().is_none() && !server.is_finished());
        drop(answer);
        in_time(server).await.unwrap();
    }
}
