//! Probes of containers: HTTP, HTTPS, TCP, gRPC, and commands.

pub mod grpc;
pub mod http;
mod port;
mod target;
mod tls;

use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::{LifecycleHandler, Probe};
use machinery::clock::Clock;
use tokio::sync::mpsc;

pub(crate) use target::Target;

/// How soon a probe that has not succeeded yet is repeated.
const EAGER: Duration = Duration::from_millis(100);

/// The same for a probe that runs a command, which costs more.
const EAGER_COMMAND: Duration = Duration::from_secs(1);

/// What a probe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Says when the program has started.
    Startup,
    /// Says whether it must be restarted.
    Liveness,
    /// Says whether it gets connections.
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
    target: Target,
    clock: Clock,
    findings: mpsc::Sender<Finding>,
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
        let tried = tokio::time::timeout(timeout, once(&probe, &target)).await;
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
            let is_good = reported == Some(true);
            let sent = findings.send(Finding { purpose, is_good, message }).await;
            // A container starts once.
            if sent.is_err() || (is_good && purpose == Purpose::Startup) {
                return;
            }
        }
        // Containers become ready within milliseconds, so a probe is repeated sooner until it succeeds. Only one failure a period counts.
        let is_eager = purpose != Purpose::Liveness && reported != Some(true);
        let eager = if probe.exec.is_some() { EAGER_COMMAND } else { EAGER };
        next = now + if is_eager { eager.min(period) } else { period };
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

async fn once(probe: &Probe, target: &Target) -> Result<()> {
    if let Some(action) = &probe.http_get {
        return http::get(action, target).await;
    }
    if let Some(action) = &probe.tcp_socket {
        return target.dial(action.host.as_deref(), &action.port).await.map(drop);
    }
    if let Some(action) = &probe.grpc {
        return grpc::check(action, target).await;
    }
    if let Some(action) = &probe.exec {
        return target.run(action.command.as_deref().unwrap_or_default()).await;
    }
    bail!("this type of probe is not known; use httpGet, tcpSocket, grpc or exec")
}

/// Performs a hook of a container.
///
/// # Errors
/// It fails.
pub(crate) async fn hook(handler: &LifecycleHandler, target: &Target) -> Result<()> {
    if let Some(action) = &handler.http_get {
        return http::get(action, target).await;
    }
    if let Some(action) = &handler.exec {
        return target.run(action.command.as_deref().unwrap_or_default()).await;
    }
    if let Some(action) = &handler.sleep {
        let seconds = u64::try_from(action.seconds).unwrap_or_default();
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        return Ok(());
    }
    // As in Kubernetes, which has never performed `tcpSocket` here.
    bail!("this type of hook is not known; use exec, httpGet or sleep")
}
