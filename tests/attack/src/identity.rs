//! Forged, unusual and damaged headers, tokens and certificates must never authenticate as another user.

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Method;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use serde_json::{Value, json};

use crate::caller::{Ask, Caller};
use crate::lab::{Lab, OTHER, Options, STAFF, grant};
use crate::report::Broken;

/// The path that returns the user as which the server identifies the client.
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let lab = Lab::start(options).await?;
    lab.furnish().await?;
    let mut broken = Broken::default();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"word": lab.canary}});
    lab.admin()?.post(&format!("/api/v1/namespaces/{OTHER}/secrets"), &secret).await?;
    let impersonations = impersonation(&lab, &mut broken).await?;
    let headers = authorization(&lab, &mut broken).await?;
    let tokens = tokens(&lab, options.seed, &mut broken).await?;
    let certificates = certificates(&lab, &mut broken).await?;
    broken.figures = format!(
        "{impersonations} impersonations, {headers} Authorization headers, {tokens} tokens, {certificates} certificates"
    );
    Ok(broken)
}

fn who() -> Ask {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    Ask::new(Method::POST, WHO).body("application/json", review.to_string())
}

fn secrets() -> Ask {
    Ask::new(Method::GET, format!("/api/v1/namespaces/{OTHER}/secrets"))
}

type Headers = Vec<(&'static str, &'static [u8])>;

/// Returns impersonation headers that are malformed or name a user without permissions.
fn odd_impersonations() -> Vec<Headers> {
    vec![
        vec![("Impersonate-User", b"\xff")],
        vec![("Impersonate-User", "j\u{f6}rg".as_bytes())],
        vec![("Impersonate-User", b"nobody-here")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-User", b"kubernetes-admin")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Group", b"\xff")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Uid", b"\xff")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Extra-Scopes", b"\xff")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Extra-a%ff", b"x")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Extra-", b"x")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Extra-a%2fb", b"x")],
        vec![("Impersonate-User", b"nobody-here"), ("Impersonate-Unknown", b"x")],
        vec![("Impersonate-User", b""), ("Impersonate-Group", b"system:authenticated")],
        vec![("Impersonate-User", b"")],
        vec![("Impersonate-User", b"\t")],
        vec![("Impersonate-Group", b"system:authenticated")],
        vec![("Impersonate-Group", b"\xff")],
        vec![("Impersonate-Uid", b"\xff")],
        vec![("Impersonate-Uid", b"1")],
        vec![("Impersonate-Extra-Scopes", b"\xff")],
        vec![("Impersonate-Extra-Scopes", b"view")],
        vec![("Impersonate-Extra-%", b"view")],
        vec![("Impersonate-Extra-%zz", b"\xc3\x28")],
        vec![("Impersonate-User", b"system:serviceaccount:staff:plain")],
        vec![("Impersonate-User", b"system:serviceaccount:staff:plain"), ("Impersonate-Group", b"")],
        vec![("Impersonate-User", b"system:node:n"), ("Impersonate-Group", b"system:nodes")],
        vec![("Impersonate-User", b"system:anonymous")],
    ]
}

/// Returns impersonation headers by which an unprivileged user would become an administrator.
fn climbing() -> Vec<Headers> {
    vec![
        vec![("Impersonate-User", b"kubernetes-admin"), ("Impersonate-Group", b"system:masters")],
        vec![("Impersonate-User", b"kubernetes-admin")],
        vec![("Impersonate-User", b"bob"), ("Impersonate-Group", b"system:masters")],
        vec![
            ("Impersonate-User", b"bob"),
            ("Impersonate-Group", b"a"),
            ("Impersonate-Group", b"system:masters"),
        ],
        vec![
            ("Impersonate-User", b"bob"),
            ("Impersonate-User", b"kubernetes-admin"),
            ("Impersonate-Group", b"system:masters"),
        ],
        vec![("Impersonate-Group", b"system:masters")],
        vec![("Impersonate-User", b"bob"), ("Impersonate-Group", b"system:masters\xff")],
        vec![
            ("Impersonate-User", b"bob"),
            ("Impersonate-Uid", b"1"),
            ("Impersonate-Group", b"system:masters"),
        ],
        vec![("X-Remote-User", b"kubernetes-admin"), ("X-Remote-Group", b"system:masters")],
        vec![
            ("X-Remote-User", b"kubernetes-admin"),
            ("X-Remote-Group", b"system:masters"),
            ("X-Forwarded-For", b"127.0.0.1"),
        ],
        vec![("X-Remote-Extra-Scopes", b"x"), ("X-Remote-User", b"system:kube-controller-manager")],
        vec![("Impersonate-User", b"system:serviceaccount:kube-system:namespace-controller")],
    ]
}

