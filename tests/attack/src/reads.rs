//! Reads as expensive as three tenants can make them: lists and watches with selectors over objects of tens of thousands of values, in all
//! forms, while others write such objects. `/livez` and the administrator must not notice, and small values must not take much memory.

use std::time::Duration;

use anyhow::Result;
use futures::future::join_all;
use http::Method;
use machinery::clock::Clock;
use serde_json::{Map, Value, json};

use crate::caller::{Ask, Caller};
use crate::lab::{Lab, MINE, Options, grant};
use crate::pulse::Pulse;
use crate::report::Broken;

/// The accounts, each of which may do everything in [`MINE`].
const TENANTS: [&str; 3] = ["tenant", "plain", "patcher"];
/// Number of values of an object. They have no text, so that they cost more than they weigh.
const VALUES: usize = 90_000;
/// Connections of each tenant.
const CONNECTIONS: usize = 20;
/// Watches of each tenant.
const WATCHES: usize = 100;
/// The time for which an attack lasts.
const LASTS: Duration = Duration::from_secs(6);
/// Limit for a response of `/livez` on a shared machine. The goal on an idle machine is 100 ms.
const LIVE: Duration = Duration::from_secs(1);
/// Limit for a small request of the administrator, with a new connection each time.
const ADMIN: Duration = Duration::from_secs(2);
const PULSE: Duration = Duration::from_millis(10);
/// Limit for the memory of the objects, in parts of the bytes that were sent. The object itself, with its managed fields, has twice as many.
const MEMORY: f64 = 3.5;

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const PARTIAL: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const YAML: &str = "application/yaml";
const JSON: &str = "application/json";

/// The attacks: queries of the collection of Secrets and accepted types, which are sent in turn.
const ATTACKS: &[(&str, &[(&str, &str)])] = &[
    ("fields", &[("?fieldSelector=type%3Dnope", JSON)]),
    ("labels", &[("?labelSelector=nope%3D1", JSON), ("?labelSelector=!tenth,nope", JSON)]),
    ("pages", &[("?limit=1", JSON), ("?limit=3&labelSelector=!nope", TABLE)]),
    ("forms", &[("", TABLE), ("", PARTIAL), ("", PROTOBUF), ("?limit=5", YAML), ("", JSON)]),
    ("objects", &[("/s0", TABLE), ("/s1", YAML), ("/s2", PROTOBUF), ("/s3?pretty=true", JSON)]),
];

fn secrets() -> String {
    format!("/api/v1/namespaces/{MINE}/secrets")
}

fn secret(name: &str) -> Value {
    let data: Map<String, Value> = (0..VALUES).map(|at| (format!("k{at:05}"), json!(""))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})
}

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let mut broken = Broken::default();
    // The controllers keep Secrets, too.
    let mut lab = Lab::start_with(&options.binary, &[]).await?;
    lab.furnish().await?;
    let mut admin = lab.admin()?;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let mut tenants = Vec::new();
    for account in TENANTS {
        grant(&mut admin, Some(MINE), account, everything.clone()).await?;
        tenants.push(lab.account(account).await?);
    }
    let memory = fill(options, &lab, &mut tenants, &mut broken).await?;
    let mut figures = vec![memory];
    let slack = options.slack;
    for (name, requests) in ATTACKS {
        let attack = join_all(
            tenants.iter().flat_map(|tenant| (0..CONNECTIONS).map(|at| repeat(tenant.clone(), requests, at))),
        );
        figures.push(observed(&lab, slack, name, attack, &mut broken).await?);
    }
    let watched = watches(tenants.clone());
    figures.push(observed(&lab, slack, "watches", watched, &mut broken).await?);
    let deleted = join_all(tenants.iter().map(|tenant| empty(tenant.clone())));
    figures.push(observed(&lab, slack, "deletions", deleted, &mut broken).await?);
    if let Some(why) = lab.ended()? {
        broken.add(format!("the process ended: {why}"));
    }
    broken.figures = figures.join("; ");
    Ok(broken)
}

/// Creates the objects, and compares the memory that they take with the bytes that were sent.
async fn fill(options: &Options, lab: &Lab, tenants: &mut [Caller], broken: &mut Broken) -> Result<String> {
    let count = if options.full { 60 } else { 20 };
    let before = settled(lab).await;
    let mut sent = 0;
    for at in 0..count {
        let object = secret(&format!("s{at}"));
        sent += object.to_string().len();
        tenants[at % TENANTS.len()].post(&secrets(), &object).await?;
    }
    let more = settled(lab).await.saturating_sub(before);
    let times = more as f64 / sent as f64;
    if times > MEMORY {
        broken.add(format!(
            "{count} objects of {VALUES} values take {times:.1} times the bytes that were sent"
        ));
    }
    Ok(format!("{count} Secrets of {VALUES} values, memory {times:.1} times their text"))
}

