//! Renders the metadata of a machine.

use std::collections::BTreeMap;

use schemas::infrastructure::MetaData;

use crate::data::pools::{Addresses, address};
use crate::data::subject::Subject;

/// Returns the metadata: texts by key. A later rule replaces the value of an earlier one, in Metal3's order of the rules.
///
/// # Errors
/// What the template asks for and the objects do not have.
pub fn render(
    rules: &MetaData,
    index: i32,
    subject: &Subject,
    addresses: &Addresses,
) -> Result<BTreeMap<String, String>, String> {
    let mut data = BTreeMap::new();
    for rule in &rules.from_host_interfaces {
        data.insert(&rule.key, mac(rule.interface.as_deref(), rule.from_boot_mac, subject)?);
    }
    for rule in &rules.ip_addresses_from_pool {
        data.insert(&rule.key, address(addresses, &rule.name)?.address.clone());
    }
    for rule in &rules.prefixes_from_pool {
        let prefix = address(addresses, &rule.name)?.prefix;
        data.insert(&rule.key, prefix.unwrap_or_default().to_string());
    }
    for rule in &rules.gateways_from_pool {
        data.insert(&rule.key, address(addresses, &rule.name)?.gateway.clone().unwrap_or_default());
    }
    for rule in &rules.indexes {
        // As in Metal3, a step of 0 is one of 1.
        let step = i64::from(rule.step.filter(|step| *step != 0).unwrap_or(1));
        let number = i64::from(rule.offset.unwrap_or_default()) + i64::from(index) * step;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        data.insert(&rule.key, format!("{}{number}{}", text(&rule.prefix), text(&rule.suffix)));
    }
    let namespace = subject.metal3_machine.metadata.namespace.clone().unwrap_or_default();
    for rule in &rules.namespaces {
        data.insert(&rule.key, namespace.clone());
    }
    for rule in &rules.object_names {
        data.insert(&rule.key, subject.name(&rule.object)?.to_owned());
    }
    for rule in &rules.from_labels {
        data.insert(&rule.key, subject.label(&rule.object, &rule.label)?.to_owned());
    }
    for rule in &rules.from_annotations {
        data.insert(&rule.key, subject.annotation(&rule.object, &rule.annotation)?.to_owned());
    }
    for rule in &rules.strings {
        data.insert(&rule.key, rule.value.clone());
    }
    let mut data: BTreeMap<String, String> =
        data.into_iter().map(|(key, value)| (key.clone(), value)).collect();
    let (host, machine) = (subject.name("baremetalhost")?, subject.name("metal3machine")?);
    data.insert("providerid".to_owned(), format!("{namespace}/{host}/{machine}"));
    Ok(data)
}

/// Returns the MAC address of an interface, or the one with which the host boots.
fn mac(interface: Option<&str>, from_boot_mac: Option<bool>, subject: &Subject) -> Result<String, String> {
    if from_boot_mac != Some(true) {
        return subject.mac(interface.unwrap_or_default()).map(str::to_owned);
    }
    let mac = subject.host.spec.boot_mac_address.clone().filter(|mac| !mac.is_empty());
    mac.ok_or_else(|| format!("fromBootMAC: {} has no spec.bootMACAddress", subject.host_name()))
}
