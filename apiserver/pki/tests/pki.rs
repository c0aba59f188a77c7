//! Tests of certificates, kubeconfigs and TLS settings through the crate's public API.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use base64::Engine as _;
use chrono::{DateTime, Duration, TimeZone, Utc};
use machinery::clock::Clock;
use machinery::random::Random;
use pki::kubeconfig::{Credentials, Kubeconfig};
use pki::tls::{self, ClientCertificates, ServerCertificates};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf, PrivateKey, inspect};
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

fn authority(name: &str) -> CertificateAuthority {
    CertificateAuthority::generate(name, KeyAlgorithm::EcdsaP256, None, now(), &Random::seeded(1)).unwrap()
}

#[test]
fn authority_has_kubeadms_facts() {
    let ca = authority("kubernetes");
    let facts = inspect(ca.certificate()).unwrap();
    assert_eq!(facts.common_name, "kubernetes");
    assert!(facts.is_authority);
    assert_eq!(facts.not_before, now() - Duration::minutes(5));
    assert_eq!(facts.not_after, now() + Duration::days(3650));
}

#[test]
fn leaf_carries_user_groups_and_names() {
    let ca = authority("kubernetes");
    let random = Random::seeded(2);
    let client = ca.issue(&Leaf::client("kubernetes-admin", &["system:masters"]), now(), &random).unwrap();
    let facts = inspect(&client.certificate).unwrap();
    assert_eq!(facts.common_name, "kubernetes-admin");
    assert_eq!(facts.organizations, ["system:masters"]);
    assert_eq!(facts.not_after, now() + Duration::days(365));
    assert!(!facts.is_authority);

    let names = ["127.0.0.1", "::1", "kubernetes.default.svc"].map(str::to_owned).to_vec();
    let server = ca.issue(&Leaf::server("kube-apiserver", names.clone()), now(), &random).unwrap();
    assert_eq!(inspect(&server.certificate).unwrap().names, names);
}

#[test]
fn a_certificate_never_has_its_issuers_name() {
    let authority = authority("same");
    let refused = authority.issue(&Leaf::server("same", Vec::new()), now(), &Random::seeded(1)).unwrap_err();
    assert!(refused.to_string().contains("the name of the certificate authority"), "{refused}");
    authority.issue(&Leaf::server("other", Vec::new()), now(), &Random::seeded(1)).unwrap();
}

#[test]
fn refuses_names_that_are_none() {
    let leaf = Leaf::server("x", vec!["not a name".to_owned()]);
    let error = authority("ca").issue(&leaf, now(), &Random::seeded(1)).unwrap_err();
    assert!(error.to_string().contains("\"not a name\""), "{error}");
}

#[test]
fn every_algorithm_signs_and_reads_back() {
    for (name, header) in
        [("ECDSA-P256", "EC PRIVATE KEY"), ("ECDSA-P384", "EC PRIVATE KEY"), ("RSA-2048", "RSA PRIVATE KEY")]
    {
        let algorithm: KeyAlgorithm = name.parse().unwrap();
        let random = Random::seeded(3);
        let ca = CertificateAuthority::generate("ca", algorithm, None, now(), &random).unwrap();
        let identity = ca.identity();
        assert!(identity.key.starts_with(&format!("-----BEGIN {header}-----\n")), "{name}");
        assert!(identity.key.lines().all(|line| line.len() <= 64), "{name}");
        let pkcs8 = PrivateKey::from_pem(&identity.key).unwrap().to_pkcs8_pem();
        assert!(pkcs8.starts_with("-----BEGIN PRIVATE KEY-----"), "{name}");
        CertificateAuthority::from_pem(&identity.certificate, &pkcs8).unwrap();
        let again = CertificateAuthority::from_pem(&identity.certificate, &identity.key).unwrap();
        again.issue(&Leaf::client("c", &[]), now(), &random).unwrap();
    }
    assert!("DSA".parse::<KeyAlgorithm>().is_err());
}

