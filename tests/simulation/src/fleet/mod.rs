//! A fleet of bare-metal machines on the simulated clock: machines that outlive the server, the real agent
//! service, and a hostile machine in their network.

mod agents;
mod clusters;
mod guests;
mod hostile;
mod machines;
mod wire;

pub use agents::serve;
pub use clusters::{cluster, free_host};
pub use guests::Guests;
pub use hostile::SECRET;
pub use machines::{Faults, Machines};

use serde_json::{Value, json};

/// Namespace of the hosts.
pub const NAMESPACE: &str = "metal";

/// MAC address of machine number `number`.
pub fn mac(number: usize) -> String {
    format!("52:54:00:00:{:02x}:{:02x}", number >> 8, number & 0xff)
}

/// Name of host number `number`.
pub fn name(number: usize) -> String {
    format!("host-{number}")
}

/// The Secret with BMC credentials, the Secret with user data and the host of machine `number`, which is to
/// run `image`.
pub fn objects(number: usize, image: &str) -> [Value; 3] {
    let name = name(number);
    let secret = format!("{name}-bmc");
    [
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": secret, "namespace": NAMESPACE},
            "stringData": {"username": "admin", "password": "password"},
        }),
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{name}-user-data"), "namespace": NAMESPACE},
            "stringData": {"userData": format!("#cloud-config\n# {SECRET}{number}\n")},
        }),
        json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "online": true,
                "bootMACAddress": mac(number),
                "bmc": {"address": format!("redfish://10.1.{}.{}/redfish/v1/Systems/1", number >> 8, number & 0xff), "credentialsName": secret},
                "userData": {"name": format!("{name}-user-data")},
                "image": {"url": image, "checksum": "00", "checksumType": "sha256"},
            },
        }),
    ]
}
