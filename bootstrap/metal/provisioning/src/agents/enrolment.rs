//! Enrolments of machines: decides with the rules of [`proof`] whether a machine may enrol, writes its Agent, and limits the number
//! of Agents of machines that are not hosts.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use agent_protocol::dhcp::MacAddress;
use agent_protocol::{Enrolled, Enrolment};
use chrono::{DateTime, Utc};
use engine::NamespacedName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::{Clock, parse_rfc3339};
use metal::host::host_of;
use schemas::netboot::Agent;
use serde_json::json;

use super::proof::{self, EnrolRequest, Proof};
use super::refusal::Refusal;
use super::reports::{REPORT_SECONDS, Reported};
use super::service::{Agents, failed};
use crate::directory::BootToken;
use crate::fingerprint::fingerprint;
use crate::limits;

impl Agents {
    /// Enrols a machine: decides whether it is the machine that it claims to be, and writes its Agent.
    ///
    /// # Errors
    /// The errors of [`proof::prove`]; [`Refusal::Limit`], [`Refusal::Full`], [`Refusal::Failed`].
    pub async fn enrol(
        &self,
        certificate: &str,
        address: IpAddr,
        enrolment: &Enrolment,
    ) -> Result<Enrolled, Refusal> {
        let result = self.let_in(certificate, address, enrolment).await;
        self.metrics.enrolment(result.as_ref().map_or_else(Refusal::name, |_| "enrolled"));
        result
    }

    async fn let_in(
        &self,
        certificate: &str,
        address: IpAddr,
        enrolment: &Enrolment,
    ) -> Result<Enrolled, Refusal> {
        proof::check(enrolment)?;
        let _one = self.entering.lock().await;
        let lease_holder = self.addresses.lease_of(address);
        let shown = enrolment.token.as_ref().map(|token| fingerprint(token.as_bytes()));
        let of_media = shown.and_then(|shown| self.machines.host_of_media(&shown));
        self.tell_the_claimed(enrolment, address, lease_holder, of_media.as_ref());
        let mac = proof::name(enrolment, address, lease_holder)?;
        let key = NamespacedName::new("", mac.dashed());
        let known = self.agents.get(&key);
        let bound = known.as_ref().and_then(|agent| host_of(agent));
        let described = self.machines.host(mac).map(|host| NamespacedName::of(host.as_ref()));
        if let Some(host) = &of_media
            && [&bound, &described].into_iter().flatten().any(|known| known != host)
        {
            return Err(Refusal::Forbidden(format!(
                "machine {mac} is not the one that this token was made for"
            )));
        }
        let endorsement = enrolment.endorsement.as_ref();
        let endorsement = endorsement.map(|said| self.endorsements.proven(certificate, said)).transpose()?;
        let tokens = self.tokens(mac, of_media.as_ref(), lease_holder.is_some());
        let request = EnrolRequest {
            enrolment,
            certificate,
            endorsement: endorsement.as_deref(),
            address,
            lease_holder,
            is_elsewhere: lease_holder.is_none() && self.addresses.has_lease(mac),
            heard: self.reported.lock().get(&key.name).and_then(Reported::heard),
            boot_mode: lease_holder.and_then(|mac| self.addresses.boot_mode(mac)),
            tokens: &tokens,
            is_host: bound.is_some(),
            is_approved: known.as_ref().is_some_and(|agent| agent.spec.approved == Some(true))
                && self.waiting.lock().is_waiting(&key.name, certificate),
        };
        let status = known.as_ref().and_then(|agent| agent.status.as_ref());
        let now = self.clock.now();
        let proof = proof::prove(&request, mac, status, now);
        let proof = proof.inspect_err(|refusal| self.note_refusal(&key.name, &request, refusal))?;
        let enrolled = Enrolled { name: key.name.clone(), report_seconds: REPORT_SECONDS };
        if proof::is_again(&request, proof, status, now) {
            self.metrics.limit("netboot_enrolled_again");
            return Ok(enrolled);
        }
        if known.is_none() {
            if of_media.is_none() && described.is_none() {
                self.make_room(address).await?;
            }
            let metadata = ObjectMeta { name: Some(key.name.clone()), ..ObjectMeta::default() };
            let object = Agent { metadata, ..Agent::default() };
            self.agents.create_if_absent(&object).await.map_err(failed)?;
        }
        self.use_up_approval(&key, known.as_deref(), &request).await?;
        let patch = proof::enrolled(&request, mac, proof, status, now);
        self.agents.merge(&key, Some("status"), patch).await.map_err(failed)?;
        if let Some(host) =
            of_media.filter(|host| proof == Some(Proof::Token) && bound.as_ref() != Some(host))
        {
            self.note_host(&key, &host).await?;
        }
        self.reported.lock().remove(&key.name);
        tracing::info!(machine = %mac, %address, ?proof, "an agent has enrolled");
        Ok(enrolled)
    }