/// Returns the process's memory in bytes once it does not shrink any more.
async fn settled(lab: &Lab) -> u64 {
    let clock = Clock::system();
    let memory = || lab.memory().map_or(0, |(now, _)| now);
    let (mut least, mut same) = (memory(), 0);
    while same < 5 {
        clock.sleep(Duration::from_secs(1)).await;
        let now = memory();
        same = if now + (1 << 20) < least { 0 } else { same + 1 };
        least = least.min(now);
    }
    memory()
}

/// Sends these requests in turn until the time is over. Returns how many were answered, and the codes that are neither 200 nor 429.
async fn repeat(mut caller: Caller, requests: &[(&str, &str)], first: usize) -> (usize, Vec<u16>) {
    let clock = Clock::system();
    let begin = clock.monotonic();
    let (mut answered, mut wrong) = (0, Vec::new());
    for (query, accept) in requests.iter().cycle().skip(first) {
        if begin.elapsed() > LASTS {
            break;
        }
        let ask = Ask::new(Method::GET, format!("{}{query}", secrets())).header("accept", *accept);
        match caller.send(&ask).await {
            Ok(answer) if matches!(answer.code, 200 | 429) => answered += 1,
            Ok(answer) => wrong.push(answer.code),
            Err(_) => wrong.push(0),
        }
    }
    (answered, wrong)
}

/// Watches with selectors, in several forms, while each tenant replaces an object.
async fn watches(tenants: Vec<Caller>) -> Vec<(usize, Vec<u16>)> {
    let forms = [
        ("fieldSelector=type%3Dnope", JSON),
        ("labelSelector=nope", JSON),
        ("labelSelector=!nope&fieldSelector=metadata.name%3Ds0", JSON),
        ("labelSelector=!nope&fieldSelector=metadata.name%3Ds1", TABLE),
    ];
    let watch = |tenant: &Caller, at: usize| {
        let (mut caller, (query, accept)) = (tenant.clone(), forms[at % forms.len()]);
        async move {
            let path = format!("{}?watch=true&resourceVersion=0&{query}", secrets());
            let mut ask = Ask::new(Method::GET, path).header("accept", accept);
            ask.listen = Some(LASTS);
            match caller.send(&ask).await {
                Ok(answer) if matches!(answer.code, 200 | 429) => (1, Vec::new()),
                Ok(answer) => (0, vec![answer.code]),
                Err(_) => (0, vec![0]),
            }
        }
    };
    let writes = tenants.iter().enumerate().map(|(at, tenant)| {
        let (mut caller, clock) = (tenant.clone(), Clock::system());
        async move {
            let (name, begin, mut written) = (format!("s{at}"), clock.monotonic(), 0);
            while begin.elapsed() < LASTS {
                let body = json!({"metadata": {"annotations": {"written": written.to_string()}}}).to_string();
                let ask = Ask::new(Method::PATCH, format!("{}/{name}", secrets()));
                drop(caller.send(&ask.body("application/merge-patch+json", body)).await);
                written += 1;
            }
            (written, Vec::new())
        }
    });
    let watching = join_all(tenants.iter().flat_map(|tenant| (0..WATCHES).map(move |at| watch(tenant, at))));
    let (mut watched, written) = tokio::join!(watching, join_all(writes));
    watched.extend(written);
    watched
}

/// Deletes the collection.
async fn empty(mut caller: Caller) -> (usize, Vec<u16>) {
    let ask = Ask::new(Method::DELETE, format!("{}?labelSelector=!nope", secrets()));
    match caller.send(&ask).await {
        Ok(answer) if matches!(answer.code, 200 | 429) => (1, Vec::new()),
        Ok(answer) => (0, vec![answer.code]),
        Err(_) => (0, vec![0]),
    }
}

/// Performs an attack, and measures meanwhile how long others wait.
async fn observed(
    lab: &Lab,
    slack: u32,
    name: &str,
    attack: impl Future<Output = Vec<(usize, Vec<u16>)>>,
    broken: &mut Broken,
) -> Result<String> {
    let live = Pulse::start(lab.endpoint.caller(None)?, "/livez", PULSE, true);
    let small = Pulse::start(lab.admin()?, SMALL, PULSE, true);
    let outcomes = attack.await;
    let answered: usize = outcomes.iter().map(|(answered, _)| answered).sum();
    let mut wrong: Vec<u16> = outcomes.into_iter().flat_map(|(_, wrong)| wrong).collect();
    wrong.dedup();
    if !wrong.is_empty() {
        broken.add(format!("{name}: answered with {wrong:?}"));
    }
    let mut shown = format!("{name}: {answered} answered");
    for (what, pulse, limit) in [("/livez", live, LIVE), ("the administrator", small, ADMIN)] {
        let worst = pulse.worst();
        if worst.time > limit * slack {
            broken.add(format!("{name}: {what} waited {:?}", worst.time));
        }
        if let Some(failure) = worst.failures.first() {
            broken.add(format!("{name}: {what}: {failure}"));
        }
        shown += &format!(", {what} {} ms", worst.time.as_millis());
    }
    Ok(shown)
}

/// A small object of the administrator.
const SMALL: &str = "/api/v1/namespaces/staff";
