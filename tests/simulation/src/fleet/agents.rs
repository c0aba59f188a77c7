//! What the netboot service writes for the machines whose agents run: their enrolment, their reports.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, Utc};
use engine::{Manager, NamespacedName, Objects};
use machinery::clock::rfc3339;
use schemas::netboot::Agent;
use serde_json::{Value, json};

use super::mac;
use super::machines::Machines;

/// How often agents are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often an agent says that it lives.
const HEARTBEAT: i64 = 10;

/// Speaks for the agents of `count` machines, until it is dropped.
pub async fn serve(manager: &Manager, machines: &Machines, count: usize) -> Result<()> {
    let agents: Objects<Agent> = manager.objects();
    agents.wait_until_synced().await;
    loop {
        let now = manager.clock().now();
        machines.set_time(now);
        for number in 0..count {
            step(&agents, machines, &mac(number), now).await?;
        }
        manager.clock().sleep(TICK).await;
    }
}

async fn step(agents: &Objects<Agent>, machines: &Machines, mac: &str, now: DateTime<Utc>) -> Result<()> {
    let (calls_at, boot) = machines.with(mac, |machine| (machine.calls_at, machine.boot.clone()));
    let key = NamespacedName::new("", mac.replace(':', "-"));
    if calls_at.is_some_and(|at| at <= now) {
        let boot = machines.calls(mac);
        return enrol(agents, &key, mac, &boot, now).await;
    }
    let (Some(boot), Some(agent)) = (boot, agents.get(&key)) else { return Ok(()) };
    work(agents, machines, &agent, mac, &boot, now).await
}

async fn enrol(
    agents: &Objects<Agent>,
    key: &NamespacedName,
    mac: &str,
    boot: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    if agents.get(key).is_none() {
        let mut agent = Agent::default();
        agent.metadata.name = Some(key.name.clone());
        agents.create_if_absent(&agent).await?;
    }
    let status = json!({"status": {
        "bootMACAddress": mac, "macAddresses": [mac], "bootID": boot, "lastSeenTime": rfc3339(now), "provenBy": "Token",
        "instruction": null,
    }});
    agents.merge(key, Some("status"), status).await?;
    Ok(())
}

/// An instruction takes as long as it takes, and is reported when it begins and ends.
async fn work(
    agents: &Objects<Agent>,
    machines: &Machines,
    agent: &Arc<Agent>,
    mac: &str,
    boot: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let status = agent.status.clone().unwrap_or_default();
    let instruction = agent.spec.instruction.clone().filter(|wanted| wanted.boot_id.as_deref() == Some(boot));
    let known = status.instruction.unwrap_or_default();
    let began = parsed(known.start_time.as_deref());
    let report = match instruction {
        Some(wanted) if wanted.id != known.id => {
            Some(json!({"id": wanted.id, "state": "Running", "startTime": rfc3339(now)}))
        }
        Some(wanted)
            if known.state == "Running"
                && began.is_some_and(|at| (now - at).num_seconds() >= duration(&wanted.action)) =>
        {
            let outcome = carry_out(machines, mac, &wanted);
            Some(
                json!({"id": wanted.id, "state": outcome, "startTime": known.start_time, "endTime": rfc3339(now), "message": "simulated"}),
            )
        }
        _ => None,
    };
    let seen = parsed(status.last_seen_time.as_deref());
    if report.is_none() && seen.is_some_and(|at| (now - at).num_seconds() < HEARTBEAT) {
        return Ok(());
    }
    let mut patch = json!({"status": {"lastSeenTime": rfc3339(now)}});
    if let Some(report) = report {
        if report["state"] == "Done"
            && agent.spec.instruction.as_ref().is_some_and(|wanted| wanted.action == "Inspect")
        {
            patch["status"]["hardware"] =
                json!({"ramMebibytes": 4096, "cpu": {"arch": "x86_64", "count": 8}});
        }
        patch["status"]["instruction"] = report;
    }
    agents.merge(&NamespacedName::of(agent.as_ref()), Some("status"), patch).await?;
    Ok(())
}

fn parsed(text: Option<&str>) -> Option<DateTime<Utc>> {
    machinery::clock::parse_rfc3339(text?)
}

/// Seconds.
fn duration(action: &str) -> i64 {
    match action {
        "Deploy" => 90,
        "Clean" => 5,
        _ => 2,
    }
}

fn carry_out(machines: &Machines, mac: &str, wanted: &schemas::netboot::AgentInstruction) -> Value {
    if wanted.action != "Restart" && machines.happens(machines.faults().instruction) {
        return "Failed".into();
    }
    let url = wanted.image.as_ref().map(|image| image.url.clone());
    match wanted.action.as_str() {
        "Clean" => machines.with(mac, |machine| machine.disk = None),
        "Deploy" => machines.with(mac, |machine| {
            machine.disk = url;
            machine.written += 1;
        }),
        "Restart" => machines.restart(mac),
        "PowerOff" => machines.stop(mac),
        _ => {}
    }
    "Done".into()
}
