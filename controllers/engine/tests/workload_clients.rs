//! The limits, with a client whose server is a function.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use engine::testing::{ANSWERS_TOGETHER_BYTES, Answers, BoundedLayer};
use http::{Request, Response};
use http_body::{Body as HttpBody, Frame};
use tokio::time::timeout;
use tower::{Layer, Service};

const BODY_LIMIT: u64 = 32 << 20;
const EVENT_LIMIT: u64 = 8 << 20;

/// A body that sends these parts and then stays silent.
struct Parts(VecDeque<Bytes>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.pop_front().map_or(Poll::Pending, |part| Poll::Ready(Some(Ok(Frame::data(part)))))
    }
}

/// Requests `path`; returns the bytes of the body until its first error, and the error.
async fn ask(path: &str, parts: impl IntoIterator<Item = Bytes>) -> (u64, String) {
    let parts = Parts(parts.into_iter().collect());
    let mut parts = Some(parts);
    let server = tower::service_fn(move |_: Request<()>| {
        let parts = parts.take();
        async move {
            match parts {
                Some(parts) => Ok::<_, Infallible>(Response::new(parts)),
                None => std::future::pending().await,
            }
        }
    });
    let mut client = BoundedLayer::default().layer(server);
    let request = |path: &str| Request::get(path).body(()).unwrap();
    let answer = client.call(request(path)).await.unwrap();
    let (mut body, mut received) = (Box::pin(answer.into_body()), 0);
    loop {
        let frame = timeout(
            Duration::from_secs(3600),
            std::future::poll_fn(|context| body.as_mut().poll_frame(context)),
        );
        match frame.await {
            Ok(Some(Ok(frame))) => received += frame.data_ref().map_or(0, Bytes::len) as u64,
            Ok(Some(Err(error))) => return (received, error.to_string()),
            Ok(None) => return (received, String::new()),
            Err(_) => return (received, "silent".to_owned()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_an_error() {
    let server =
        tower::service_fn(|_: Request<()>| std::future::pending::<Result<Response<Parts>, Infallible>>());
    let mut client = BoundedLayer::default().layer(server);
    let error = client.call(Request::get("/api").body(()).unwrap()).await.err().unwrap();
    assert_eq!(error.to_string(), "no answer within 15 s");
}

#[tokio::test(start_paused = true)]
async fn a_body_ends_in_time_but_a_watch_may_be_silent() {
    let part = Bytes::from_static(b"{\"items\": [");
    let expected = (11, "the answer was not complete within 30 s".to_owned());
    assert_eq!(ask("/api/v1/nodes", [part.clone()]).await, expected);
    assert_eq!(
        ask("/api/v1/nodes?watch=true&timeoutSeconds=290", [part.clone()]).await,
        (11, "silent".to_owned())
    );
    assert_eq!(ask("/api/v1/nodes?fieldSelector=watch", [part]).await, expected);
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_is_refused_at_its_limit() {
    let part = Bytes::from(vec![b'x'; 1 << 20]);
    let parts = |count: u64| (0..count).map(|_| part.clone());
    let (received, error) = ask("/api/v1/nodes", parts(40)).await;
    assert_eq!((received, error.as_str()), (BODY_LIMIT, "the answer is longer than 32 MiB"));
    let (received, error) = ask("/api/v1/nodes", parts(32)).await;
    assert_eq!((received, error.as_str()), (BODY_LIMIT, "the answer was not complete within 30 s"));
}

#[tokio::test(start_paused = true)]
async fn each_event_of_a_watch_has_the_limit_of_its_own() {
    let part = Bytes::from(vec![b'x'; 1 << 20]);
    let (received, error) = ask("/api/v1/nodes?watch=true", (0..9).map(|_| part.clone())).await;
    assert_eq!((received, error.as_str()), (EVENT_LIMIT, "the answer is longer than 8 MiB"));
    let line = Bytes::from([part.as_ref(), b"\n"].concat());
    let (received, error) = ask("/api/v1/nodes?watch=true", (0..40).map(|_| line.clone())).await;
    assert_eq!((received, error.as_str()), (40 * line.len() as u64, "silent"));
}

#[tokio::test(start_paused = true)]
async fn all_answers_of_a_cluster_have_one_limit() {
    let part = Bytes::from(vec![b'x'; 20 << 20]);
    let server = tower::service_fn(move |_: Request<()>| {
        let parts = Parts([part.clone()].into());
        async move { Ok::<_, Infallible>(Response::new(parts)) }
    });
    let mut client = BoundedLayer::default().layer(server);
    let mut bodies = Vec::new();
    for (number, expected) in
        ["", "", "", "the answers together are longer than 64 MiB"].into_iter().enumerate()
    {
        let answer = client.call(Request::get("/api/v1/nodes").body(()).unwrap()).await.unwrap();
        let mut body = Box::pin(answer.into_body());
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await.unwrap();
        assert_eq!(frame.err().map(|error| error.to_string()).unwrap_or_default(), expected, "{number}");
        bodies.push(body);
    }
    bodies.clear();
    let answer = client.call(Request::get("/api/v1/nodes").body(()).unwrap()).await.unwrap();
    let mut body = Box::pin(answer.into_body());
    let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await.unwrap();
    assert!(frame.is_ok(), "what has ended does not count");
}

#[tokio::test(start_paused = true)]
async fn the_answers_of_all_clusters_have_one_limit_and_each_leaves_room() {
    let part = Bytes::from(vec![b'x'; 20 << 20]);
    let (all, mut bodies, mut refused) = (Answers::default(), Vec::new(), 0);
    for _ in 0..20 {
        let part = part.clone();
        let server = tower::service_fn(move |_: Request<()>| {
            let parts = Parts([part.clone()].into());
            async move { Ok::<_, Infallible>(Response::new(parts)) }
        });
        let mut client = BoundedLayer::within(&all).layer(server);
        let answer = client.call(Request::get("/api/v1/nodes").body(()).unwrap()).await.unwrap();
        let mut body = Box::pin(answer.into_body());
        let frame = std::future::poll_fn(|context| body.as_mut().poll_frame(context)).await.unwrap();
        match frame {
            Ok(_) => bodies.push(body),
            Err(error) => {
                assert_eq!(error.to_string(), "all workload clusters together are sending too much");
                refused += 1;
                drop(body);
            }
        }
        assert!(all.bytes() + (20 << 20) <= ANSWERS_TOGETHER_BYTES, "room for another one");
    }
    assert_eq!((bodies.len(), refused), (11, 9));
    bodies.clear();
    assert_eq!(all.bytes(), 0, "what has ended does not count");
}
