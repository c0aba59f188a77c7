//! Sends deep, wide, repetitive and huge inputs to every parser of bodies, headers and queries. The process
//! must survive, answer `/livez` meanwhile, and use a bounded amount of memory.

mod cases;
mod payloads;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::clock::Clock;
use parking_lot::Mutex;
use serde_json::json;

use self::cases::{Attack, TARGET};
use crate::caller::{Caller, Endpoint};
use crate::lab::{Lab, MINE, Options, until};
use crate::pulse::{Pulse, Worst};
use crate::report::Broken;
use crate::routes::{is_fault, shuffle};

/// Number of concurrent attackers.
const ATTACKERS: usize = 4;
/// Limit for a response of `/livez` on a shared machine. The goal on an idle machine is 100 ms.
const LIVE: Duration = Duration::from_secs(2);
/// Limit for the process's peak memory. Decoding and encoding four bodies of 3 MiB takes a tenth of it.
const MEMORY: u64 = 1 << 30;
/// Interval between requests for `/livez`.
const PULSE: Duration = Duration::from_millis(10);
/// After this many lost servers the scenario is given up.
const SERVERS: usize = 12;
/// Time for a process to disappear.
const END: Duration = Duration::from_secs(2);
/// Limit for one request, a little above the server's own limit.
const REQUEST: Duration = Duration::from_secs(70);

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let mut broken = Broken::default();
    let main = against_server(options, &mut broken).await?;
    let workload = against_workload_cluster(options, &mut broken).await?;
    broken.figures = format!("{main}; a workload cluster: {workload}");
    Ok(broken)
}

async fn against_server(options: &Options, broken: &mut Broken) -> Result<String> {
    let mut attacks = cases::all();
    shuffle(&mut attacks, options.seed);
    rounds(attacks, options.slack, async || Place::server(options).await, broken).await
}

/// A server with the attackers' connections.
struct Place {
    lab: Lab,
    callers: BTreeMap<&'static str, Caller>,
}

impl Place {
    async fn server(options: &Options) -> Result<Self> {
        let lab = Lab::start(options).await?;
        let callers = furnish(&lab).await?;
        Ok(Self { lab, callers })
    }
}

/// Creates the objects to be patched, and returns the attackers' connections.
async fn furnish(lab: &Lab) -> Result<BTreeMap<&'static str, Caller>> {
    lab.furnish().await?;
    let mut tenant = lab.account("tenant").await?;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TARGET}, "data": {"big": "x".repeat(100_000)}});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": TARGET}, "spec": {"ports": [{"port": 80}]}});
    tenant.post(&format!("/api/v1/namespaces/{MINE}/configmaps"), &map).await?;
    tenant.post(&format!("/api/v1/namespaces/{MINE}/services"), &service).await?;
    Ok(BTreeMap::from([("plain", lab.account("plain").await?), ("tenant", tenant), ("admin", lab.admin()?)]))
}

/// The outcome of one attack.
struct Outcome {
    name: String,
    time: Duration,
    /// The first status code that says of a mistake of the client that it is one of the server.
    fault: Option<u16>,
    /// The error of a broken connection; the process may have ended.
    error: Option<String>,
}

/// The figures over all servers.
#[derive(Default)]
struct Figures {
    sent: usize,
    live: Worst,
    memory: u64,
    slowest: (Duration, String),
}

/// Sends all attacks, four at a time, and observes the server meanwhile. When the server ends, the
/// responsible attack is determined, and the remaining ones go to a new server.
async fn rounds(
    mut attacks: Vec<Attack>,
    slack: u32,
    place: impl AsyncFn() -> Result<Place>,
    broken: &mut Broken,
) -> Result<String> {
    let count = attacks.len();
    let mut figures = Figures::default();
    for _ in 0..SERVERS {
        let mut here = place().await?;
        let pulse = Arc::new(Pulse::start(here.lab.endpoint.caller(None)?, "/livez", PULSE, false));
        let (outcomes, suspects, rest) = send_all(&pulse, attacks, &mut here).await?;
        attacks = rest;
        let worst = pulse.worst();
        let ended = here.lab.ended()?;
        if let Some(why) = &ended {
            broken.add(format!("the process ended: {why}"));
        }
        judge(&outcomes, REQUEST * slack, if ended.is_some() { &[] } else { &worst.failures }, broken);
        figures.sent += outcomes.len();
        if worst.time > figures.live.time {
            figures.live = worst;
        }
        let memory = here.lab.memory().map(|(_, peak)| peak).unwrap_or_default();
        figures.memory = figures.memory.max(memory);
        if let Some(slowest) = outcomes.into_iter().max_by_key(|one| one.time) {
            figures.slowest = figures.slowest.max((slowest.time, slowest.name));
        }
        drop(here);
        for attack in suspects {
            match alone(&attack, &place).await? {
                Some(why) => {
                    broken.add(format!("ends the process: {} as {}: {why}", attack.name, attack.account));
                }
                None => attacks.push(attack),
            }
        }
        if attacks.is_empty() {
            break;
        }
    }
    let live = &figures.live;
    if live.time > LIVE * slack {
        broken.add(format!("/livez took {} ms during: {}", live.time.as_millis(), live.during));
    }
    if figures.memory > MEMORY {
        broken.add(format!("the process held {} MB", figures.memory >> 20));
    }
    Ok(format!(
        "{} of {count} inputs, worst /livez {} ms ({}), at most {} MB, longest request {} ms ({})",
        figures.sent,
        live.time.as_millis(),
        live.during,
        figures.memory >> 20,
        figures.slowest.0.as_millis(),
        figures.slowest.1
    ))
}

