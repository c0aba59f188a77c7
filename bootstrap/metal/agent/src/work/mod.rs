//! The agent's work with its server: it enrols, reports, asks for instructions, and carries them out.

mod disks;
mod endorsement;
mod job;
pub mod progress;
mod task;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{Configuration, Enrolled};
use anyhow::Result;
use rustls::ClientConfig;

use endorsement::Endorser;
use job::Job;
use progress::Reporter;
use task::Machine;

use crate::devices::Devices;
use crate::machine::{Arguments, enrolment};
use crate::network::lldp::Neighbours;
use crate::network::{Attached, Network, Tools};
use crate::server::{Identity, Refusal, Server, authorities, client_config};

const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(15);
/// The shortest interval between reports while only byte counts and log lines change.
const REPORT_MIN: Duration = Duration::from_secs(1);
/// The number of failed requests after which the agent looks for a server again, on all interfaces.
const FAILURES_MAX: u32 = 8;

/// An agent with network interfaces.
pub struct Agent {
    tools: Tools,
    arguments: Arguments,
    configuration: Configuration,
    network: Network,
    neighbours: Neighbours,
    devices: Devices,
    config: Arc<ClientConfig>,
    certificate: [u8; 32],
    endorser: Option<Endorser>,
    reporter: Arc<Reporter>,
}

/// The reason why the communication with a server ended.
enum End {
    /// The server does not know this machine.
    Unknown,
    /// The server does not answer.
    Silent,
}

impl Agent {
    /// Returns an agent with a new certificate.
    ///
    /// # Errors
    /// The certificate authority of the configuration cannot be used.
    pub fn new(
        tools: Tools,
        arguments: Arguments,
        configuration: Configuration,
        network: Network,
        neighbours: Neighbours,
        devices: Devices,
    ) -> Result<Self> {
        let roots = authorities(&configuration.certificate_authority)?;
        let identity = Identity::make()?;
        let (config, certificate) = (Arc::new(client_config(roots, &identity)?), identity.sha256());
        let reporter = Arc::new(Reporter::new(tools.journal.clone()));
        let endorser = None;
        Ok(Self {
            tools,
            arguments,
            configuration,
            network,
            neighbours,
            devices,
            config,
            certificate,
            endorser,
            reporter,
        })
    }

    /// Runs the agent for ever.
    ///
    /// # Errors
    /// Never; the type only says that the function does not return.
    pub async fn work(mut self) -> Result<Infallible> {
        let mut job: Option<Job> = None;
        self.endorser = Endorser::find(&self.tools).await;
        loop {
            let (server, by, enrolled) = self.enrol().await;
            self.tools.journal.line(format!(
                "{}: enrolled as {} by {}",
                server.base(),
                enrolled.name,
                by.link.name
            ));
            let every = Duration::from_secs(enrolled.report_seconds.max(1));
            let end = tokio::select! {
                biased;
                end = self.report(&server, every) => end,
                end = self.obey(&server, &by, &mut job) => end,
            };
            if matches!(end, End::Silent) {
                self.tools.journal.line(format!("{} does not answer; looking for it anew", server.base()));
            }
        }
    }

    /// Enrols at the first server that accepts this machine, through any interface that reaches the server.
    async fn enrol(&mut self) -> (Server, Attached, Enrolled) {
        let (mut pause, mut said) = (PAUSE_MIN, String::new());
        loop {
            let attached = self.network.borrow_and_update().clone();
            for by in &attached {
                for base in &self.configuration.servers {
                    let server = Server::new(base, &self.config, Some(by.address.into()));
                    let mut enrolment = enrolment(Path::new("/"), &self.arguments, by);
                    let mut failed = Vec::new();
                    if let Some(endorser) = &mut self.endorser {
                        match endorser.endorse(&server, self.certificate).await {
                            Ok(endorsement) => enrolment.endorsement = Some(endorsement),
                            // The server decides whether the machine may enrol without its TPM.
                            Err(error) => failed.push(format!("no use of the TPM: {error:#}")),
                        }
                    }
                    let enrolled = server.enrol(&enrolment).await;
                    if let Err(error) = &enrolled {
                        failed.push(format!("cannot enrol by {}: {error:#}", by.link.name));
                    }
                    let text = failed.join("; ");
                    if !text.is_empty() && text != said {
                        self.tools.journal.line(&text);
                        said = text;
                    }
                    if let Ok(enrolled) = enrolled {
                        return (server, by.clone(), enrolled);
                    }
                }
            }
            // Retry at once when an interface gets an address.
            let again = tokio::time::timeout(pause, self.network.changed()).await;
            pause = if again.is_ok() { PAUSE_MIN } else { (pause * 2).min(PAUSE_MAX) };
        }
    }

    /// Sends reports, at least one per `every`.
    async fn report(&self, server: &Server, every: Duration) -> End {
        let mut failures = 0;
        loop {
            let unsent = self.reporter.report();
            match server.report(&unsent).await {
                Ok(()) => {
                    failures = 0;
                    self.reporter.reported(&unsent);
                }
                Err(Refusal::Unknown) => return End::Unknown,
                // Not logged, because a log line would be a reason for another report.
                Err(Refusal::Other(_)) => failures += 1,
            }
            if failures >= FAILURES_MAX {
                return End::Silent;
            }
            let pause = (REPORT_MIN * 2u32.saturating_pow(failures)).min(PAUSE_MAX);
            if failures > 0 {
                self.tools.clock.sleep(pause).await;
                continue;
            }
            // Only a change of an instruction's state interrupts the pause.
            let turned = tokio::time::timeout(pause, self.reporter.turned()).await;
            if turned.is_err() {
                // The pause has elapsed, so the report is due when there are other news or the interval ends.
                let _ = tokio::time::timeout(every.saturating_sub(pause), self.reporter.news()).await;
            }
        }
    }

    /// Asks for instructions and starts them.
    async fn obey(&self, server: &Server, by: &Attached, job: &mut Option<Job>) -> End {
        let mut failures = 0;
        loop {
            let after = job.as_ref().map(|job| job.id().to_owned());
            match server.instruction(after.as_deref()).await {
                Ok(None) => failures = 0,
                Ok(Some(instruction)) if after.as_deref() == Some(&instruction.id) => failures = 0,
                Ok(Some(instruction)) => {
                    failures = 0;
                    if let Some(job) = job.take() {
                        job.end().await;
                    }
                    *job = Some(Job::start(instruction, self.machine(server, by)));
                    continue;
                }
                Err(Refusal::Unknown) => return End::Unknown,
                Err(Refusal::Other(error)) => {
                    failures += 1;
                    if failures >= FAILURES_MAX {
                        return End::Silent;
                    }
                    self.tools.journal.line(format!("{error:#}"));
                }
            }
            let pause = PAUSE_MIN * 2u32.saturating_pow(failures);
            self.tools.clock.sleep(pause.min(PAUSE_MAX)).await;
        }
    }

    fn machine(&self, server: &Server, by: &Attached) -> Machine {
        Machine {
            tools: self.tools.clone(),
            server: server.clone(),
            attached: self.network.borrow().clone(),
            boot: self.arguments.boot.unwrap_or(by.link.mac),
            neighbours: self.neighbours.clone(),
            devices: self.devices.clone(),
            reporter: self.reporter.clone(),
            authorities: format!(
                "{}\n{}",
                self.configuration.certificate_authority, self.configuration.image_authorities
            ),
        }
    }
}
