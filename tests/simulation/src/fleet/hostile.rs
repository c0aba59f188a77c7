//! A hostile machine on the network of the fleet. It has its own address and certificate, knows all MAC
//! addresses and boot IDs, and can read every token that is sent in clear text. It cannot send from the
//! address of another machine.

use std::net::{IpAddr, Ipv4Addr};

use agent_protocol::{Action, Enrolment, Report};
use anyhow::{Result, ensure};
use engine::{Manager, Objects};
use futures::FutureExt as _;
use schemas::netboot::Agent;
use serde_json::json;

use super::machines::Machines;
use super::wire::{Wire, address, token};
use super::{agents, mac};

/// Prefix of the user data of each host; the number of the host follows.
pub const SECRET: &str = "secret-of-host-";
/// Fingerprint of its certificate.
const CERTIFICATE: &str = "hostile";

/// The hostile machine.
pub(super) struct Hostile {
    own: usize,
    agents: Objects<Agent>,
}

impl Hostile {
    /// The machine with number `own`; lower numbers are hosts.
    pub(super) fn new(manager: &Manager, own: usize) -> Self {
        Self { own, agents: manager.objects() }
    }

    /// Performs a random attack.
    ///
    /// # Errors
    /// The attack succeeded.
    pub(super) async fn step(&self, wire: &Wire, machines: &Machines) -> Result<()> {
        let victim = usize::try_from(machines.draw(self.own as u64))?;
        let from = match machines.draw(4) {
            0 => IpAddr::from(Ipv4Addr::new(10, 9, 9, 9)),
            _ => address(self.own).into(),
        };
        match machines.draw(8) {
            0 => self.claims(wire, machines, victim, from).await?,
            1 => {
                let script = wire.script(victim, from).await?;
                ensure!(token(&script).is_none(), "it was told the token of {}: {script}", mac(victim));
            }
            2 => self.asks_for_data(wire, machines, from).await?,
            3 => {
                let told =
                    wire.agents.instruction(CERTIFICATE, "").now_or_never().and_then(Result::ok).flatten();
                let is_own = told.as_ref().is_none_or(|told| told.action == Action::Inspect);
                ensure!(is_own, "it was told {told:?}");
            }
            4 => {
                let drive = wire.agents.config_drive(CERTIFICATE, "http://10.2.255.254:8080").await;
                ensure!(!matches!(drive, Ok(Some(_))), "it was given a configuration drive");
            }
            5 => {
                let inventory =
                    json!({"nics": [{"mac": mac(victim)}], "systemVendor": {"serialNumber": "S1"}});
                let report = Report { inventory: Some(inventory), ..Report::default() };
                // The report itself may be accepted.
                let _ = wire.agents.report(CERTIFICATE, report).await;
            }
            _ => {}
        }
        self.is_nobody()
    }

    /// Claims to be another machine in one or more fields of its enrolment.
    async fn claims(&self, wire: &Wire, machines: &Machines, victim: usize, from: IpAddr) -> Result<()> {
        let boot = machines.with(&mac(victim), |machine| machine.boot.clone()).unwrap_or_default();
        let heard = machines.heard().lock().clone();
        let token = match machines.draw(4) {
            0 => None,
            1 => heard.last().cloned(),
            2 => heard.iter().rev().find(|(number, _)| *number == victim).cloned(),
            _ => Some((victim, "0123".to_owned())),
        };
        let speaks_as = if machines.draw(2) == 0 { victim } else { self.own };
        let said = Enrolment {
            token: token.map(|(_, token)| token),
            boot_mac_address: mac(speaks_as),
            mac_addresses: [self.own, victim, (victim + 1) % self.own].map(mac).to_vec(),
            boot_id: if machines.draw(2) == 0 { boot } else { "hostile".into() },
            ..Enrolment::default()
        };
        // The answer does not matter: afterwards, the agent must not belong to a host.
        let _ = wire.agents.enrol(CERTIFICATE, from, &said).await;
        Ok(())
    }

    async fn asks_for_data(&self, wire: &Wire, machines: &Machines, from: IpAddr) -> Result<()> {
        let heard = machines.heard().lock().last().map(|(_, token)| token.clone()).unwrap_or_default();
        for path in
            ["/nocloud/user-data", "/ignition", "/openstack/latest/user_data", "/2009-04-04/user-data"]
        {
            for path in [path.to_owned(), format!("/metadata/{heard}{path}")] {
                let told = wire.ask(&path, from).await?;
                ensure!(!told.contains(SECRET), "{path} told it {told}");
            }
        }
        Ok(())
    }

    /// Checks that every agent of a host has the certificate of that host's machine.
    fn is_nobody(&self) -> Result<()> {
        for agent in self.agents.all() {
            let (Some(host), Some(status)) = (&agent.spec.host_ref, &agent.status) else { continue };
            let own = status.boot_mac_address.clone().unwrap_or_default();
            let shown = status.certificate_sha256.clone().unwrap_or_default();
            let expected = agents::certificate(&own, status.boot_id.as_deref().unwrap_or_default());
            ensure!(shown == expected, "{} is {shown}, of {own}", host.name);
        }
        Ok(())
    }
}
