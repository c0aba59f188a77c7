//! The answers of etcd.

use bytes::Bytes;
use engine::etcd as wire;
use http::HeaderMap;
use http_body_util::Full;
use kubeadm::etcd::{ANSWER_BYTES, collected, outcome};

#[test]
fn messages_are_decoded() {
    let mut headers = HeaderMap::new();
    assert!(outcome(&headers).is_ok());
    headers.insert(wire::GRPC_STATUS, "5".parse().unwrap());
    headers.insert(wire::GRPC_MESSAGE, "member%20not%20found".parse().unwrap());
    assert_eq!(outcome(&headers).unwrap_err().to_string(), "etcd: member not found (code 5)");
    headers.insert(wire::GRPC_MESSAGE, "a%20b%25%zz%2".parse().unwrap());
    assert_eq!(outcome(&headers).unwrap_err().to_string(), "etcd: a b%%zz%2 (code 5)");
}

#[tokio::test]
async fn an_answer_has_a_limit() {
    for (length, is_read) in [(ANSWER_BYTES - 1, true), (ANSWER_BYTES, true), (ANSWER_BYTES + 1, false)] {
        let read = collected(Full::new(Bytes::from(vec![0; length]))).await;
        assert_eq!(read.is_ok(), is_read, "{length}");
    }
}
