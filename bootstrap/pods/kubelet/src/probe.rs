//! Probes of containers: HTTP, HTTPS and TCP.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use engine::network::Network;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use machinery::clock::Clock;
use tokio::sync::mpsc;

/// How soon a probe that has not succeeded yet is repeated.
const EAGER: Duration = Duration::from_millis(100);

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Startup,
    Liveness,
    Readiness,
}

/// A change that a probe found.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) purpose: Purpose,
    pub(crate) is_good: bool,
    pub(crate) message: String,
}

/// Probes until the task is aborted, and reports each time that the thresholds are crossed.
pub(crate) async fn run(
    purpose: Purpose,
    probe: Probe,
    container: Container,
    host: String,
    network: Arc<dyn Network>,
    clock: Clock,
    findings: mpsc::UnboundedSender<Finding>,
) {
    let seconds = |number: Option<i32>, default: u64| {
        Duration::from_secs(
            number
                .and_then(|number| u64::try_from(number).ok())
                .filter(|number| *number > 0)
                .unwrap_or(default),
        )
    };
    let threshold = |number: Option<i32>, default: u32| {
        number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default).max(1)
    };
    let (period, timeout) = (seconds(probe.period_seconds, 10), seconds(probe.timeout_seconds, 1));
    let (needed, allowed) = (threshold(probe.success_threshold, 1), threshold(probe.failure_threshold, 3));
    let (mut good, mut bad, mut reported) = (0, 0, None);
    let mut next = clock.monotonic() + first(&probe);
    let mut counted = next;
    loop {
        tokio::time::sleep_until(next).await;
        let tried = tokio::time::timeout(timeout, once(&probe, &container, &host, network.as_ref())).await;
        let outcome = tried.unwrap_or_else(|_| bail_timeout(timeout));
        let now = clock.monotonic();
        if outcome.is_ok() {
            (good, bad) = (good + 1, 0);
        } else if bad == 0 || now >= counted + period {
            (good, bad, counted) = (0, bad + 1, now);
        }
        let has_crossed = if outcome.is_ok() { good >= needed } else { bad >= allowed };
        if has_crossed && reported != Some(outcome.is_ok()) {
            reported = Some(outcome.is_ok());
            let message = outcome.err().map(|error| format!("{error:#}")).unwrap_or_default();
            if findings.send(Finding { purpose, is_good: reported == Some(true), message }).is_err() {
                return;
            }
        }
        // Containers become ready within milliseconds, so a probe is repeated sooner until it succeeds. Only one failure a period counts.
        let is_eager = purpose != Purpose::Liveness && reported != Some(true);
        next = now + if is_eager { EAGER.min(period) } else { period };
    }
}

fn bail_timeout(timeout: Duration) -> Result<()> {
    bail!("no answer within {} s", timeout.as_secs())
}

fn first(probe: &Probe) -> Duration {
    Duration::from_secs(
        probe.initial_delay_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or_default(),
    )
}

async fn once(probe: &Probe, container: &Container, host: &str, network: &dyn Network) -> Result<()> {
    if let Some(action) = &probe.http_get {
        return get(action, container, host, network).await;
    }
    if let Some(action) = &probe.tcp_socket {
        let host = action.host.as_deref().unwrap_or(host);
        let port = port(&action.port, container)?;
        network.dial(host, port).await.with_context(|| format!("cannot connect to {host}:{port}"))?;
        return Ok(());
    }
    bail!("this type of probe is not supported here; use httpGet or tcpSocket")
}

async fn get(action: &HTTPGetAction, container: &Container, host: &str, network: &dyn Network) -> Result<()> {
    let host = action.host.as_deref().unwrap_or(host);
    let port = port(&action.port, container)?;
    ensure!(action.scheme.as_deref() != Some("HTTPS"), "probes over HTTPS are not supported here yet");
    let stream =
        network.dial(host, port).await.with_context(|| format!("cannot connect to {host}:{port}"))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let path = action.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
    let mut request =
        hyper::Request::get(if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
            .header("Host", format!("{host}:{port}"))
            .header("User-Agent", "kube-probe/1.36")
            .header("Accept", "*/*");
    for header in action.http_headers.iter().flatten() {
        request = request.header(&header.name, &header.value);
    }
    let answer = sender.send_request(request.body(Empty::<Bytes>::new())?).await;
    connection.abort();
    let code = answer.context("no answer")?.status();
    ensure!((200..400).contains(&code.as_u16()), "HTTP probe failed with statuscode: {}", code.as_u16());
    Ok(())
}

/// Returns the number of a port, which may be a name of one of the container's ports.
fn port(port: &IntOrString, container: &Container) -> Result<u16> {
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let named = container.ports.iter().flatten().find(|one| one.name.as_ref() == Some(name));
            named.map(|one| one.container_port).or_else(|| name.parse().ok())
        }
    };
    number
        .and_then(|number| u16::try_from(number).ok())
        .with_context(|| format!("the container has no port {port:?}"))
}
