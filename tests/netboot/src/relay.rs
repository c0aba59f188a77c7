//! A router to another segment, which relays its DHCP messages.

use anyhow::Result;

use crate::elsewhere::Elsewhere;
use crate::lab::{ADDRESS, BRIDGE, FAR_BRIDGE, Lab, run};

/// Address of the relay in the lab's network.
const NEAR: &str = "10.77.0.3";
/// Address of the relay in the other segment.
pub const FAR: &str = "10.78.0.1";
/// The network of the other segment.
pub const NETWORK: &str = "10.78.0.0/24";

/// ISC's relay adds the origin of messages (option 82).
const SCRIPT: &str = "ip link set near up; ip link set far up; ip address add \"$1\"/24 dev near; ip address add \"$2\"/24 dev far
    echo 1 > /proc/sys/net/ipv4/ip_forward; exec dhcrelay -4 -d -a -id far -iu near \"$0\"";

/// A running relay; stopped when dropped.
pub struct Relay(Elsewhere);

impl Relay {
    /// Starts a relay between the lab's network and [`NETWORK`].
    ///
    /// # Errors
    /// Fails if it is not installed, or does not start.
    pub async fn start(lab: &Lab) -> Result<Self> {
        let interfaces = [(BRIDGE, "near"), (FAR_BRIDGE, "far")];
        let server = ADDRESS.to_string();
        let relay = Self(Elsewhere::start(lab, "relay", &interfaces, SCRIPT, &[&server, NEAR, FAR]).await?);
        run("ip", &["route", "add", NETWORK, "via", NEAR]).await?;
        relay.0.comes_up("Sending on   Socket", "dhcrelay", "isc-dhcp-relay").await?;
        Ok(relay)
    }

    /// Returns the log.
    pub fn log(&self) -> String {
        self.0.log()
    }
}
