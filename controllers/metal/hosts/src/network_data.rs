//! Converts the network data of a machine before its installation (OpenStack's `network_data.json`) to kernel arguments for the agent.

use std::net::Ipv4Addr;

use k8s_openapi::api::core::v1::Secret;
use serde_json::Value;

/// The kernel argument for an interface: `MAC,ADDRESS/BITS,ROUTER,NAMESERVER…`; the router may be empty.
const ARGUMENT: &str = "firstlight.network";

/// Returns the kernel arguments for `networkData` of a Secret.
///
/// # Errors
/// The problem with the data; the message never contains the Secret's content.
pub fn of_secret(secret: &Secret) -> Result<Vec<String>, String> {
    let data = secret.data.as_ref().and_then(|data| data.get("networkData").or_else(|| data.get("value")));
    let data = data.ok_or("it has neither the key networkData nor value")?;
    arguments(&data.0)
}

/// Returns the kernel arguments for `network_data.json`, which may also be YAML.
///
/// # Errors
/// The data are invalid, or need something that the agent does not support.
pub fn arguments(text: &[u8]) -> Result<Vec<String>, String> {
    // The parser's message could quote the Secret, so it is dropped.
    let decoded = machinery::decode::yaml(text).map_err(|_| "it is neither JSON nor YAML")?;
    let data = decoded.value;
    if !data["networks"].is_array() || !data["links"].is_array() {
        return Err(
            "it is not OpenStack's network_data.json, which has the lists links and networks".to_owned()
        );
    }
    let servers: Vec<Ipv4Addr> = name_servers(&data["services"]);
    let mut arguments = Vec::new();
    for network in list(&data["networks"]) {
        match network["type"].as_str() {
            Some("ipv4") => arguments.push(argument(network, &data["links"], &servers)?),
            // The agent uses DHCP on all interfaces without a fixed address.
            Some("ipv4_dhcp") => {}
            other => {
                let kind = other.unwrap_or("(none)");
                return Err(format!("networks[].type {kind:?}: the agent takes ipv4 and ipv4_dhcp"));
            }
        }
    }
    Ok(arguments)
}

fn argument(network: &Value, links: &Value, servers: &[Ipv4Addr]) -> Result<String, String> {
    let named = network["link"].as_str().ok_or("networks[].link is missing")?;
    let link = list(links).find(|link| link["id"] == named);
    let link = link.ok_or_else(|| format!("networks[].link {named:?} is the id of none of the links"))?;
    if let Some(kind @ ("bond" | "vlan")) = link["type"].as_str() {
        return Err(format!(
            "links[].type {kind:?}: the agent makes neither bonds nor VLANs; name a plain interface for it"
        ));
    }
    let mac = link["ethernet_mac_address"].as_str().unwrap_or_default().to_lowercase();
    let is_mac = mac.len() == 17 && mac.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    if !is_mac {
        return Err(format!("links[].ethernet_mac_address of {named:?} is no MAC address"));
    }
    let (address, bits) = address(network)?;
    let router = list(&network["routes"]).find(|route| is_default(route)).map(|route| &route["gateway"]);
    let router = router.unwrap_or(&network["gateway"]).as_str().unwrap_or_default();
    if !router.is_empty() && router.parse::<Ipv4Addr>().is_err() {
        return Err("the gateway of the default route is no IPv4 address".to_owned());
    }
    let mut text = format!("{ARGUMENT}={mac},{address}/{bits},{router}");
    for server in name_servers(&network["services"]).iter().chain(servers) {
        text += &format!(",{server}");
    }
    Ok(text)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name_servers(services: &Value) -> Vec<Ipv4Addr> {
    let servers = list(services).filter(|service| service["type"] == "dns");
    servers.filter_map(|service| service["address"].as_str()?.parse().ok()).collect()
}

/// Returns address and prefix length of `ip_address` and `netmask`, or of `ip_address` with a slash.
fn address(network: &Value) -> Result<(Ipv4Addr, u32), String> {
    let wrong = || "networks[] of type ipv4 needs ip_address and netmask".to_owned();
    let text = network["ip_address"].as_str().ok_or_else(wrong)?;
    let (address, bits) = match (text.split_once('/'), network["netmask"].as_str()) {
        (Some((address, bits)), _) => (address, bits),
        (None, Some(mask)) => (text, mask),
        (None, None) => return Err(wrong()),
    };
    let mask = |mask: Ipv4Addr| {
        let ones = mask.to_bits().leading_ones();
        (mask.to_bits().count_ones() == ones).then_some(ones)
    };
    let bits = bits.parse::<u32>().ok().or_else(|| mask(bits.parse().ok()?)).filter(|bits| *bits <= 32);
    Ok((address.parse().map_err(|_| wrong())?, bits.ok_or_else(wrong)?))
}

fn is_default(route: &Value) -> bool {
    let zero = "0.0.0.0";
    route["network"] == "0.0.0.0/0"
        || (route["network"] == zero && (route["netmask"] == zero || route["netmask"] == "0"))
}
