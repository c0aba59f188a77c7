//! The registry of bundles, against a client that checks everything that the distribution specification says about an answer.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;

use bundle::{Additions, Bundle, Catalogue, Container, Digest, FileKind, NewFile};
use metal_provisioning::http::registry::Registry;
use serde_json::{Value, json};

use crate::bundle::archives::{INDEX, Layout, MANIFEST};
use crate::metal_provisioning::http::Bench;

const LAYER: &str = "a layer of the image";
const SIGNATURE: &str = "application/vnd.example.signature";

/// A server with a bundle of two images, a disk image and a manifest.
struct Served {
    bench: Bench,
    /// The descriptors of the index, of its image for amd64, and of that image's signature.
    index: Value,
    image: Value,
    signature: Value,
    _folder: tempfile::TempDir,
}

/// An answer of the registry.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Served {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut layout = Layout::default();
        let (image, other) = (layout.image("amd64", LAYER), layout.image("arm64", "for arm64"));
        let index = layout.index(&[image.clone(), other]);
        for name in ["registry.example/team/a:1", "registry.example/team/a:10", "registry.example/team/a:2"] {
            layout.name(&index, name);
        }
        let library = layout.image("amd64", "of the library");
        layout.name(&library, "b:1");
        let signature = layout.referrer(&image, SIGNATURE);
        let witness = layout.referrer(&image, "application/vnd.example.witness");
        layout.name(&signature, "");
        layout.name(&witness, "");
        let catalogue = Arc::new(catalogue(folder.path(), &layout));
        let bench = Bench::with(Registry::new(catalogue)).await;
        Self { bench, index, image, signature, _folder: folder }
    }

    /// Sends a request, and checks what every answer of a registry has.
    async fn ask(&self, method: &str, path: &str, headers: &str) -> Answer {
        let (status, head, body) = self.bench.ask(method, path, headers).await;
        let answer = Answer { status, head, body };
        assert_eq!(answer.header("docker-distribution-api-version"), Some("registry/2.0"), "{path}");
        let length: usize = answer.header("content-length").unwrap_or("0").parse().unwrap();
        if method == "HEAD" || status == 304 {
            assert!(answer.body.is_empty());
        } else {
            assert_eq!(answer.body.len(), length, "{path}: {}", answer.head);
        }
        if let (200, "GET", Some(digest)) = (status, method, answer.header("docker-content-digest")) {
            assert_eq!(Digest::of(&answer.body).to_string(), digest);
        }
        if status >= 400 && status != 416 && method != "HEAD" {
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert!(answer.json()["errors"][0]["message"].is_string(), "{path}");
        }
        answer
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "").await
    }
}

fn catalogue(folder: &Path, layout: &Layout) -> Catalogue {
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let file = |kind, title: &str, content: &[u8]| NewFile {
        kind,
        title: title.into(),
        path: write(title, content),
    };
    let containers = vec![Container {
        name: None,
        path: write("images.tar", &layout.archive()),
        platforms: "linux/amd64".parse().unwrap(),
    }];
    let files = vec![
        file(FileKind::Disk, "noble.raw", b"a disk image"),
        file(FileKind::Manifests, "bmc.yaml", b"password of a BMC"),
    ];
    let path = folder.join("site.bundle");
    bundle::write(&path, None, &Additions { containers, files }).unwrap_or_else(|error| panic!("{error:#}"));
    Catalogue::of(&[Bundle::open(&path).unwrap()]).unwrap()
}

fn digest(descriptor: &Value) -> &str {
    descriptor["digest"].as_str().unwrap()
}

#[tokio::test]
async fn a_manifest_has_the_same_answer_by_every_name() {
    let served = Served::new().await;
    assert_eq!(served.get("/v2/").await.json(), json!({}));
    let expected = digest(&served.index);
    for path in [
        "/v2/registry.example/team/a/manifests/1",
        "/v2/team/a/manifests/10?ns=registry.example",
        &format!("/v2/team/a/manifests/{expected}?ns=registry.example"),
        &format!("/v2/team/a/manifests/{}?ns=registry.example", expected.replace(':', "%3A")),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = served.ask(method, path, "").await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.header("docker-content-digest"), Some(expected));
            assert_eq!(answer.header("content-type"), Some(INDEX));
            assert_eq!(answer.header("content-length"), Some(&*served.index["size"].to_string()));
            assert_eq!(answer.header("etag"), Some(&*format!("\"{expected}\"")));
        }
    }
    // Docker asks a mirror for its library without naming its registry.
    for path in ["/v2/library/b/manifests/1", "/v2/library/b/manifests/1?ns=docker.io"] {
        assert_eq!(served.get(path).await.header("content-type"), Some(MANIFEST));
    }
    served.bench.end().await;
}

