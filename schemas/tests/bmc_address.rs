//! Tests of the addresses of BMCs.

use schemas::bmc_address::{BmcAddress, Capability, PrivilegeLevel, Protocol, Scheme};

/// Returns an address in one line: scheme, TLS, host, port, system.
fn summary(text: &str) -> String {
    match BmcAddress::parse(text) {
        Ok(address) => format!(
            "{}{} {} {} {}",
            address.scheme,
            if address.tls { " tls" } else { "" },
            address.host,
            address.port,
            address.system.as_deref().unwrap_or("-"),
        ),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn addresses() {
    for (text, expected) in [
        ("192.168.122.1", "ipmi 192.168.122.1 623 -"),
        ("192.168.122.1:6233", "ipmi 192.168.122.1 6233 -"),
        ("bmc.example.org", "ipmi bmc.example.org 623 -"),
        ("bmc.example.org:6233", "ipmi bmc.example.org 6233 -"),
        ("//bmc-1", "ipmi bmc-1 623 -"),
        ("fe80::1", "ipmi fe80::1 623 -"),
        ("[fe80::1]:624", "ipmi fe80::1 624 -"),
        ("ipmi://192.168.122.1:6233", "ipmi 192.168.122.1 6233 -"),
        ("ipmi://[fe80::fc33:62ff:fe33:8ff]:6223", "ipmi fe80::fc33:62ff:fe33:8ff 6223 -"),
        ("ipmi://BMC.example.org:", "ipmi BMC.example.org 623 -"),
        ("ipmi:192.168.122.1:6233", "ipmi 192.168.122.1 6233 -"),
        ("IPMI://192.168.122.1", "ipmi 192.168.122.1 623 -"),
        ("libvirt://192.168.122.1:6233/", "libvirt 192.168.122.1 6233 -"),
        (
            "redfish://192.168.122.1/redfish/v1/Systems/7",
            "redfish tls 192.168.122.1 443 /redfish/v1/Systems/7",
        ),
        ("redfish:192.168.122.1/foo", "redfish tls 192.168.122.1 443 /foo"),
        ("redfish+http://192.168.122.1:8000/foo/", "redfish 192.168.122.1 8000 /foo"),
        ("redfish+http://192.168.122.1", "redfish 192.168.122.1 80 -"),
        ("redfish+https://[fd00::1]", "redfish tls fd00::1 443 -"),
        ("redfish://192.168.122.1/redfish/v1/", "redfish tls 192.168.122.1 443 -"),
        ("idrac-redfish://a/b", "idrac-redfish tls a 443 /b"),
        ("ilo5-redfish://a/b", "ilo5-redfish tls a 443 /b"),
        ("redfish-virtualmedia://a/b", "redfish-virtualmedia tls a 443 /b"),
        ("idrac-virtualmedia+http://a/b", "idrac-virtualmedia a 80 /b"),
        ("ilo5-virtualmedia://a/b", "ilo5-virtualmedia tls a 443 /b"),
        ("redfish-uefihttp://a/b", "redfish-uefihttp tls a 443 /b"),
    ] {
        assert_eq!(summary(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_an_address() {
    for (text, expected) in [
        ("", "Empty"),
        ("foo://192.168.122.1", "Scheme { scheme: \"foo\" }"),
        ("foo:bar", "Scheme { scheme: \"foo\" }"),
        ("ipmi+http://a", "Scheme { scheme: \"ipmi+http\" }"),
        ("redfish+ftp://a", "Scheme { scheme: \"redfish+ftp\" }"),
        ("idrac://a", "Scheme { scheme: \"idrac\" }"),
        ("https://a/redfish/v1/Systems/1", "Scheme { scheme: \"https\" }"),
        ("ipmi://", "Host"),
        ("ipmi://a_b", "Host"),
        ("ipmi://-a", "Host"),
        ("redfish:///redfish/v1/Systems/1", "Host"),
        ("ipmi://[a]", "Host"),
        ("ipmi://a:0", "Port"),
        ("ipmi://a:65536", "Port"),
        ("ipmi://a:b", "Url(\"invalid port \\\":b\\\" after host\")"),
        ("ipmi://[fe80::1", "Url(\"missing ']' in host\")"),
        ("redfish://a/%zz", "Url(\"invalid URL escape \\\"%zz\\\"\")"),
        ("ipmi://admin:hunter2@a", "Credentials"),
        ("admin:hunter2@a", "Credentials"),
        ("ipmi://a?privilegelevel=ROOT", "PrivilegeLevel"),
    ] {
        assert_eq!(summary(text), expected, "{text}");
    }
}

#[test]
fn privilege_levels() {
    for (text, expected) in [
        ("ipmi://a", PrivilegeLevel::Administrator),
        ("ipmi://a?privilegelevel=OPERATOR", PrivilegeLevel::Operator),
        ("a:623?x=y&privilegelevel=user", PrivilegeLevel::User),
        ("redfish://a?privilegelevel=ROOT", PrivilegeLevel::Administrator),
    ] {
        assert_eq!(BmcAddress::parse(text).map(|address| address.privilege_level), Ok(expected), "{text}");
    }
}

#[test]
fn what_each_scheme_can_do() {
    let flags = |scheme: Scheme| {
        [
            scheme.needs_mac_address(),
            scheme.can(Capability::AttachMedia),
            scheme.can(Capability::BootMedia),
            scheme.can(Capability::BootUrl),
            scheme.can(Capability::SecureBoot),
            scheme.can(Capability::HardwareRaid),
            scheme.protocol() == Protocol::Redfish,
        ]
        .map(|flag| if flag { 'x' } else { '-' })
        .iter()
        .collect::<String>()
    };
    let table: Vec<String> = Scheme::all().map(|scheme| format!("{scheme} {}", flags(scheme))).collect();
    let expected = [
        "ipmi -------",
        "libvirt x------",
        "redfish x---xxx",
        "ilo5-redfish x---xxx",
        "idrac-redfish x---xxx",
        "redfish-virtualmedia -xx-xxx",
        "ilo5-virtualmedia -xx-xxx",
        "idrac-virtualmedia -xx-xxx",
        "redfish-uefihttp xx-xxxx",
    ];
    assert_eq!(table, expected);
}

#[test]
fn services_have_names_for_error_messages() {
    for (text, expected) in [
        ("redfish://10.0.0.7", "https://10.0.0.7:443"),
        ("redfish://[fd00::7]", "https://[fd00::7]:443"),
        ("ipmi://10.0.0.7", "ipmi://10.0.0.7:623"),
        ("redfish+http://bmc.example:8000", "http://bmc.example:8000"),
    ] {
        assert_eq!(BmcAddress::parse(text).unwrap().origin(), expected);
    }
}
