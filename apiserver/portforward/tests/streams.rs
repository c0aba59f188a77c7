//! The streams of one connection find each other.

use portforward::limits::SPDY_STREAMS;
use portforward::spdy::headers::Headers;
use portforward::streams::Waiting;
use tokio::io::DuplexStream;

/// Returns the headers of a stream as client-go sends them, and a stream.
fn stream(kind: &str, port: &str, request: &str) -> (Headers, DuplexStream) {
    let headers = [("streamtype", kind), ("port", port), ("requestid", request)];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    (headers.to_vec(), tokio::io::duplex(1).0)
}

#[test]
fn streams_are_paired_by_their_request() {
    let mut waiting = Waiting::default();
    let mut add = |kind: &str, port: &str, request: &str| {
        let (headers, stream) = stream(kind, port, request);
        waiting.add(&headers, stream).map(|pair| pair.map(|pair| pair.port))
    };
    assert_eq!(add("error", "2379", "0"), Ok(None));
    assert_eq!(add("data", "6443", "1"), Ok(None));
    assert_eq!(add("data", "2379", "0"), Ok(Some(2379)));
    assert_eq!(add("error", "6443", "1"), Ok(Some(6443)));
    assert_eq!(add("data", "2379", "0"), Ok(None), "a number can be used again");
    assert!(add("data", "2379", "0").is_err(), "a second stream of the same type");
    assert_eq!(add("error", "2379", "0"), Ok(Some(2379)));
    for (kind, port) in [("data", "0"), ("data", "65536"), ("data", ""), ("stdin", "80")] {
        assert!(add(kind, port, "2").is_err(), "{kind} {port}");
    }
}

#[test]
fn streams_without_counterpart_are_limited() {
    let mut waiting = Waiting::default();
    for request in 0..SPDY_STREAMS {
        let (headers, stream) = stream("error", "80", &request.to_string());
        assert!(waiting.add(&headers, stream).is_ok());
    }
    let (headers, last) = stream("error", "80", "more");
    assert!(waiting.add(&headers, last).is_err());
    let (headers, last) = stream("data", "80", "0");
    assert!(waiting.add(&headers, last).is_ok_and(|pair| pair.is_some()));
}