#[tokio::test]
async fn a_client_gets_a_manifest_that_it_accepts() {
    let served = Served::new().await;
    let path = "/v2/registry.example/team/a/manifests/1";
    let by_digest = format!("/v2/registry.example/team/a/manifests/{}", digest(&served.index));
    for (path, accept, expected) in [
        (path, "accept: */*\r\n".to_owned(), Some(&served.index)),
        (path, format!("accept: {MANIFEST}\r\naccept: text/html, {INDEX};q=0.5\r\n"), Some(&served.index)),
        (path, format!("accept: {MANIFEST}\r\n"), Some(&served.image)),
        (path, "accept: application/vnd.docker.distribution.manifest.v2+json\r\n".to_owned(), None),
        (&by_digest, format!("accept: {MANIFEST}\r\n"), Some(&served.index)),
    ] {
        let answer = served.ask("GET", path, &accept).await;
        assert_eq!(answer.header("docker-content-digest"), expected.map(digest), "{accept}");
        assert_eq!(answer.status, if expected.is_some() { 200 } else { 404 });
    }
    served.bench.end().await;
}

#[tokio::test]
async fn blobs_have_ranges_and_tags() {
    let served = Served::new().await;
    let name = Digest::of(LAYER.as_bytes()).to_string();
    let path = format!("/v2/team/a/blobs/{name}?ns=registry.example");
    for (range, status, expected, shown) in [
        ("", 200, LAYER, None),
        ("range: bytes=2-6\r\n", 206, "layer", Some("bytes 2-6/20")),
        ("range: bytes=15-\r\n", 206, "image", Some("bytes 15-19/20")),
        ("range: bytes=-5\r\n", 206, "image", Some("bytes 15-19/20")),
        ("range: bytes=20-\r\n", 416, "", Some("bytes */20")),
        ("range: bytes=2-6\r\nif-range: \"other\"\r\n", 200, LAYER, None),
    ] {
        let answer = served.ask("GET", &path, range).await;
        assert_eq!(
            (answer.status, String::from_utf8(answer.body.clone()).unwrap().as_str()),
            (status, expected),
            "{range}"
        );
        assert_eq!(answer.header("content-range"), shown, "{range}");
        assert_eq!(answer.header("accept-ranges"), Some("bytes"));
    }
    let answer = served.ask("HEAD", &path, "").await;
    assert_eq!((answer.status, answer.header("content-length")), (200, Some("20")));
    assert_eq!(answer.header("docker-content-digest"), Some(&*name));
    let known = format!("if-none-match: {}\r\n", answer.header("etag").unwrap());
    assert_eq!(served.ask("GET", &path, &known).await.status, 304);
    served.bench.end().await;
}

#[tokio::test]
async fn lists_come_in_pages() {
    let served = Served::new().await;
    let base = "/v2/team/a/tags/list?ns=registry.example";
    let tags = |answer: &Answer| answer.json()["tags"].clone();
    let all = served.get(base).await;
    assert_eq!(all.json(), json!({"name": "team/a", "tags": ["1", "10", "2"]}));
    assert_eq!(all.header("link"), None);
    let first = served.get(&format!("{base}&n=2")).await;
    assert_eq!(tags(&first), json!(["1", "10"]));
    let link = first.header("link").unwrap();
    let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap().to_owned();
    let second = served.get(&next).await;
    assert_eq!((tags(&second), second.header("link")), (json!(["2"]), None));
    for (query, expected) in [
        ("n=0", json!([])),
        ("n=3", json!(["1", "10", "2"])),
        ("last=11", json!(["2"])),
        ("last=3", json!([])),
    ] {
        let answer = served.get(&format!("{base}&{query}")).await;
        assert_eq!((tags(&answer), answer.header("link")), (expected, None), "{query}");
    }
    for query in ["n=-1", "n=x"] {
        let answer = served.get(&format!("{base}&{query}")).await;
        assert_eq!(
            (answer.status, &answer.json()["errors"][0]["code"]),
            (400, &json!("PAGINATION_NUMBER_INVALID"))
        );
    }
    let repositories = served.get("/v2/_catalog").await.json();
    assert_eq!(repositories, json!({"repositories": ["docker.io/library/b", "registry.example/team/a"]}));
    let of_one = served.get("/v2/_catalog?ns=registry.example&n=1").await;
    assert_eq!((of_one.json(), of_one.header("link")), (json!({"repositories": ["team/a"]}), None));
    served.bench.end().await;
}

