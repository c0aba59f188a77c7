//! An identity ends with its certificate: also on connections that are kept, in sessions that are resumed one from the other, and over
//! either version of TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http::Method;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, Leaf};
use rustls::{ClientConfig, HandshakeKind, SupportedProtocolVersion};
use serde_json::json;

use crate::caller::Ask;
use crate::lab::{Lab, Options};
use crate::report::Broken;

/// How long the certificates are valid, in seconds: longer than it takes to use them.
const LIFE: i64 = 15;
/// Sessions that are resumed one from the other after the certificate has expired.
const CHAIN: usize = 8;

/// One attacker: a certificate that was valid, and TLS settings that remember its session.
struct Holder {
    version: &'static str,
    tls: Arc<ClientConfig>,
}

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let lab = Lab::start(options).await?;
    lab.furnish().await?;
    let mut broken = Broken::default();
    let holders = [("TLS 1.2", &rustls::version::TLS12), ("TLS 1.3", &rustls::version::TLS13)];
    let holders: Vec<Holder> =
        holders.into_iter().map(|(name, version)| holder(&lab, name, version)).collect::<Result<_>>()?;
    let mut kept = Vec::new();
    for holder in &holders {
        let mut caller = lab.endpoint.caller_with(holder.tls.clone(), None);
        let answer = caller.send(&write("before")).await?;
        if !answer.is_done() && answer.code != 409 {
            broken.add(format!("{}: {} while the certificate is valid", holder.version, answer.code));
        }
        kept.push((holder.version, caller));
    }
    Clock::system().sleep(Duration::from_secs(LIFE.unsigned_abs() + 2)).await;
    for (version, caller) in &mut kept {
        let answer = caller.send(&write("kept")).await?;
        if answer.code != 401 {
            broken.add(format!("{version}: {} on a connection that was kept", answer.code));
        }
    }
    let mut resumed = 0;
    for holder in &holders {
        resumed += resume(&lab, holder, &mut broken).await?;
    }
    token(&lab, &holders, &mut broken).await?;
    if resumed == 0 {
        broken.add("no session was resumed, so nothing was tried".to_owned());
    }
    broken.figures = format!("{} kept connections, {resumed} resumed sessions", kept.len());
    Ok(broken)
}

fn holder(lab: &Lab, version: &'static str, tls: &'static SupportedProtocolVersion) -> Result<Holder> {
    let read = |file: &str| std::fs::read_to_string(lab.data().join("pki").join(file));
    let authority = CertificateAuthority::from_pem(&read("ca.crt")?, &read("ca.key")?)?;
    let leaf =
        Leaf::client("kubernetes-admin", &["system:masters"]).valid_for(chrono::Duration::seconds(LIFE));
    let identity = authority.issue(&leaf, Clock::system().now(), &Random::system())?;
    Ok(Holder { version, tls: lab.endpoint.tls_of(&identity, tls)? })
}

/// Asks for a write, which each answer but a refusal allows.
fn write(name: &str) -> Ask {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    Ask::new(Method::POST, "/api/v1/namespaces/default/configmaps")
        .body("application/json", object.to_string())
}

/// Opens connections, each with the session of the one before it. Returns how many sessions were resumed.
async fn resume(lab: &Lab, holder: &Holder, broken: &mut Broken) -> Result<usize> {
    let mut resumed = 0;
    for number in 0..CHAIN {
        // A full handshake is refused, or its requests are.
        let Ok(stream) = lab.endpoint.connect(holder.tls.clone(), 1).await else { continue };
        let is_resumed = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
        resumed += usize::from(is_resumed);
        let mut caller = lab.endpoint.caller_over(holder.tls.clone(), stream).await?;
        let Ok(answer) = caller.attempt(&write(&format!("resumed-{number}"))).await else { continue };
        if answer.code != 401 {
            let kind = if is_resumed { "a resumed session" } else { "a new session" };
            broken.add(format!("{}: {} in {kind}", holder.version, answer.code));
        }
    }
    Ok(resumed)
}

/// A token counts as before, whatever certificate is shown with it.
async fn token(lab: &Lab, holders: &[Holder], broken: &mut Broken) -> Result<()> {
    let token = lab.token("reader").await?;
    let holder = holders.last().context("there are two")?;
    let mut caller = lab.endpoint.caller_with(holder.tls.clone(), Some(&token));
    for (path, code) in [("/api/v1/configmaps", 200), ("/api/v1/secrets", 403)] {
        // The session may be gone, and a full handshake with this certificate is refused.
        let Ok(answer) = caller.send(&Ask::new(Method::GET, path)).await else { return Ok(()) };
        if answer.code != code {
            broken.add(format!("a token beside an expired certificate: {} for {path}", answer.code));
        }
    }
    Ok(())
}