    /// Withdraws the approval of an Agent if this enrolment uses it, or if it was meant for a machine with another certificate. Called
    /// before anything of the request is written, so that an approval is used at most once.
    async fn use_up_approval(
        &self,
        key: &NamespacedName,
        known: Option<&Agent>,
        request: &EnrolRequest<'_>,
    ) -> Result<(), Refusal> {
        let Some(known) = known.filter(|agent| agent.spec.approved == Some(true)) else { return Ok(()) };
        let before = known.status.as_ref().and_then(|status| status.certificate_sha256.as_deref());
        if request.is_host || before.is_some_and(|before| before != request.certificate) {
            self.waiting.lock().forget(&key.name);
            let patch = json!({ "spec": { "approved": null } });
            self.agents.merge(key, None, patch).await.map_err(failed)?;
        }
        Ok(())
    }

    /// Records the host whose virtual media the machine was started from.
    async fn note_host(&self, key: &NamespacedName, host: &NamespacedName) -> Result<(), Refusal> {
        // The machine used another interface at its previous start, so the agent of that interface loses its `hostRef`.
        for earlier in self.agents.by_index(metal::host::BY_HOST, &host.to_string()) {
            let patch = json!({ "spec": { "hostRef": null, "instruction": null } });
            self.agents.merge(&NamespacedName::of(earlier.as_ref()), None, patch).await.map_err(failed)?;
        }
        let patch = json!({ "spec": { "hostRef": { "namespace": host.namespace, "name": host.name } } });
        self.agents.merge(key, None, patch).await.map(|_| ()).map_err(failed)
    }

    /// Reports a refusal that a person must know of as an event, and lists a machine that needs an approval as waiting.
    fn note_refusal(&self, name: &str, request: &EnrolRequest<'_>, refusal: &Refusal) {
        let address = request.address;
        tracing::warn!(%address, %refusal, "a machine is not let in");
        let reason = match refusal {
            Refusal::Token(_) => "BootTokenRefused",
            Refusal::Endorsement(_) => "EndorsementKeyRefused",
            Refusal::Unproven(_) => {
                self.waiting.lock().note(name, request.certificate, self.clock.now());
                "ApprovalNeeded"
            }
            _ => return,
        };
        self.alert(name, reason, &format!("{} asks to be let in: {refusal}", address.to_canonical()));
    }

    /// Reports an event for each host whose MAC address the machine claims without proof. The claim has no other effect.
    fn tell_the_claimed(
        &self,
        enrolment: &Enrolment,
        address: IpAddr,
        own: Option<MacAddress>,
        of_media: Option<&NamespacedName>,
    ) {
        let speaks_as = enrolment.boot_mac_address.parse::<MacAddress>().ok();
        let own = own.or(speaks_as);
        let own_host =
            own.and_then(|own| self.machines.host(own)).map(|host| NamespacedName::of(host.as_ref()));
        let said: BTreeSet<MacAddress> = proof::interfaces(enrolment).chain(speaks_as).collect();
        for claimed in said.into_iter().filter(|mac| Some(*mac) != own) {
            let Some(host) = self.machines.host(claimed) else { continue };
            let host = NamespacedName::of(host.as_ref());
            if Some(&host) != own_host.as_ref() && Some(&host) != of_media {
                let message = format!(
                    "{} says that {claimed} is its own, which nothing shows: nothing changes. If it is this host's machine, spec.bootMACAddress \
                     must be that of the interface which it starts from",
                    address.to_canonical()
                );
                self.alert(&claimed.dashed(), "MachineClaimed", &message);
            }
        }
    }

    /// Returns the tokens that the machine was given (for its address, and on the virtual media of its host), each with whether it has
    /// been used.
    fn tokens(
        &self,
        mac: MacAddress,
        of_media: Option<&NamespacedName>,
        has_lease: bool,
    ) -> Vec<(BootToken, bool)> {
        let now = self.clock.now();
        let told = has_lease.then(|| self.machines.token(mac)).flatten();
        let host = of_media
            .cloned()
            .or_else(|| self.machines.host(mac).map(|host| NamespacedName::of(host.as_ref())));
        let on_media = host.and_then(|host| self.machines.token_of_media(&host, now));
        let tokens = told.into_iter().chain(on_media);
        tokens
            .map(|token| {
                let is_spent = self.machines.is_spent(&token);
                (token, is_spent)
            })
            .collect()
    }