#[tokio::test]
async fn referrers_are_filtered_by_their_type() {
    let served = Served::new().await;
    let base = format!("/v2/team/a/referrers/{}?ns=registry.example", digest(&served.image));
    let all = served.get(&base).await;
    assert_eq!((all.header("content-type"), all.header("oci-filters-applied")), (Some(INDEX), None));
    assert_eq!(all.json()["manifests"].as_array().unwrap().len(), 2);
    let signatures = served.get(&format!("{base}&artifactType={SIGNATURE}")).await;
    assert_eq!(
        signatures.header("oci-filters-applied"),
        Some("artifacttype"),
        "the test writes headers in lower case"
    );
    let expected = json!([{
        "mediaType": MANIFEST, "digest": served.signature["digest"], "size": served.signature["size"],
        "artifactType": SIGNATURE, "annotations": {"about": SIGNATURE},
    }]);
    assert_eq!(signatures.json()["manifests"], expected);
    let none = served.get(&format!("/v2/team/a/referrers/{}?ns=registry.example", Digest::of(b"none"))).await;
    assert_eq!((none.status, none.json()["manifests"].clone()), (200, json!([])));
    served.bench.end().await;
}

#[tokio::test]
async fn errors_have_the_codes_of_the_specification() {
    let served = Served::new().await;
    let (absent, secret) = (Digest::of(b"absent"), Digest::of(b"password of a BMC"));
    for (method, path, status, code) in [
        ("GET", "/v2/team/c/manifests/1", 404, "NAME_UNKNOWN"),
        ("GET", "/v2/team/a/manifests/1", 404, "NAME_UNKNOWN"),
        ("GET", "/v2/team/a/manifests/1?ns=other.example", 404, "NAME_UNKNOWN"),
        ("GET", "/v2/team/a/manifests/3?ns=registry.example", 404, "MANIFEST_UNKNOWN"),
        ("GET", &format!("/v2/registry.example/team/a/manifests/{absent}"), 404, "MANIFEST_UNKNOWN"),
        ("GET", &format!("/v2/registry.example/team/a/blobs/{absent}"), 404, "BLOB_UNKNOWN"),
        ("GET", &format!("/v2/registry.example/team/a/blobs/{secret}"), 404, "BLOB_UNKNOWN"),
        (
            "GET",
            &format!("/v2/registry.example/team/a/blobs/{}", Digest::of(b"of the library")),
            404,
            "BLOB_UNKNOWN",
        ),
        ("GET", "/v2/registry.example/team/a/blobs/sha256:00", 400, "DIGEST_INVALID"),
        ("GET", "/v2/registry.example/team/a/manifests/sha512:00", 400, "DIGEST_INVALID"),
        ("GET", "/v2/a%20b/manifests/1", 400, "NAME_INVALID"),
        ("GET", "/v2/%zz", 400, "NAME_INVALID"),
        ("GET", "/v2/team", 400, "NAME_INVALID"),
        ("POST", "/v2/team/a/blobs/uploads/", 405, "UNSUPPORTED"),
        ("GET", "/v2/team/a/blobs/uploads/1234", 405, "UNSUPPORTED"),
        ("PUT", "/v2/team/a/manifests/1?ns=registry.example", 405, "UNSUPPORTED"),
        ("PATCH", "/v2/team/a/blobs/uploads/1234", 405, "UNSUPPORTED"),
        ("DELETE", "/v2/team/a/manifests/1?ns=registry.example", 405, "UNSUPPORTED"),
    ] {
        let answer = served.ask(method, path, "").await;
        assert_eq!(
            (answer.status, &answer.json()["errors"][0]["code"]),
            (status, &json!(code)),
            "{method} {path}"
        );
    }
    served.bench.end().await;
}

#[tokio::test]
async fn disk_images_of_a_bundle_stand_beside_those_of_the_folder() {
    let served = Served::new().await;
    let (status, head, body) = served.bench.ask("GET", "/images/noble.raw", "range: bytes=2-5\r\n").await;
    assert_eq!((status, body.as_slice()), (206, b"disk".as_slice()));
    assert!(head.contains("content-range: bytes 2-5/12"), "{head}");
    let (_, _, sum) = served.bench.ask("GET", "/images/noble.raw.sha256sum", "").await;
    let expected = format!("{}  noble.raw\n", Digest::of(b"a disk image").hex());
    assert_eq!(String::from_utf8(sum).unwrap(), expected);
    assert_eq!(served.bench.ask("GET", "/images/a%20b.raw", "").await.2, b"image");
    for absent in ["/images/bmc.yaml", "/images/.sha256sum", "/images/other.sha256sum"] {
        assert_eq!(served.bench.ask("GET", absent, "").await.0, 404, "{absent}");
    }
    served.bench.end().await;
}
