//! Tests of `server::netboot::options`.

use server::netboot::options::{NetbootOptions, bmc_here, kernel_arguments, prefix_v6};

#[test]
fn arguments_of_the_kernel_are_one_line_that_ipxe_hands_on() {
    for right in ["console=ttyS1,115200 x=\"a b\"", "", "-- single"] {
        assert_eq!(kernel_arguments(right).as_deref(), Ok(right));
    }
    for (wrong, sign) in [("a\nboot", "'\\n'"), ("ä", "'ä'"), ("a || b", "||"), ("a=${net0/ip}", "${")] {
        assert!(kernel_arguments(wrong).unwrap_err().contains(sign), "{wrong}");
    }
}

#[test]
fn bmcs_of_this_machine_are_at_no_address_of_the_server() {
    for text in ["127.0.0.1:8000", "[::1]:8000", "169.254.0.1:623", "[fe80::1]:623", "192.0.2.1", "host:1"] {
        assert!(bmc_here(text).is_err(), "{text}");
    }
    let options = NetbootOptions {
        bmcs_here: vec![bmc_here("192.0.2.1:8000").unwrap()],
        interfaces: vec!["eth1".to_owned()],
        http_port: 8080,
        https_port: 8443,
        ..NetbootOptions::default()
    };
    assert!(options.refuse_own_ports(Some(6443)).is_ok());
    let error = options.refuse_own_ports(Some(8000)).unwrap_err().to_string();
    assert!(error.contains("192.0.2.1:8000"), "{error}");
    let boots = NetbootOptions { http_port: 8000, ..options };
    assert!(boots.refuse_own_ports(None).is_err());
    assert!(NetbootOptions { interfaces: Vec::new(), ..boots }.refuse_own_ports(None).is_ok());
}

#[test]
fn the_same_services_elsewhere() {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        netboot: NetbootOptions,
    }
    let read = |arguments: &[String]| {
        let name = std::iter::once("firstlight".to_owned());
        <Command as clap::Parser>::try_parse_from(name.chain(arguments.iter().cloned())).unwrap().netboot
    };
    let given = "--netboot-interface=eth1 --netboot-address=10.0.0.1/24 --netboot-dhcp=reservations --netboot-known-only \
         --netboot-subnet=10.0.0.0/24,router=10.0.0.254,dns=10.0.0.1,pool=10.0.0.100-10.0.0.199 --netboot-https-port=9443";
    let given: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
    let arguments = read(&given).arguments();
    assert_eq!(arguments[0], "--netboot-interface=10.0.0.0/24");
    assert_eq!(read(&arguments).arguments(), arguments);
    for wanted in &given[1..] {
        assert!(arguments.contains(wanted), "{wanted}: {arguments:?}");
    }
}

#[test]
fn networks_of_ipv6() {
    for (text, expected) in [
        ("fd00:1::/64", Some("fd00:1::")),
        ("fd00:1::/56", None),
        ("fd00:1::1/64", None),
        ("fd00:1::", None),
        ("10.0.0.0/64", None),
    ] {
        assert_eq!(prefix_v6(text).ok(), expected.map(|text| text.parse().unwrap()), "{text}");
    }
}