/// Key formats that users provide, as `openssl ecparam -genkey` and `openssl genrsa -traditional` write them.
#[test]
fn reads_sec1_and_pkcs1_keys() {
    for (file, header) in [("sec1.pem", "EC PRIVATE KEY"), ("pkcs1.pem", "RSA PRIVATE KEY")] {
        let text = std::fs::read_to_string(format!(
            "{}/tests/data/{file}",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../pki")
        ))
        .unwrap();
        assert!(text.contains(header));
        let key = PrivateKey::from_pem(&text).unwrap();
        // What such a program wrote is what this crate writes of the same key.
        assert_eq!(body(&key.to_pem()), body(&text), "{file}");
        let public = std::fs::read_to_string(format!(
            "{}/tests/data/{file}.pub",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../pki")
        ))
        .unwrap();
        assert_eq!(pki::public_key(&public).unwrap(), key.public_key_der(), "{file}");
    }
}

/// The form of a key does not depend on the secret.
#[test]
fn a_secret_that_looks_like_an_algorithm_is_none() {
    let head =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let rsa = [0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
    let der = [&head[..], &rsa, &[7; 17]].concat();
    let encoded = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{encoded}\n-----END PRIVATE KEY-----\n");
    let key = PrivateKey::from_pem(&pem).unwrap().to_pem();
    assert!(key.starts_with("-----BEGIN PRIVATE KEY-----\n"), "{key}");
    PrivateKey::from_pem(&key).unwrap();
}

/// Returns the last block of a PEM text.
fn body(pem: &str) -> &str {
    pem[pem.rfind("-----BEGIN").unwrap()..].trim()
}

#[test]
fn mismatch_is_told_without_the_key() {
    let (one, two) = (authority("one"), authority("two"));
    let error =
        CertificateAuthority::from_pem(one.certificate(), &two.identity().key).unwrap_err().to_string();
    assert_eq!(error, "the certificate of \"one\" and its private key do not belong together");
    let debug =
        format!("{one:?} {:?} {:?}", one.identity(), PrivateKey::from_pem(&one.identity().key).unwrap());
    assert!(!debug.contains("PRIVATE KEY"), "{debug}");
    assert!(
        !PrivateKey::from_pem("-----BEGIN PRIVATE KEY-----\nsecret")
            .unwrap_err()
            .to_string()
            .contains("secret")
    );
}

/// The hash was computed with `openssl x509 -pubkey | openssl pkey -pubin -outform der | sha256sum`.
#[test]
fn discovery_hash_is_kubeadms() {
    let text = include_str!("data/ca.crt");
    assert_eq!(pki::discovery_hash(text).unwrap(), include_str!("data/ca.hash").trim());
}

#[test]
fn renewal_is_due_after_two_thirds() {
    let ca = authority("ca");
    let identity = ca.issue(&Leaf::client("c", &[]), now(), &Random::seeded(1)).unwrap();
    let facts = inspect(&identity.certificate).unwrap();
    for (days, due) in [(0, false), (243, false), (244, true), (400, true)] {
        assert_eq!(pki::renewal_due(&facts, now() + Duration::days(days)), due, "{days} days");
    }
}

fn kubeconfig() -> Kubeconfig {
    let ca = authority("kubernetes");
    let identity =
        ca.issue(&Leaf::client("kubernetes-admin", &["system:masters"]), now(), &Random::seeded(1)).unwrap();
    Kubeconfig::for_cluster("blue", "https://10.0.0.1:6443", ca.certificate(), identity)
}

#[test]
fn kubeconfig_reads_back() {
    let config = kubeconfig();
    let token = Credentials { identity: None, token: Some("abc.def".to_owned()) };
    let both = Credentials { token: token.token.clone(), ..config.credentials.clone() };
    for credentials in [config.credentials.clone(), token, both] {
        let server_name = credentials.token.as_ref().map(|_| "api.example".to_owned());
        let config = Kubeconfig { credentials, server_name, ..config.clone() };
        let text = config.to_yaml().unwrap();
        assert!(text.contains("current-context: blue-admin@blue"), "{text}");
        assert!(!format!("{config:?}").contains("abc.def"), "a token is secret");
        assert_eq!(Kubeconfig::parse(&text).unwrap(), config);
        assert_eq!(Kubeconfig::parse(&config.to_value().to_string()).unwrap(), config);
    }
    let error = Kubeconfig::parse("current-context: x").unwrap_err();
    assert_eq!(error.to_string(), "the kubeconfig can't be used: contexts has no entry named \"x\"");
}

/// Scripts cut values out of kubeconfigs line by line.
#[test]
fn each_value_of_a_kubeconfig_stands_on_one_line() {
    let config = kubeconfig();
    let text = config.to_yaml().unwrap();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
        base64::engine::general_purpose::STANDARD.decode(line.trim()).unwrap()
    };
    assert_eq!(value("certificate-authority-data:"), config.authority.as_bytes());
    // fabric8's client takes a key without an algorithm in its header for RSA.
    assert!(value("client-key-data:").starts_with(b"-----BEGIN EC PRIVATE KEY-----\n"));
}

