//! Tables over the rendering of metadata and network data.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use std::sync::Arc;

use metal_machines::data::pools::{Addresses, PoolAddress, referenced};
use metal_machines::data::subject::Subject;
use metal_machines::data::{metadata, network_data};
use schemas::FromJson;
use schemas::cluster::Machine;
use schemas::infrastructure::{MetaData, Metal3DataTemplateSpec, Metal3Machine, NetworkData};
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

fn typed<K: FromJson>(value: Value) -> Arc<K> {
    Arc::new(K::from_json(value.to_string().as_bytes()).unwrap())
}

fn subject() -> Subject {
    let metadata = |name: &str| {
        json!({"name": name, "namespace": "ns", "labels": {"rack": format!("rack of {name}")},
            "annotations": {"mac": "52-54-00-AA-00-01", "pool": "annotated", "note": format!("note of {name}")}})
    };
    Subject {
        machine: typed::<Machine>(json!({"metadata": metadata("machine-1")})),
        metal3_machine: typed::<Metal3Machine>(json!({"metadata": metadata("m3m-1")})),
        host: typed::<BareMetalHost>(
            json!({"metadata": metadata("host-1"), "spec": {"bootMACAddress": "52:54:00:00:00:09"},
            "status": {"hardware": {"nics": [
                {"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "10.0.0.7"},
                {"name": "eno1", "mac": "52:54:00:00:00:01", "ip": "fe80::1"},
                {"name": "eno2"},
            ]}}}),
        ),
    }
}

fn addresses() -> Addresses {
    let address = |address: &str, prefix: i64, gateway: &str| PoolAddress {
        address: address.into(),
        prefix: Some(prefix),
        gateway: Some(gateway.into()).filter(|gateway: &String| !gateway.is_empty()),
        dns_servers: vec!["10.0.0.53".into(), "fd00::53".into()],
    };
    [
        ("v4", address("10.0.0.9", 23, "10.0.0.1")),
        ("v6", address("fd00::9", 64, "fd00::1")),
        ("annotated", address("10.1.0.9", 32, "")),
        ("odd", PoolAddress { address: "10.2.0.9".into(), ..PoolAddress::default() }),
    ]
    .map(|(name, address)| (name.to_owned(), address))
    .into()
}

fn metadata_of(rules: Value) -> Result<String, String> {
    let rules: MetaData = serde_json::from_value(rules).unwrap();
    let data = metadata::render(&rules, 3, &subject(), &addresses())?;
    let lines: Vec<String> = data.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    Ok(lines.join(" "))
}

const PROVIDER_ID: &str = "providerid=ns/host-1/m3m-1";

#[test]
fn metadata_have_a_value_for_each_rule() {
    let cases = [
        (json!({}), ""),
        (json!({"fromHostInterfaces": [{"key": "a", "interface": "eno1"}]}), "a=52:54:00:00:00:01 "),
        (json!({"fromHostInterfaces": [{"key": "a", "fromBootMAC": true}]}), "a=52:54:00:00:00:09 "),
        (json!({"ipAddressesFromPool": [{"key": "a", "name": "v6"}]}), "a=fd00::9 "),
        (json!({"prefixesFromPool": [{"key": "a", "name": "v4"}]}), "a=23 "),
        (json!({"gatewaysFromPool": [{"key": "a", "name": "v4"}]}), "a=10.0.0.1 "),
        (json!({"gatewaysFromPool": [{"key": "a", "name": "annotated"}]}), "a= "),
        (json!({"dnsServersFromPool": [{"key": "a", "name": "v4"}]}), ""),
        (json!({"indexes": [{"key": "a"}]}), "a=3 "),
        (
            json!({"indexes": [{"key": "a", "offset": 10, "step": 5, "prefix": "n-", "suffix": "-x"}]}),
            "a=n-25-x ",
        ),
        (json!({"indexes": [{"key": "a", "step": 0}]}), "a=3 "),
        (json!({"indexes": [{"key": "a", "step": 2_147_483_647}]}), "a=6442450941 "),
        (json!({"namespaces": [{"key": "a"}]}), "a=ns "),
        (json!({"objectNames": [{"key": "a", "object": "Machine"}]}), "a=machine-1 "),
        (json!({"objectNames": [{"key": "a", "object": "metal3machine"}]}), "a=m3m-1 "),
        (json!({"objectNames": [{"key": "a", "object": "bareMetalHost"}]}), "a=host-1 "),
        (
            json!({"fromLabels": [{"key": "a", "object": "baremetalhost", "label": "rack"}]}),
            "a=rack of host-1 ",
        ),
        (json!({"fromLabels": [{"key": "a", "object": "machine", "label": "none"}]}), "a= "),
        (
            json!({"fromAnnotations": [{"key": "a", "object": "machine", "annotation": "note"}]}),
            "a=note of machine-1 ",
        ),
        (json!({"strings": [{"key": "a", "value": "1"}]}), "a=1 "),
    ];
    for (rules, expected) in cases {
        assert_eq!(metadata_of(rules.clone()), Ok(format!("{expected}{PROVIDER_ID}")), "{rules}");
    }
}

#[test]
fn a_later_rule_replaces_the_value_of_an_earlier_one() {
    let rules = [
        ("fromHostInterfaces", json!({"interface": "eno1"}), "52:54:00:00:00:01"),
        ("ipAddressesFromPool", json!({"name": "v4"}), "10.0.0.9"),
        ("prefixesFromPool", json!({"name": "v4"}), "23"),
        ("gatewaysFromPool", json!({"name": "v4"}), "10.0.0.1"),
        ("indexes", json!({}), "3"),
        ("namespaces", json!({}), "ns"),
        ("objectNames", json!({"object": "machine"}), "machine-1"),
        ("fromLabels", json!({"object": "machine", "label": "rack"}), "rack of machine-1"),
        ("fromAnnotations", json!({"object": "machine", "annotation": "note"}), "note of machine-1"),
        ("strings", json!({"value": "last"}), "last"),
    ];
    let mut all = json!({});
    for (list, mut rule, expected) in rules {
        rule["key"] = "k".into();
        all[list] = json!([rule]);
        assert_eq!(metadata_of(all.clone()), Ok(format!("k={expected} {PROVIDER_ID}")), "{list}");
    }
    assert_eq!(
        metadata_of(json!({"strings": [{"key": "providerid", "value": "mine"}]})),
        Ok(PROVIDER_ID.to_owned())
    );
}

#[test]
fn wrong_rules_of_metadata_are_described() {
    let cases = [
        (
            json!({"fromHostInterfaces": [{"key": "a", "interface": "eno9"}]}),
            "has no interface \"eno9\"; it has eno1 (52:54:00:00:00:01), eno2 (no MAC address)",
        ),
        (json!({"fromHostInterfaces": [{"key": "a", "interface": "eno2"}]}), "has no interface \"eno2\""),
        (
            json!({"ipAddressesFromPool": [{"key": "a", "name": "none"}]}),
            "no address of pool \"none\" is allocated",
        ),
        (
            json!({"objectNames": [{"key": "a", "object": "cluster"}]}),
            "object \"cluster\" is none of machine, metal3machine and baremetalhost",
        ),
    ];
    for (rules, part) in cases {
        let made = metadata_of(rules.clone());
        assert!(made.as_ref().is_err_and(|error| error.contains(part)), "{rules}: {made:?}");
    }
    let mut bare = subject();
    bare.host = typed(json!({"metadata": {"name": "h", "namespace": "ns"}}));
    let rules = |rule: Value| serde_json::from_value(json!({"fromHostInterfaces": [rule]})).unwrap();
    let render = |rule: Value| metadata::render(&rules(rule), 0, &bare, &addresses()).unwrap_err();
    assert!(
        render(json!({"key": "a", "interface": "eno1"}))
            .contains("BareMetalHost ns/h has no hardware details")
    );
    assert!(render(json!({"key": "a", "fromBootMAC": true})).contains("has no spec.bootMACAddress"));
}

fn rendered(rules: Value) -> Result<Value, String> {
    let rules: NetworkData = serde_json::from_value(rules).unwrap();
    network_data::render(&rules, &subject(), &addresses())
}

#[test]
fn links_have_the_form_of_openstack() {
    let mac = json!({"string": "52:54:00:00:00:0a"});
    let cases = [
        (
            json!({"ethernets": [{"type": "phy", "id": "a", "mtu": 1500, "name": "lan", "macAddress": {"fromHostInterface": "eno1"}}]}),
            json!({"type": "phy", "id": "a", "mtu": 1500, "name": "lan", "ethernet_mac_address": "52:54:00:00:00:01"}),
        ),
        (
            json!({"ethernets": [{"type": "phy", "id": "a", "macAddress": {"fromAnnotation": {"object": "machine", "annotation": "mac"}}}]}),
            json!({"type": "phy", "id": "a", "ethernet_mac_address": "52-54-00-AA-00-01"}),
        ),
        (
            json!({"bonds": [{"id": "b", "mtu": 9000, "bondMode": "802.3ad", "bondXmitHashPolicy": "layer3+4", "bondLinks": ["x", "y"],
                "macAddress": mac, "parameters": [{"name": "miimon", "value": 100}, {"name": "primary", "value": "x"}]}]}),
            json!({"type": "bond", "id": "b", "mtu": 9000, "bond_mode": "802.3ad", "bond_xmit_hash_policy": "layer3+4", "bond_links": ["x", "y"],
                "ethernet_mac_address": "52:54:00:00:00:0a", "bond_miimon": 100, "bond_primary": "x"}),
        ),
        (
            json!({"bonds": [{"id": "b", "bondMode": "active-backup", "bondLinks": ["x"]}]}),
            json!({"type": "bond", "id": "b", "bond_mode": "active-backup", "bond_links": ["x"]}),
        ),
        (
            json!({"vlans": [{"id": "v", "mtu": 1500, "name": "lan.7", "vlanID": 7, "vlanLink": "a", "macAddress": mac}]}),
            json!({"type": "vlan", "id": "v", "mtu": 1500, "name": "lan.7", "vlan_id": 7, "vlan_link": "a", "vlan_mac_address": "52:54:00:00:00:0a"}),
        ),
    ];
    for (links, expected) in cases {
        let expected = json!({"links": [expected], "networks": [], "services": []});
        assert_eq!(rendered(json!({"links": links})), Ok(expected), "{links}");
    }
    let all = json!({"ethernets": [{"type": "phy", "id": "e", "macAddress": mac}], "bonds": [{"id": "b", "bondMode": "balance-rr"}],
        "vlans": [{"id": "v", "vlanID": 7, "vlanLink": "e", "macAddress": mac}]});
    let links = rendered(json!({"links": all})).unwrap()["links"].clone();
    let ids: Vec<&str> = links.as_array().unwrap().iter().filter_map(|link| link["id"].as_str()).collect();
    assert_eq!(ids, ["b", "e", "v"]);
}

#[test]
fn networks_have_the_form_of_openstack() {
    let default_v4 = json!([{"network": "0.0.0.0", "prefix": 0, "gateway": {"fromIPPool": "v4"}}]);
    let default_v4_rendered =
        json!([{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1", "services": []}]);
    let route_v6 = json!([{"network": "fd01::", "prefix": 48, "gateway": {"string": "fd00::2"}, "services": {"dns": ["fd00::3"], "dnsFromIPPool": "v6"}}]);
    let route_v6_rendered = json!([{"network": "fd01::", "netmask": "ffff:ffff:ffff::", "gateway": "fd00::2", "services": [
        {"type": "dns", "address": "fd00::3"}, {"type": "dns", "address": "10.0.0.53"}, {"type": "dns", "address": "fd00::53"}]}]);
    let cases = [
        (
            json!({"ipv4": [{"id": "n", "link": "a", "ipAddressFromIPPool": "v4", "routes": default_v4}]}),
            json!({"type": "ipv4", "id": "n", "link": "a", "ip_address": "10.0.0.9", "netmask": "255.255.254.0", "routes": default_v4_rendered}),
        ),
        (
            json!({"ipv4": [{"id": "n", "link": "a", "fromPoolRef": {"name": "v4"}, "ipAddressFromIPPool": "other"}]}),
            json!({"type": "ipv4", "id": "n", "link": "a", "ip_address": "10.0.0.9", "netmask": "255.255.254.0", "routes": []}),
        ),
        (
            json!({"ipv4": [{"id": "n", "link": "a", "fromPoolAnnotation": {"object": "baremetalhost", "annotation": "pool"}}]}),
            json!({"type": "ipv4", "id": "n", "link": "a", "ip_address": "10.1.0.9", "netmask": "255.255.255.255", "routes": []}),
        ),
        (
            json!({"ipv6": [{"id": "n", "link": "a", "ipAddressFromIPPool": "v6", "routes": route_v6}]}),
            json!({"type": "ipv6", "id": "n", "link": "a", "ip_address": "fd00::9", "netmask": "ffff:ffff:ffff:ffff::", "routes": route_v6_rendered}),
        ),
        (
            json!({"ipv4DHCP": [{"id": "n", "link": "a"}]}),
            json!({"type": "ipv4_dhcp", "id": "n", "link": "a", "routes": []}),
        ),
        (
            json!({"ipv6DHCP": [{"id": "n", "link": "a", "routes": route_v6}]}),
            json!({"type": "ipv6_dhcp", "id": "n", "link": "a", "routes": route_v6_rendered}),
        ),
        (
            json!({"ipv6SLAAC": [{"id": "n", "link": "a"}]}),
            json!({"type": "ipv6_slaac", "id": "n", "link": "a", "routes": []}),
        ),
    ];
    for (networks, expected) in cases {
        let expected = json!({"links": [], "networks": [expected], "services": []});
        assert_eq!(rendered(json!({"networks": networks})), Ok(expected), "{networks}");
    }
    let services =
        rendered(json!({"services": {"dns": ["9.9.9.9"], "dnsFromIPPool": "v4"}})).unwrap()["services"]
            .clone();
    let servers: Vec<&str> =
        services.as_array().unwrap().iter().filter_map(|service| service["address"].as_str()).collect();
    assert_eq!(servers, ["9.9.9.9", "10.0.0.53", "fd00::53"]);
}

#[test]
fn wrong_rules_of_network_data_are_described() {
    let link = |mac: Value| json!({"links": {"ethernets": [{"type": "phy", "id": "a", "macAddress": mac}]}});
    let v4 = |network: Value| json!({"networks": {"ipv4": [network]}});
    let route =
        |route: Value| json!({"networks": {"ipv4DHCP": [{"id": "n", "link": "a", "routes": [route]}]}});
    let cases = [
        (link(json!({})), "link \"a\" has no macAddress: set string, fromHostInterface or fromAnnotation"),
        (
            link(json!({"string": "52:54"})),
            "link \"a\": macAddress.string is \"52:54\", which is no MAC address",
        ),
        (link(json!({"string": "52:54:00:00:00:zz"})), "which is no MAC address"),
        (
            link(json!({"fromHostInterface": "eno9"})),
            "it has eno1 (52:54:00:00:00:01), eno2 (no MAC address)",
        ),
        (
            link(json!({"fromAnnotation": {"object": "machine", "annotation": "none"}})),
            "annotation none of machine machine-1 is \"\", which is no MAC address",
        ),
        (
            json!({"links": {"bonds": [{"id": "b", "bondMode": "802.3ad", "parameters": [{"name": "mode", "value": 1}]}]}}),
            "has a field of its own for parameter \"mode\"",
        ),
        (
            v4(json!({"id": "n", "link": "a"})),
            "network \"n\" has no pool: set fromPoolRef, fromPoolAnnotation or ipAddressFromIPPool",
        ),
        (
            v4(json!({"id": "n", "link": "a", "ipAddressFromIPPool": "v6"})),
            "network \"n\" is of type ipv4, but pool \"v6\" gave fd00::9",
        ),
        (
            v4(json!({"id": "n", "link": "a", "ipAddressFromIPPool": "odd"})),
            "pool \"odd\" has no prefix between 0 and 32",
        ),
        (
            v4(
                json!({"id": "n", "link": "a", "fromPoolAnnotation": {"object": "machine", "annotation": "none"}}),
            ),
            "machine machine-1 has no annotation none with the name of a pool",
        ),
        (
            route(json!({"network": "10.0.0.0", "prefix": 8, "gateway": {}})),
            "the route to 10.0.0.0 has no gateway",
        ),
        (
            route(json!({"network": "10.0.0.0", "prefix": 8, "gateway": {"fromIPPool": "annotated"}})),
            "pool \"annotated\" has no gateway for the route to 10.0.0.0",
        ),
        (
            route(json!({"network": "10.0.0.0", "prefix": 33, "gateway": {"string": "10.0.0.1"}})),
            "the prefix 33, which is not between 0 and 32",
        ),
    ];
    for (rules, part) in cases {
        let made = rendered(rules.clone());
        assert!(made.as_ref().is_err_and(|error| error.contains(part)), "{rules}: {made:?}");
    }
}

#[test]
fn a_template_refers_to_pools_in_many_places() {
    let template = |value: Value| -> Metal3DataTemplateSpec { serde_json::from_value(value).unwrap() };
    let route = |gateway: Value, dns: &str| json!([{"network": "::", "gateway": gateway, "services": {"dnsFromIPPool": dns}}]);
    let all = template(json!({
        "clusterName": "c",
        "metaData": {"ipAddressesFromPool": [{"key": "k", "name": "a"}], "prefixesFromPool": [{"key": "k", "name": "b"}],
            "gatewaysFromPool": [{"key": "k", "name": "c"}], "dnsServersFromPool": [{"key": "k", "name": "d", "kind": "Other", "apiGroup": "o"}]},
        "networkData": {
            "networks": {
                "ipv4": [{"id": "1", "ipAddressFromIPPool": "e", "routes": route(json!({"fromIPPool": "f"}), "g")}],
                "ipv6": [{"id": "2", "fromPoolRef": {"name": "h"}, "routes": route(json!({"fromPoolRef": {"name": "i"}}), "j")}],
                "ipv4DHCP": [{"id": "3", "routes": route(json!({"string": "10.0.0.1", "fromIPPool": "unused"}), "k")}],
                "ipv6DHCP": [{"id": "4", "routes": route(json!({"fromPoolAnnotation": {"object": "machine", "annotation": "pool"}}), "l")}],
                "ipv6SLAAC": [{"id": "5", "routes": route(json!({"fromIPPool": "m"}), "a")}],
            },
            "services": {"dnsFromIPPool": "n"},
        },
    }));
    let found = referenced(&all, &subject()).unwrap();
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["a", "annotated", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"]);
    assert!(found["a"].is_metal3() && !found["d"].is_metal3());
    let clash = template(json!({"clusterName": "c", "metaData": {"ipAddressesFromPool": [
        {"key": "k", "name": "a"}, {"key": "l", "name": "a", "kind": "Other", "apiGroup": "o"}]}}));
    let error = referenced(&clash, &subject()).unwrap_err();
    assert_eq!(
        error,
        "the template refers to pool \"a\" as IPPool.ipam.metal3.io and as Other.o: pools of two kinds need two names"
    );
}