    /// Makes room for another machine that is not a host. Called before anything of that machine is written.
    async fn make_room(&self, address: IpAddr) -> Result<(), Refusal> {
        let unknown: Vec<Arc<Agent>> =
            self.agents.all().into_iter().filter(|agent| self.is_unknown(agent)).collect();
        let speaks_from = address.to_canonical().to_string();
        let is_there = |agent: &&Arc<Agent>| {
            let unproven = agent.status.as_ref().filter(|status| status.proven_by.is_none());
            unproven.and_then(|status| status.address.as_ref()) == Some(&speaks_from)
        };
        let now = self.clock.now();
        // An address belongs to one machine, so a client that sends another MAC address each time still takes only one place.
        for agent in unknown.iter().filter(is_there) {
            let again =
                self.seen(agent).is_some_and(|seen| now - seen < limits::duration(limits::UNKNOWN_AGAIN));
            if again {
                let name = agent.metadata.name.clone().unwrap_or_default();
                self.metrics.limit("netboot_unknown_again");
                return Err(Refusal::Full(format!("{speaks_from} is machine {name}: try again later")));
            }
            self.agents.delete(agent).await.map_err(failed)?;
        }
        let others = unknown.iter().filter(|agent| !is_there(agent));
        if others.clone().count() < limits::UNKNOWN_MACHINES {
            return Ok(());
        }
        let silent = others.min_by_key(|agent| self.seen(agent)).filter(|agent| {
            self.seen(agent).is_none_or(|seen| now - seen >= limits::duration(limits::UNKNOWN_SILENT))
        });
        let Some(agent) = silent else {
            self.metrics.limit("netboot_unknown_machines");
            return Err(Refusal::Full(format!(
                "{} unknown machines are here already: describe this one as a host, or delete some of them \
                 (kubectl delete agents.netboot.firstlight.dev NAME)",
                limits::UNKNOWN_MACHINES
            )));
        };
        self.metrics.limit("netboot_unknown_silent");
        self.agents.delete(agent).await.map_err(failed)
    }

    /// Returns whether the machine is not a host's and no BareMetalHost describes it.
    fn is_unknown(&self, agent: &Agent) -> bool {
        let mac = agent.metadata.name.as_deref().and_then(|name| name.parse().ok());
        agent.spec.host_ref.is_none() && mac.and_then(|mac| self.machines.host(mac)).is_none()
    }

    /// Returns the time of the last sign of life of the machine: its last report or `status.lastSeenTime`, whichever is later.
    fn seen(&self, agent: &Agent) -> Option<DateTime<Utc>> {
        let name = agent.metadata.name.as_deref().unwrap_or_default();
        let written =
            agent.status.as_ref().and_then(|status| parse_rfc3339(status.last_seen_time.as_deref()?));
        self.reported.lock().get(name).and_then(Reported::heard).max(written)
    }

    /// Deletes, periodically, the agents of machines that are not hosts and have been silent for long, and removes approvals that no
    /// machine waits for.
    pub(super) async fn forget_the_silent(service: Weak<Self>, clock: Clock) {
        loop {
            clock.sleep(limits::FORGET_EVERY).await;
            let Some(service) = service.upgrade() else { return };
            let now = clock.now();
            service.waiting.lock().forget_the_silent(now);
            for agent in service.agents.all() {
                let seen = service.seen(&agent).or_else(|| created(&agent));
                if seen.is_some_and(|seen| now - seen >= limits::duration(limits::UNKNOWN_FORGOTTEN))
                    && service.is_unknown(&agent)
                {
                    service.metrics.limit("netboot_unknown_forgotten");
                    if let Err(error) = service.agents.delete(&agent).await {
                        tracing::warn!(%error, "a silent machine cannot be forgotten");
                    }
                }
            }
            for agent in service.agents.all() {
                let key = NamespacedName::of(agent.as_ref());
                let is_unused = agent.spec.approved == Some(true) && agent.spec.host_ref.is_some();
                if is_unused && !service.waiting.lock().is_anybody(&key.name) {
                    let patch = json!({ "spec": { "approved": null } });
                    // If the patch fails, the next iteration tries again.
                    let _ = service.agents.merge(&key, None, patch).await;
                }
            }
            let is_there = |name: &str| service.agents.get(&NamespacedName::new("", name)).is_some();
            service.reported.lock().retain(|name, _| is_there(name));
            service.changed.lock().retain(|name, _| is_there(name));
        }
    }
}

fn created(agent: &Agent) -> Option<DateTime<Utc>> {
    Some(engine::time::utc(agent.metadata.creation_timestamp.as_ref()?))
}