#[test]
fn kubeconfigs_out_of_objects_run_nothing_and_read_nothing() {
    let good = kubeconfig().to_value();
    let touch = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "touch"});
    for (place, field, value) in [
        ("user", "exec", touch),
        ("user", "auth-provider", json!({"name": "gcp"})),
        ("user", "tokenFile", json!("/etc/passwd")),
        ("user", "client-certificate", json!("/etc/passwd")),
        ("user", "client-key", json!("/etc/passwd")),
        ("user", "username", json!("admin")),
        ("user", "password", json!("secret")),
        ("user", "as", json!("system:admin")),
        ("user", "as-groups", json!(["system:masters"])),
        ("cluster", "certificate-authority", json!("/etc/passwd")),
        ("cluster", "proxy-url", json!("http://127.0.0.1:9")),
        ("cluster", "insecure-skip-tls-verify", json!(true)),
    ] {
        let mut config = good.clone();
        config[format!("{place}s")][0][place][field] = value.clone();
        let error = Kubeconfig::parse(&config.to_string()).unwrap_err().to_string();
        assert!(error.contains(&format!("{field} of its {place} \"blue")), "{error}");
        assert!(!error.contains("passwd") && !error.contains("secret"), "{error}");
        // Also beside a token, and where nothing else proves the client.
        config["users"][0]["user"] = json!({"token": "t"});
        config[format!("{place}s")][0][place][field] = value;
        Kubeconfig::parse(&config.to_string()).unwrap_err();
    }
    // What says nothing is no harm, as Go programs leave it there, nor is what another context uses.
    let mut config = good;
    config["users"][0]["user"]["exec"] = serde_json::Value::Null;
    config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = json!(false);
    config["clusters"][0]["cluster"]["certificate-authority"] = json!("");
    config["users"]
        .as_array_mut()
        .unwrap()
        .push(json!({"name": "other", "user": {"exec": {"command": "touch"}}}));
    let parsed = Kubeconfig::parse(&config.to_string()).unwrap();
    assert!(!parsed.to_yaml().unwrap().contains("touch"), "only what is used is written again");
}