/// Checks that a request with impersonation headers is never served with the sender's own identity.
async fn impersonation(lab: &Lab, broken: &mut Broken) -> Result<usize> {
    let mut admin = lab.admin()?;
    let impersonate = json!([{"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob", "nobody-here"], "verbs": ["impersonate"]}]);
    grant(&mut admin, None, "plain", impersonate).await?;
    let mut count = 0;
    let mut send =
        async |who: &str, caller: &mut Caller, headers: Headers, ask: Ask, own: &str| -> Result<()> {
            let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, *value));
            let answer = caller.send(&ask).await?;
            count += 1;
            let shown: Vec<String> =
                headers.iter().map(|(name, value)| format!("{name}: {}", value.escape_ascii())).collect();
            let name = answer.json()["status"]["userInfo"]["username"].clone();
            if answer.is_done() && (ask.target != WHO || name == own) {
                broken.add(format!(
                    "{who} with {}: {} as {name} for {}",
                    shown.join(", "),
                    answer.code,
                    ask.target
                ));
            }
            if answer.code >= 500 {
                broken.add(format!("{who} with {}: {}", shown.join(", "), answer.code));
            }
            Ok(())
        };
    let is_alone = |headers: &Headers| headers.iter().all(|(_, value)| value.trim_ascii().is_empty());
    for headers in odd_impersonations() {
        // As in Go, empty headers ask for no impersonation.
        if is_alone(&headers) {
            continue;
        }
        send("an administrator", &mut admin, headers.clone(), secrets(), "kubernetes-admin").await?;
        let own = "kubernetes-admin";
        send("an administrator", &mut admin, headers, who(), own).await?;
    }
    let (mut some, mut none) = (lab.account("plain").await?, lab.account("reader").await?);
    let mut anonymous = lab.endpoint.caller(None)?;
    for headers in odd_impersonations().into_iter().chain(climbing()) {
        send("who may be bob", &mut some, headers.clone(), secrets(), "").await?;
        send("a service account", &mut none, headers.clone(), secrets(), "").await?;
        send("nobody", &mut anonymous, headers.clone(), secrets(), "").await?;
        if !headers.iter().any(|(name, _)| name.starts_with("X-")) && !is_alone(&headers) {
            send("a service account", &mut none, headers, who(), "system:serviceaccount:staff:reader")
                .await?;
        }
    }
    Ok(count)
}

/// Checks repeated, malformed and huge `Authorization` headers.
async fn authorization(lab: &Lab, broken: &mut Broken) -> Result<usize> {
    let mut anonymous = lab.endpoint.caller(None)?;
    let tenant = lab.token("tenant").await?;
    let good = format!("Bearer {tenant}").into_bytes();
    let with = |start: &[u8], end: &[u8]| [start, end].concat();
    let table: Vec<Vec<Vec<u8>>> = vec![
        vec![b"Bearer".to_vec()],
        vec![b"Bearer ".to_vec()],
        vec![b"Bearer \xff".to_vec()],
        vec![with(b"\xff ", tenant.as_bytes())],
        vec![b"Basic YWRtaW46YWRtaW4=".to_vec()],
        vec![b"Basic YWRtaW46".to_vec(), b"Bearer x".to_vec()],
        vec![b"Bearer x".to_vec(), b"Bearer y".to_vec()],
        vec![b"Bearer \xff".to_vec(), b"Bearer \xff".to_vec()],
        vec![with(b"Bearer ", &[b'a'; 50_000])],
        vec![with(b"Bearer ", &b"e30.".repeat(10_000))],
        vec![with(b"Negotiate ", tenant.as_bytes())],
        vec![with(&good, b"x")],
        vec![with(&good, b".x")],
        vec![with(b"Bearer .", tenant.as_bytes())],
    ];
    let count = table.len();
    for values in table {
        for ask in [secrets(), who()] {
            let ask = values.iter().fold(ask, |ask, value| ask.header("authorization", value.clone()));
            let answer = anonymous.send(&ask).await?;
            if ![400, 401, 403, 431].contains(&answer.code) {
                let shown: Vec<String> = values
                    .iter()
                    .map(|value| value.escape_ascii().to_string().chars().take(60).collect())
                    .collect();
                broken.add(format!("Authorization {shown:?}: {} for {}", answer.code, ask.target));
            }
        }
    }
    // With two identities in one request, the server may use one of them or none, never a third one.
    for order in [[&good[..], b"Bearer x"], [b"Bearer x", &good[..]]] {
        let ask = order.iter().fold(secrets(), |ask, value| ask.header("authorization", *value));
        let answer = anonymous.send(&ask).await?;
        if answer.is_done() {
            broken.add(format!("two Authorization headers: {} for {}", answer.code, ask.target));
        }
    }
    Ok(count + 2)
}

