//! The network of the containers, and their addresses.
//!
//! Each container gets a certain address when it is created, and keeps it: Docker would give it any other one at each start, and then
//! neither the members of etcd nor an endpoint would be found again. That needs a network whose range was given when it was made.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail, ensure};
use http::{Method, StatusCode};
use node_runtime::{Order, Range};
use parking_lot::Mutex;
use serde_json::json;

use crate::api::{Inspected, Made, Network};
use crate::body::{LABEL_ADDRESS, LABEL_NETWORK};
use crate::client::{Client, Sent, quoted, unless_missing, unless_refused};
use crate::limits;

/// Label of a network: it was made by this program, and is removed with its last container.
const LABEL_MADE: &str = "firstlight.dev/made";

/// The network, and the addresses that this process is about to give to containers.
pub(crate) struct Networks {
    name: String,
    range: Option<Range>,
    /// Held while the network is made or removed, and while an address is chosen.
    changes: tokio::sync::Mutex<()>,
    reserved: Mutex<BTreeSet<Ipv4Addr>>,
}

/// An address, until a container has it.
pub(crate) struct Reserved<'a> {
    networks: &'a Networks,
    pub(crate) address: Ipv4Addr,
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.networks.reserved.lock().remove(&self.address);
    }
}

impl Networks {
    pub(crate) fn new(name: String, range: Option<Range>) -> Self {
        Self { name, range, changes: tokio::sync::Mutex::default(), reserved: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Makes the network if it does not exist, and takes an address in it.
    ///
    /// # Errors
    /// Somebody has the wanted address, or the network cannot be made or has no usable range.
    pub(crate) async fn reserve(
        &self,
        client: &Client,
        wanted: Option<Ipv4Addr>,
        order: Order,
    ) -> Result<Reserved<'_>> {
        let _alone = self.changes.lock().await;
        let reserved = async {
            let network = self.ensure(client).await?;
            let range = self.range_of(&network)?;
            let mut taken: Vec<Ipv4Addr> = self.reserved.lock().iter().copied().collect();
            taken.extend(addresses(&network));
            taken.extend(given(client).await?);
            range.free(wanted, &taken, order)
        };
        let reserved = reserved.await;
        let address =
            reserved.with_context(|| format!("it can have no address in the network {}", self.name))?;
        self.reserved.lock().insert(address);
        Ok(Reserved { networks: self, address })
    }

    async fn ensure(&self, client: &Client) -> Result<Network> {
        if let Some(found) = read(client, &self.name).await? {
            return Ok(found);
        }
        let range = match self.range {
            Some(range) => range,
            None => self.choose(client).await?,
        };
        self.make(client, Some(range)).await?;
        read(client, &self.name).await?.context("it was removed")
    }

    /// Returns a range that the daemon chooses, which knows what this machine and its other networks have.
    async fn choose(&self, client: &Client) -> Result<Range> {
        let made = self.make(client, None).await?;
        let found: Result<Network> = client.get(&format!("/networks/{made}")).await;
        client.call(Method::DELETE, &format!("/networks/{made}"), Sent::Nothing, limits::CALL).await?;
        self.range_of(&found?)
    }

    /// Makes the network, and returns its identity.
    async fn make(&self, client: &Client, range: Option<Range>) -> Result<String> {
        let mut sent = json!({
            "Name": self.name, "CheckDuplicate": true, "Driver": "bridge",
            "Labels": {LABEL_MADE: "true"},
        });
        if let Some(range) = range {
            // From the third quarter come the addresses of containers that others connect to it.
            let size = 1_u32 << (32 - range.length);
            let others = Ipv4Addr::from(u32::from(range.address) + size / 2);
            sent["IPAM"] = json!({"Config": [{
                "Subnet": range.to_string(),
                "IPRange": format!("{others}/{}", range.length + 2),
                "Gateway": range.gateway().to_string(),
            }]});
        }
        let made: Made = client.post("/networks/create", sent, limits::CALL).await?;
        Ok(made.id)
    }

    fn range_of(&self, network: &Network) -> Result<Range> {
        let subnets = network.ipam.config.iter().map(|config| config.subnet.as_str());
        let subnet = subnets.into_iter().find(|subnet| !subnet.contains(':') && !subnet.is_empty());
        let subnet = subnet.context("it has no addresses of IPv4: name another network")?;
        let range: Range = subnet.parse()?;
        match self.range {
            Some(wanted) if wanted != range => bail!(
                "it has the range {range}, and {wanted} was asked for: remove the network or name another one"
            ),
            _ => Ok(range),
        }
    }

    /// Removes a network if this program has made it and no container needs it any more.
    pub(crate) async fn tidy(&self, client: &Client, name: &str) -> Result<()> {
        let _alone = self.changes.lock().await;
        if !self.reserved.lock().is_empty() {
            return Ok(());
        }
        let Some(network) = read(client, name).await? else { return Ok(()) };
        if !network.labels.contains_key(LABEL_MADE) || !network.containers.is_empty() {
            return Ok(());
        }
        if !client.containers(&json!({"network": [name]})).await?.is_empty() {
            return Ok(());
        }
        let path = format!("/networks/{}", network.id);
        let removed = client.call(Method::DELETE, &path, Sent::Nothing, limits::CALL).await;
        // Somebody may have connected a container to it, or have removed it.
        let others = [StatusCode::FORBIDDEN, StatusCode::CONFLICT, StatusCode::NOT_FOUND];
        unless_refused(removed, &others).map(drop)
    }
}

async fn read(client: &Client, name: &str) -> Result<Option<Network>> {
    unless_missing(client.get(&format!("/networks/{}", quoted(name))).await)
}

/// Returns the addresses in a network that containers have which run, and that of the machine.
fn addresses(network: &Network) -> Vec<Ipv4Addr> {
    let members = network.containers.values().map(|member| member.address.split('/').next());
    let gateways = network.ipam.config.iter().map(|config| Some(config.gateway.as_str()));
    members.chain(gateways).filter_map(|address| address?.parse().ok()).collect()
}

/// Returns the addresses that were given to containers of any data directory.
async fn given(client: &Client) -> Result<Vec<Ipv4Addr>> {
    let all = client.containers(&json!({"label": [LABEL_ADDRESS]})).await?;
    Ok(all.iter().filter_map(|container| container.labels.get(LABEL_ADDRESS)?.parse().ok()).collect())
}

/// Checks that a container that runs has the address that it was given.
///
/// # Errors
/// It has another one or none.
pub(crate) fn check(found: &Inspected) -> Result<()> {
    let wanted = found.config.labels.get(LABEL_ADDRESS).map(String::as_str).unwrap_or_default();
    let network = found.config.labels.get(LABEL_NETWORK).map(String::as_str).unwrap_or_default();
    let has = found.network_settings.networks.get(network).map(|endpoint| endpoint.address.as_str());
    let has = has.unwrap_or_default();
    ensure!(
        !has.is_empty(),
        "it has no address in the network {network}: connect it with `network connect --ip {wanted} {network}`, or stop and start it"
    );
    ensure!(
        has == wanted,
        "it has the address {has} in the network {network} instead of {wanted}: stop and start it"
    );
    Ok(())
}
