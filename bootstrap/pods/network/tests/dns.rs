//! Tests of `pod_network::dns`.

mod message;

use std::net::Ipv4Addr;

use pod_network::dns::{Named, name_servers, resolv_conf, service};

#[test]
fn names_of_services() {
    let named = |name: &str, namespace: &str| {
        Some(Named::Service { namespace: namespace.to_owned(), name: name.to_owned() })
    };
    for (name, expected) in [
        ("hook.capi-system.svc", named("hook", "capi-system")),
        ("Hook.capi-system.SVC.cluster.local.", named("hook", "capi-system")),
        ("hook.capi-system.svc.capi-system.svc.cluster.local", Some(Named::Nothing)),
        ("example.org.cluster.local", Some(Named::Nothing)),
        ("cluster.local", Some(Named::Nothing)),
        (".x.svc", Some(Named::Nothing)),
        ("x.svc", Some(Named::Nothing)),
        ("example.org", None),
        ("notcluster.local", None),
        ("", None),
    ] {
        assert_eq!(service(name), expected, "{name}");
    }
}

#[test]
fn files_of_this_machine() {
    let path = std::env::temp_dir().join(format!("resolv-{}", std::process::id()));
    let text = "# a comment\nnameserver 127.0.0.53\nnameserver\t2001:db8::1\nnameserver nonsense\nsearch example.org lab\n";
    std::fs::write(&path, text).unwrap();
    let servers = name_servers(&path);
    let own = resolv_conf("capi-system", Ipv4Addr::new(198, 19, 0, 2), &path);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(servers, ["127.0.0.53:53".parse().unwrap(), "[2001:db8::1]:53".parse().unwrap()]);
    let expected = "nameserver 198.19.0.2\n\
        search capi-system.svc.cluster.local svc.cluster.local cluster.local example.org lab\noptions ndots:5\n";
    assert_eq!(own, expected);
    assert!(name_servers(&path).is_empty());
}
