//! Tests of `network_data`.

use metal::network_data::arguments;
use serde_json::{Value, json};

fn data(network: Value) -> Value {
    json!({
        "links": [{"id": "a", "type": "phy", "ethernet_mac_address": "52:54:00:00:00:0A"}, {"id": "b", "type": "bond"}],
        "networks": [network],
        "services": [{"type": "dns", "address": "10.0.0.53"}],
    })
}

#[test]
fn addresses_become_arguments() {
    let routes = json!([{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}]);
    let cases = [
        (
            json!({"type": "ipv4", "link": "a", "ip_address": "10.0.0.9", "netmask": "255.255.255.0", "routes": routes}),
            Ok("firstlight.network=52:54:00:00:00:0a,10.0.0.9/24,10.0.0.1,10.0.0.53"),
        ),
        (
            json!({"type": "ipv4", "link": "a", "ip_address": "10.0.0.9/23"}),
            Ok("firstlight.network=52:54:00:00:00:0a,10.0.0.9/23,,10.0.0.53"),
        ),
        (json!({"type": "ipv4_dhcp", "link": "a"}), Ok("")),
        (json!({"type": "ipv4", "link": "c", "ip_address": "10.0.0.9/23"}), Err("none of the links")),
        (json!({"type": "ipv4", "link": "b", "ip_address": "10.0.0.9/23"}), Err("neither bonds nor VLANs")),
        (json!({"type": "ipv4", "link": "a", "ip_address": "10.0.0.9"}), Err("netmask")),
        (
            json!({"type": "ipv4", "link": "a", "ip_address": "10.0.0.9", "netmask": "255.0.255.0"}),
            Err("netmask"),
        ),
        (json!({"type": "ipv4", "link": "a", "ip_address": "10.0.0.9/33"}), Err("netmask")),
        (json!({"type": "ipv6", "link": "a"}), Err("ipv4_dhcp")),
    ];
    for (network, expected) in cases {
        let made = arguments(data(network.clone()).to_string().as_bytes()).map(|made| made.join(" "));
        match expected {
            Ok(text) => assert_eq!(made.as_deref(), Ok(text), "{network}"),
            Err(part) => {
                assert!(made.as_ref().is_err_and(|error| error.contains(part)), "{network} {made:?}")
            }
        }
    }
    for wrong in ["network: {version: 2}", "secret-token", "[", ""] {
        let error = arguments(wrong.as_bytes()).unwrap_err();
        assert!(!error.contains("secret"), "{error}");
    }
}
