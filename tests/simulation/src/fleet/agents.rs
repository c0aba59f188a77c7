//! The agents of simulated machines: they start, enrol and carry out instructions through the services of the
//! server.

use std::time::Duration;

use agent_protocol::{Action, Enrolment, Progress, Report, State};
use anyhow::{Result, ensure};
use chrono::{DateTime, Utc};
use engine::Manager;
use futures::FutureExt as _;
use metal_provisioning::agents::Refusal;
use serde_json::json;

use super::hostile::{Hostile, SECRET};
use super::mac;
use super::machines::{Doing, Machines};
use super::wire::{Wire, address, token};

/// How often the agents run.
const TICK: Duration = Duration::from_secs(1);
/// Interval of the heartbeats of an agent, in seconds.
const HEARTBEAT: i64 = 10;

/// Runs the agents of `count` machines and a hostile machine until the future is dropped.
///
/// # Errors
/// A machine received something that it must not receive.
pub async fn serve(manager: &Manager, machines: &Machines, count: usize) -> Result<()> {
    let wire = Wire::start(manager, count + 1).await?;
    let hostile = Hostile::new(manager, count);
    loop {
        let now = manager.clock().now();
        machines.set_time(now);
        for number in 0..count {
            step(&wire, machines, number, now).await?;
        }
        hostile.step(&wire, machines).await?;
        manager.clock().sleep(TICK).await;
    }
}

/// The certificate fingerprint of a machine for one start.
pub(super) fn certificate(mac: &str, boot: &str) -> String {
    format!("{mac} {boot}")
}

async fn step(wire: &Wire, machines: &Machines, number: usize, now: DateTime<Utc>) -> Result<()> {
    let mac = mac(number);
    let (calls_at, boot) = machines.with(&mac, |machine| (machine.calls_at, machine.boot.clone()));
    if calls_at.is_some_and(|at| at <= now) {
        return start(wire, machines, number).await;
    }
    let Some(boot) = boot else { return Ok(()) };
    work(wire, machines, number, &boot, now).await
}

/// Requests the boot script, and starts the agent if the script says so.
async fn start(wire: &Wire, machines: &Machines, number: usize) -> Result<()> {
    let (mac, from) = (mac(number), address(number).into());
    let script = wire.script(number, from).await?;
    if !script.contains("/boot/kernel/") {
        machines.calls(&mac, None);
        return Ok(());
    }
    let token = token(&script);
    machines.heard().lock().extend(token.clone().map(|token| (number, token)));
    let boot = machines.boot(&mac);
    let said = Enrolment {
        token,
        boot_mac_address: mac.clone(),
        mac_addresses: vec![mac.clone()],
        boot_id: boot.clone(),
        ..Enrolment::default()
    };
    // A machine that is rejected tries again.
    if wire.agents.enrol(&certificate(&mac, &boot), from, &said).await.is_ok() {
        machines.calls(&mac, Some(boot));
    }
    Ok(())
}

/// Carries out instructions. An instruction takes some time and is reported at its beginning and end.
async fn work(wire: &Wire, machines: &Machines, number: usize, boot: &str, now: DateTime<Utc>) -> Result<()> {
    let mac = mac(number);
    let certificate = certificate(&mac, boot);
    let doing = machines.with(&mac, |machine| machine.doing.clone());
    let after = doing.as_ref().map(|doing| doing.instruction.id.clone()).unwrap_or_default();
    let next = match wire.agents.instruction(&certificate, &after).now_or_never() {
        Some(Ok(Some(instruction))) => Some(Doing { instruction, since: now, state: State::Running }),
        Some(Err(Refusal::Unknown)) => {
            // The Agent object is gone: restart the machine, as an operator would.
            machines.restart(&mac);
            return Ok(());
        }
        _ => None,
    };
    let ended = |doing: &Doing| {
        doing.state == State::Running
            && (now - doing.since).num_seconds() >= duration(&doing.instruction.action)
    };
    let news = match (next, doing) {
        (Some(next), _) => Some(next),
        (None, Some(doing)) if ended(&doing) => {
            let state = carry_out(wire, machines, number, &certificate, &doing).await?;
            Some(Doing { state, ..doing })
        }
        _ => None,
    };
    if news.is_none() && now.timestamp() % HEARTBEAT != 0 {
        return Ok(());
    }
    let report = news.as_ref().map(report).unwrap_or_default();
    let told = wire.agents.report(&certificate, report).await;
    let Some(news) = news.filter(|_| told.is_ok()) else { return Ok(()) };
    let leaves = (news.state == State::Done).then(|| news.instruction.action.clone());
    machines.with(&mac, |machine| machine.doing = Some(news));
    match leaves {
        Some(Action::Restart) => machines.restart(&mac),
        Some(Action::PowerOff) => machines.stop(&mac),
        _ => {}
    }
    Ok(())
}

fn report(doing: &Doing) -> Report {
    let is_inspected = doing.state == State::Done && doing.instruction.action == Action::Inspect;
    Report {
        instruction: Some(Progress {
            id: doing.instruction.id.clone(),
            state: doing.state,
            message: "simulated".into(),
            done: 0,
            total: 0,
        }),
        inventory: is_inspected.then(|| json!({"ramMebibytes": 4096, "cpu": {"arch": "x86_64", "count": 8}})),
        log: Vec::new(),
    }
}

/// Duration of an action in seconds.
fn duration(action: &Action) -> i64 {
    match action {
        Action::Deploy(_) => 90,
        Action::Clean { .. } => 5,
        _ => 2,
    }
}

async fn carry_out(
    wire: &Wire,
    machines: &Machines,
    number: usize,
    certificate: &str,
    doing: &Doing,
) -> Result<State> {
    let (mac, action) = (mac(number), &doing.instruction.action);
    if *action != Action::Restart && machines.happens(machines.faults().instruction) {
        return Ok(State::Failed);
    }
    match action {
        Action::Clean { .. } => {
            machines.with(&mac, |machine| (machine.disk, machine.user_data) = (None, None))
        }
        Action::Deploy(deployment) => {
            let Ok(Some(drive)) = wire.agents.config_drive(certificate, "http://10.2.255.254:8080").await
            else {
                return Ok(State::Failed);
            };
            let own = format!("{SECRET}{number}\n");
            let user_data = drive.files.get("openstack/latest/user_data");
            let is_own = |text: &String| !text.contains(SECRET) || text.contains(&own);
            ensure!(user_data.is_some_and(is_own), "{mac} was told {user_data:?}");
            machines.with(&mac, |machine| {
                machine.disk = Some(deployment.image.url.clone());
                machine.user_data = user_data.cloned();
                machine.written += 1;
            });
        }
        _ => {}
    }
    Ok(State::Done)
}
