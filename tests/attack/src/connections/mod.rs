//! Attacks with slow, idle, stalled and many connections: authenticated users must still be able to connect,
//! and memory stays bounded.

mod crowds;
mod floods;
mod frames;
mod stopping;
mod watchers;

use std::time::Duration;

use anyhow::Result;
use futures::future::LocalBoxFuture;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::lab::{Lab, Options};
use crate::pulse::Pulse;
use crate::report::Broken;

/// Limit until an authenticated user gets a response over a new connection, on a shared machine. The goal on
/// an idle machine is one second.
const IN: Duration = Duration::from_secs(10);
/// Limit for the process's memory during the attacks.
const MEMORY: u64 = 600 << 20;
/// Limit for open files, that is connections, of this process.
const FILES: u64 = 16_384;

/// The inputs of an attack.
struct Field<'a> {
    lab: &'a Lab,
    options: &'a Options,
    /// Last part of the attacker's IP address: its own address, or that of honest clients.
    from: u8,
}

type Attack = for<'a> fn(&'a Field<'a>) -> LocalBoxFuture<'a, Result<String>>;

/// The attacks; each returns a short description of what it did.
const ATTACKS: &[(&str, Attack)] = &[
    ("half-open", |field| Box::pin(crowds::half_open(field))),
    ("slow heads", |field| Box::pin(crowds::slow_heads(field))),
    ("idle after TLS", |field| Box::pin(crowds::idle_after_tls(field))),
    ("idle HTTP/2", |field| Box::pin(crowds::idle_http2(field))),
    ("slow bodies", |field| Box::pin(crowds::slow_bodies(field))),
    ("rapid reset", |field| Box::pin(floods::rapid_reset(field))),
    ("CONTINUATION", |field| Box::pin(floods::continuation(field))),
    ("pings", |field| Box::pin(floods::pings(field))),
    ("unread answers", |field| Box::pin(floods::unread_answers(field))),
    ("stalled watchers", |field| Box::pin(watchers::stalled(field))),
];

/// Runs the scenario.
pub async fn run(options: &Options) -> Result<Broken> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, FILES.min(most), most)?;
    let mut broken = Broken::default();
    let mut figures = Vec::new();
    for (name, attack) in ATTACKS {
        figures.push(one(options, name, *attack, &mut broken).await?);
    }
    figures.push(stopping::slow_upload(options, &mut broken).await?);
    broken.figures = figures.join("; ");
    Ok(broken)
}

/// Runs one attack on its own server.
async fn one(options: &Options, name: &str, attack: Attack, broken: &mut Broken) -> Result<String> {
    let mut lab = Lab::start(options).await?;
    lab.furnish().await?;
    let path = "/api/v1/namespaces/mine/configmaps";
    let every = Duration::from_millis(100);
    // One client is identified by the TLS handshake, the other only by its first request.
    let pulses = [
        ("a certificate", Pulse::start(lab.admin()?, path, every, true)),
        ("a token", Pulse::start(lab.account("tenant").await?, path, every, true)),
    ];
    let field = Field { lab: &lab, options, from: 2 };
    let said = attack(&field).await?;
    let mut longest = Duration::ZERO;
    for (who, pulse) in &pulses {
        let worst = pulse.worst();
        longest = longest.max(worst.time);
        if worst.time > IN {
            broken
                .add(format!("{name}: somebody with {who} was answered after {} ms", worst.time.as_millis()));
        }
        if let Some(failure) = worst.failures.first() {
            let count = worst.failures.len();
            broken.add(format!(
                "{name}: somebody with {who} was refused {count} times of {}: {failure}",
                worst.beats
            ));
        }
    }
    drop(pulses);
    let peak = lab.memory().map(|(_, peak)| peak).unwrap_or_default();
    if peak > MEMORY {
        broken.add(format!("{name}: the process held {} MB", peak >> 20));
    }
    if let Some(why) = lab.ended()? {
        broken.add(format!("{name}: the process ended: {why}"));
    }
    Ok(format!("{name} ({said}): others in after {} ms, {} MB", longest.as_millis(), peak >> 20))
}