#[test]
fn kubeconfigs_that_two_readers_would_understand_differently_are_refused() {
    let text = kubeconfig().to_yaml().unwrap();
    for (from, to) in [
        ("    server:", "    server: https://other\n    server:"),
        ("https://10.0.0.1:6443", "http://10.0.0.1:6443"),
        ("current-context:", "current-context: x\ncurrent-context:"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        Kubeconfig::parse(&changed).unwrap_err();
    }
}

/// Performs one handshake; returns what the client reads, and the common name of the certificate that the
/// server saw.
async fn handshake(
    clients: ClientCertificates,
    client: Option<&pki::Identity>,
    name: &str,
    clock: &Clock,
) -> Result<(String, Option<String>), String> {
    let random = Random::seeded(5);
    let server_ca = authority("server-ca");
    let issue =
        |name: &str| server_ca.issue(&Leaf::server(name, vec![name.to_owned()]), now(), &random).unwrap();
    let certificates =
        ServerCertificates::new(&issue("api.example")).unwrap().with("etcd-0", &issue("etcd-0")).unwrap();
    let server = tls::server_config(Arc::new(certificates), &clients, tls::ALPN_HTTP, clock).unwrap();
    let config = tls::client_config(server_ca.certificate(), client, tls::ALPN_HTTP, clock).unwrap();
    let (near, far) = tokio::io::duplex(1 << 16);
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let serve = async move {
        let mut stream = acceptor.accept(far).await.map_err(|error| error.to_string())?;
        stream.write_all(b"hello").await.map_err(|error| error.to_string())?;
        stream.shutdown().await.map_err(|error| error.to_string())?;
        Ok::<_, String>(stream.get_ref().1.peer_certificates().map(|_| "shown".to_owned()))
    };
    let connect = async {
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
        let mut stream = connector.connect(name, near).await.map_err(|error| error.to_string())?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.map_err(|error| error.to_string())?;
        Ok::<_, String>(text)
    };
    let (served, read) = tokio::join!(serve, connect);
    Ok((read?, served?))
}

/// Also on a second connection of the same client, which could resume the session of the first one.
#[tokio::test(start_paused = true)]
async fn each_connection_verifies_the_certificate_of_the_server() {
    let (clock, random) = (Clock::simulated(now()), Random::seeded(5));
    let ca = authority("server-ca");
    let leaf = Leaf::server("api.example", vec!["api.example".to_owned()]).valid_for(Duration::seconds(20));
    let certificates = ServerCertificates::new(&ca.issue(&leaf, now(), &random).unwrap()).unwrap();
    let server = tls::server_config(Arc::new(certificates), &ClientCertificates::None, &[], &clock).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
    let config = tls::client_config(ca.certificate(), None, &[], &clock).unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    for (seconds, is_valid) in [(20, true), (1, false)] {
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        let (near, far) = tokio::io::duplex(1 << 16);
        let serve = async {
            let mut stream = acceptor.accept(far).await?;
            stream.write_all(b"hello").await?;
            stream.shutdown().await
        };
        let connect = async {
            let mut stream = connector.connect(ServerName::try_from("api.example").unwrap(), near).await?;
            stream.read_to_string(&mut String::new()).await
        };
        let (_, read) = tokio::join!(serve, connect);
        assert_eq!(read.is_ok(), is_valid, "{read:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn tls_asks_for_client_certificates_and_uses_the_given_clock() {
    let clock = Clock::simulated(now());
    let client_ca = authority("client-ca");
    let client = client_ca.issue(&Leaf::client("c", &[]), now(), &Random::seeded(6)).unwrap();
    let trusted = client_ca.certificate().to_owned();
    let required = ClientCertificates::Required(trusted.clone());
    let optional = ClientCertificates::Optional(trusted);

    for name in ["api.example", "etcd-0"] {
        let (text, shown) = handshake(required.clone(), Some(&client), name, &clock).await.unwrap();
        assert_eq!((text.as_str(), shown.as_deref()), ("hello", Some("shown")));
    }
    assert_eq!(handshake(optional.clone(), None, "api.example", &clock).await.unwrap().1, None);
    assert!(handshake(required, None, "api.example", &clock).await.is_err());
    assert!(handshake(ClientCertificates::None, None, "other.example", &clock).await.is_err());

    let stranger = authority("other-ca").issue(&Leaf::client("c", &[]), now(), &Random::seeded(7)).unwrap();
    assert!(handshake(optional.clone(), Some(&stranger), "api.example", &clock).await.is_err());
    for (client, expected) in [(Some(&stranger), Some("shown")), (None, None)] {
        let (_, shown) =
            handshake(ClientCertificates::AnyIssuer, client, "api.example", &clock).await.unwrap();
        assert_eq!(shown.as_deref(), expected);
    }

    let any =
        tls::client_config_for_any_name(client_ca.certificate(), Some(&client), tls::ALPN_HTTP2, &clock);
    assert_eq!(any.unwrap().alpn_protocols, [b"h2".to_vec()]);

    let late = Clock::simulated(now() + Duration::days(366));
    let error = handshake(ClientCertificates::None, None, "api.example", &late).await.unwrap_err();
    assert!(error.contains("expired"), "{error}");
}