/// Returns the outcomes, the attacks in progress when the process ended, and those not sent.
async fn send_all(
    pulse: &Arc<Pulse>,
    attacks: Vec<Attack>,
    place: &mut Place,
) -> Result<(Vec<Outcome>, Vec<Attack>, Vec<Attack>)> {
    let queue = Arc::new(Mutex::new(attacks));
    let outcomes: Arc<Mutex<Vec<Outcome>>> = Arc::default();
    let running: Arc<Mutex<Vec<Attack>>> = Arc::default();
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..ATTACKERS {
        let (queue, outcomes, running) = (queue.clone(), outcomes.clone(), running.clone());
        let (pulse, mut callers) = (pulse.clone(), place.callers.clone());
        workers.spawn(async move {
            loop {
                let Some(attack) = queue.lock().pop() else { return };
                pulse.begins(&attack.name);
                running.lock().push(attack.clone());
                let outcome = send(&attack, &mut callers).await;
                pulse.ends(&attack.name);
                if outcome.error.is_some() && !is_alive(&mut callers).await {
                    // The attack stays in the list of running ones.
                    return;
                }
                outcomes.lock().push(outcome);
                running.lock().retain(|one| one.name != attack.name || one.account != attack.account);
            }
        });
    }
    while workers.join_next().await.is_some() {}
    let suspects = std::mem::take(&mut *running.lock());
    if !suspects.is_empty() {
        // A process that aborts takes a moment to disappear.
        let lab = &mut place.lab;
        let _ended = until("the end", END, async || lab.ended().ok().flatten()).await;
    }
    let outcomes = std::mem::take(&mut *outcomes.lock());
    let rest = std::mem::take(&mut *queue.lock());
    Ok((outcomes, suspects, rest))
}

async fn is_alive(callers: &mut BTreeMap<&'static str, Caller>) -> bool {
    let Some(caller) = callers.get_mut("admin") else { return false };
    caller.get("/version").await.is_ok()
}

async fn send(attack: &Attack, callers: &mut BTreeMap<&'static str, Caller>) -> Outcome {
    let clock = Clock::system();
    let mut outcome = Outcome { name: attack.name.clone(), time: Duration::ZERO, fault: None, error: None };
    let Some(caller) = callers.get_mut(attack.account) else { return outcome };
    for ask in &attack.steps {
        let start = clock.monotonic();
        match caller.send(ask).await {
            Ok(answer) if is_fault(&answer) => {
                outcome.fault.get_or_insert(answer.code);
            }
            Ok(_) => {}
            Err(error) => outcome.error = Some(format!("{error:#}")),
        }
        outcome.time = outcome.time.max(start.elapsed());
    }
    outcome
}

fn judge(outcomes: &[Outcome], longest: Duration, failures: &[String], broken: &mut Broken) {
    for outcome in outcomes {
        if let Some(code) = outcome.fault {
            broken.add(format!("{}: {code}", outcome.name));
        }
        if outcome.time > longest {
            broken.add(format!("{}: took {} s", outcome.name, outcome.time.as_secs()));
        }
    }
    for failure in failures {
        broken.add(format!("/livez: {failure}"));
    }
}

/// Sends one attack to its own server; returns why that server ended, if it did.
async fn alone(attack: &Attack, place: &impl AsyncFn() -> Result<Place>) -> Result<Option<String>> {
    let Place { mut lab, mut callers } = place().await?;
    let outcome = send(attack, &mut callers).await;
    if outcome.error.is_some() {
        let _ended = until("the end", END, async || lab.ended().ok().flatten()).await;
    }
    lab.ended()
}

/// Attacks the API of a simulated cluster, which the same process serves.
async fn against_workload_cluster(options: &Options, broken: &mut Broken) -> Result<String> {
    let mut attacks = cases::of_workload_cluster();
    shuffle(&mut attacks, options.seed);
    rounds(attacks, options.slack, async || workload_cluster(options).await, broken).await
}

/// Returns a server whose simulated cluster is attacked by the cluster's administrator.
async fn workload_cluster(options: &Options) -> Result<Place> {
    let lab = Lab::start_with(&options.binary, &[]).await?;
    let mut admin = lab.admin()?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-cluster.yaml");
    for document in std::fs::read_to_string(manifest)?.split("\n---\n") {
        apply(&mut admin, document).await?;
    }
    let caller = until("the cluster's API", Duration::from_secs(120), async || {
        let secret = admin.get("/api/v1/namespaces/default/secrets/first-kubeconfig").await.ok()?;
        let text = STANDARD.decode(secret["data"]["value"].as_str()?).ok()?;
        let (endpoint, identity) = Endpoint::of(std::str::from_utf8(&text).ok()?).ok()?;
        let mut caller = endpoint.certified(&identity).ok()?;
        caller.get("/api/v1/namespaces/default").await.ok().map(|_| caller)
    });
    let callers = BTreeMap::from([("admin", caller.await?)]);
    Ok(Place { lab, callers })
}

async fn apply(admin: &mut Caller, document: &str) -> Result<()> {
    use crate::caller::Ask;
    let field = |key: &str| {
        let line = document.lines().find(|line| line.trim_start().starts_with(key));
        line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.to_owned()).unwrap_or_default()
    };
    let plural = format!("{}s", field("kind:").to_lowercase());
    let path = format!(
        "/apis/{}/namespaces/default/{plural}/{}?fieldManager=attack",
        field("apiVersion:"),
        field("name:")
    );
    let ask = Ask::new(http::Method::PATCH, path).body("application/apply-patch+yaml", document.to_owned());
    let answer = admin.send(&ask).await?;
    ensure!(answer.is_done(), "{}", answer.text());
    Ok(())
}