/// Checks altered tokens: every character, the algorithm, the claims, the signature.
async fn tokens(lab: &Lab, seed: u64, broken: &mut Broken) -> Result<usize> {
    let token = lab.token("reader").await?;
    let parts: Vec<&str> = token.split('.').collect();
    let [head, claims, signature] = parts.as_slice() else { anyhow::bail!("a token has three parts") };
    let read = |part: &str| -> Result<Value> { Ok(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part)?)?) };
    let write = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let mut forged = Vec::new();
    let random = Random::seeded(seed);
    for (at, old) in token.char_indices().step_by(3) {
        let new = random.characters(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", 1);
        let changed = format!("{}{new}{}", &token[..at], &token[at + old.len_utf8()..]);
        forged.push(changed);
    }
    for algorithm in ["none", "None", "HS256", "ES384", "RS512", ""] {
        let mut other = read(head)?;
        other["alg"] = algorithm.into();
        for signature in ["", signature] {
            forged.push(format!("{}.{claims}.{signature}", write(&other)));
        }
    }
    for (key, value) in [
        ("sub", json!("system:serviceaccount:kube-system:default")),
        ("exp", json!(99_999_999_999u64)),
        ("aud", json!(["x"])),
    ] {
        let mut other = read(claims)?;
        other[key] = value;
        forged.push(format!("{head}.{}.{signature}", write(&other)));
    }
    let mut without_kid = read(head)?;
    without_kid["kid"] = "../../../../dev/null".into();
    forged.push(format!("{}.{claims}.{signature}", write(&without_kid)));
    forged.push(format!("{head}.{claims}"));
    forged.push(format!("{head}..{signature}"));
    forged.push(format!("{claims}.{head}.{signature}"));
    let own: Vec<Vec<u8>> =
        parts.iter().map(|part| URL_SAFE_NO_PAD.decode(part)).collect::<Result<_, _>>()?;
    let mut count = 0;
    for one in forged.iter().filter(|one| **one != token) {
        let decoded: Vec<Vec<u8>> =
            one.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap_or_default()).collect();
        if decoded == own {
            continue;
        }
        count += 1;
        let answer = lab.endpoint.caller(Some(one))?.send(&who()).await?;
        if answer.code != 401 {
            broken.add(format!("a changed token: {} {one}", answer.code));
        }
    }
    count += 1;
    // The token of a deleted account.
    let mut reader = lab.account("reader").await?;
    let path = format!("/api/v1/namespaces/{STAFF}/serviceaccounts/reader");
    lab.admin()?.send(&Ask::new(Method::DELETE, path)).await?;
    let answer = reader.send(&who()).await?;
    if answer.code != 401 {
        broken.add(format!("the token of an account that was deleted: {}", answer.code));
    }
    Ok(count)
}

/// Checks certificates of another authority, certificates not meant for clients, and ones that are not valid
/// now.
async fn certificates(lab: &Lab, broken: &mut Broken) -> Result<usize> {
    let (random, now) = (Random::system(), Clock::system().now());
    let masters = ["system:masters"];
    let mut shown = Vec::new();
    for name in ["kubernetes", "firstlight", "kubernetes-ca"] {
        let foreign = CertificateAuthority::generate(name, KeyAlgorithm::EcdsaP256, None, now, &random)?;
        let leaf = Leaf::client("kubernetes-admin", &masters);
        shown.push((format!("an authority called {name}"), foreign.issue(&leaf, now, &random)?));
        shown.push((format!("{name}, an authority itself"), foreign.identity()));
    }
    let read = |file: &str| std::fs::read_to_string(lab.data().join("pki").join(file));
    if let (Ok(certificate), Ok(key)) = (read("ca.crt"), read("ca.key")) {
        let own = CertificateAuthority::from_pem(&certificate, &key)?;
        let leaf = Leaf::client("kubernetes-admin", &masters);
        let past = now - chrono::Duration::days(400);
        shown.push(("a certificate that has expired".into(), own.issue(&leaf, past, &random)?));
        let future = now + chrono::Duration::days(2);
        shown.push(("a certificate of the day after tomorrow".into(), own.issue(&leaf, future, &random)?));
        let mut server = Leaf::server("kubernetes-admin", vec!["localhost".into()]);
        server.organizations = vec!["system:masters".into()];
        shown.push(("a server's certificate".into(), own.issue(&server, now, &random)?));
    } else {
        broken.add("the authority of the data directory is not where it was: pki/ca.crt, pki/ca.key".into());
    }
    let count = shown.len();
    for (what, identity) in shown {
        // Either the connection is closed or the request is refused.
        if let Ok(answer) = lab.endpoint.certified(&identity)?.send(&secrets()).await
            && ![401, 403].contains(&answer.code)
        {
            broken.add(format!("{what}: {}", answer.code));
        }
    }
    Ok(count)
}
