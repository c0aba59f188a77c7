//! What `Accept` asks for.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};
use serving::testing::{Convert, Encoding, JSON, Media, Offer, negotiate};

#[test]
fn accept_headers() {
    let table = |version| Some(Media { convert: Some(Convert::Table(version)), ..JSON });
    let yaml = Some(Media { encoding: Encoding::Yaml, ..JSON });
    let cases = [
        ("", Some(JSON)),
        ("*/*", Some(JSON)),
        ("text/html", None),
        ("application/yaml", yaml),
        ("application/json;q=0.8, application/yaml;q=0.9", yaml),
        ("application/vnd.kubernetes.protobuf", None),
        ("application/vnd.kubernetes.protobuf,application/json", Some(JSON)),
        ("application/vnd.kubernetes.protobuf, */*", Some(JSON)),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", table("meta.k8s.io/v1")),
        ("application/json;as=Table;v=v7;g=meta.k8s.io,application/json", Some(JSON)),
        ("application/json;as=Table;v=v7;g=meta.k8s.io", None),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", table("meta.k8s.io/v1beta1")),
        ("application/json;stream=watch", Some(JSON)),
        ("application/yaml;stream=watch", None),
        ("application/json;stream=list", None),
    ];
    for (accept, expected) in cases {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        assert_eq!(negotiate(&headers, Offer::default()).ok(), expected, "{accept}");
    }
}

#[test]
fn protobuf_where_there_is_a_message() {
    const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
    let negotiated = |accept: &str, protobuf: bool| {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).unwrap())]);
        let media = negotiate(&headers, Offer { streams: false, protobuf }).ok();
        media.map(|media| (media.encoding, media.convert))
    };
    let table = format!("{PROTOBUF};as=Table;v=v1;g=meta.k8s.io");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    let partial = Some(Convert::PartialObjectMetadata("meta.k8s.io/v1"));
    assert_eq!(negotiated(PROTOBUF, true), Some((Encoding::Protobuf, None)));
    assert_eq!(negotiated(PROTOBUF, false), None);
    assert_eq!(negotiated(&format!("{PROTOBUF},application/json"), false), Some((Encoding::Json, None)));
    assert_eq!(negotiated("*/*", true), Some((Encoding::Json, None)));
    assert_eq!(negotiated("application/cbor,application/json", true), Some((Encoding::Json, None)));
    assert_eq!(negotiated("application/cbor", true), None);
    assert_eq!(negotiated(&table, true), None);
    assert_eq!(negotiated(&metadata, false), Some((Encoding::Protobuf, partial)));
}
