//! Tests of `metadata::tree`.

use std::net::IpAddr;

use metal_provisioning::metadata::data::Data;
use metal_provisioning::metadata::tree::{find, without_token};

#[test]
fn every_form_tells_the_same() {
    let data = Data {
        uid: "1234".into(),
        name: "node-1".into(),
        user_data: Some("#cloud-config\n".into()),
        meta_data: serde_json::json!({ "uuid": "1234", "local-hostname": "node-1" })
            .as_object()
            .unwrap()
            .clone(),
        network_data: None,
    };
    let address = IpAddr::from([10, 0, 0, 9]);
    let tell = |path: &str| find(path)?.content(&data, address).map(|(_, text)| text);
    for path in ["/nocloud/user-data", "/2009-04-04/user-data", "/openstack/latest/user_data", "/ignition"] {
        assert_eq!(tell(path).as_deref(), Some("#cloud-config\n"), "{path}");
        assert!(find(path).is_some_and(|item| item.is_secret()), "{path}");
    }
    assert_eq!(
        tell("/2009-04-04/meta-data/").as_deref(),
        Some("hostname\ninstance-id\nlocal-hostname\nlocal-ipv4")
    );
    assert_eq!(tell("/2009-04-04/meta-data/local-ipv4").as_deref(), Some("10.0.0.9"));
    assert_eq!(tell("/2009-04-04/meta-data/secret"), None);
    assert!(tell("/nocloud/meta-data").is_some_and(|text| text.contains("\"instance-id\": \"1234\"")));
    assert_eq!(without_token("/metadata/0123/nocloud/user-data"), (Some("0123"), "/nocloud/user-data"));
    assert_eq!(without_token("/nocloud/user-data"), (None, "/nocloud/user-data"));
    assert_eq!(tell("/nocloud/network-config"), None);
    for path in ["/2021-03-23/meta-data/", "/latest/meta-data", "/nocloud", "/", "/boot/x"] {
        assert_eq!(find(path), None, "{path}");
    }
}
