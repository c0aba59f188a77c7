//! Tests of `reach`.

use std::io;
use std::net::IpAddr;

use bmc::reach::{refusal, resolve};

#[test]
fn where_controllers_may_be() {
    let here = ["192.0.2.1:8000".parse().unwrap()];
    let is_own = |ip: IpAddr| ["192.0.2.1", "2001:db8::1"].contains(&ip.to_string().as_str());
    for (address, expected) in [
        ("192.0.2.7:443", None),
        ("10.0.0.1:623", None),
        ("[2001:db8::7]:443", None),
        ("192.0.2.1:8000", None),
        ("[::ffff:192.0.2.1]:8000", None),
        ("192.0.2.1:6443", Some("--bmc-on-this-machine 192.0.2.1:6443")),
        ("[2001:db8::1]:8000", Some("--bmc-on-this-machine [2001:db8::1]:8000")),
        ("127.0.0.1:443", Some("127.0.0.1 is a loopback address")),
        ("127.8.9.1:443", Some("loopback")),
        ("0.0.0.0:443", Some("loopback")),
        ("0.1.2.3:443", Some("loopback")),
        ("169.254.169.254:80", Some("link-local")),
        ("224.0.0.1:80", Some("multicast")),
        ("255.255.255.255:623", Some("broadcast")),
        ("[::1]:443", Some("loopback")),
        ("[::]:443", Some("loopback")),
        ("[::ffff:127.0.0.1]:443", Some("loopback")),
        ("[::127.0.0.1]:443", Some("loopback")),
        ("[64:ff9b::a9fe:a9fe]:80", Some("link-local")),
        ("[fe80::1]:443", Some("link-local")),
        ("[ff02::1]:443", Some("multicast")),
    ] {
        let found = refusal(address.parse().unwrap(), &here, is_own);
        match expected {
            None => assert_eq!(found, None, "{address}"),
            Some(text) => {
                assert!(found.as_ref().is_some_and(|found| found.contains(text)), "{address}: {found:?}")
            }
        }
    }
}

#[tokio::test]
async fn names_are_judged_by_what_they_lead_to() {
    for host in ["localhost", "127.1", "0x7f000001", "2130706433"] {
        let error = resolve(host, 443, &[]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{host}: {error}");
    }
    assert_eq!(resolve("192.0.2.7", 443, &[]).await.unwrap(), ["192.0.2.7:443".parse().unwrap()]);
}
