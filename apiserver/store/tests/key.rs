//! Keys and prefixes.

use store::{Key, Prefix};

#[test]
fn parts_come_back() {
    for (group, namespace) in [("", None), ("", Some("default")), ("apps.g.io", Some("a-b"))] {
        let key = Key::new(group, "things", namespace, "one").unwrap();
        assert_eq!(
            (key.group(), key.resource(), key.namespace(), key.name()),
            (group, "things", namespace, "one")
        );
        assert_eq!(Key::parse(key.as_str()).unwrap(), key);
    }
    assert_eq!(Key::new("", "pods", Some("a"), "b").unwrap().as_str(), "/registry/core/pods/a/b");
    assert_eq!(Key::new("", "nodes", None, "b").unwrap().as_str(), "/registry/core/nodes/b");
}

#[test]
fn no_part_can_leave_its_place() {
    for bad in ["", ".", "..", "a/b", "/", "a%2fb", "a\nb", "a\0"] {
        assert!(Key::new("g.io", "things", Some("ns"), bad).is_err(), "{bad:?}");
        assert!(Key::new("g.io", "things", Some(bad), "name").is_err(), "{bad:?}");
        assert!(Key::new("g.io", bad, None, "name").is_err(), "{bad:?}");
        assert!(Prefix::namespace("g.io", "things", bad).is_err(), "{bad:?}");
    }
    for bad in ["", "/registry/", "/registry/a/b", "/registry/a/b/c/d/e", "/registry/a//c", "registry/a/b/c"]
    {
        assert!(Key::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn prefixes_cover_whole_segments_only() {
    let key = Key::new("g.io", "things", Some("ns"), "name").unwrap();
    let longer = Key::new("g.io", "things", Some("ns"), "name-2").unwrap();
    let neighbour = Key::new("g.io", "things", Some("ns2"), "name").unwrap();
    assert!(Prefix::object(&key).covers(&key) && !Prefix::object(&key).covers(&longer));
    let namespace = Prefix::namespace("g.io", "things", "ns").unwrap();
    assert!(namespace.covers(&key) && namespace.covers(&longer) && !namespace.covers(&neighbour));
    assert!(Prefix::resource("g.io", "things").unwrap().covers(&neighbour));
    assert!(!Prefix::resource("g.io", "thing").unwrap().covers(&neighbour));
    let covering: Vec<&str> = key.covering().collect();
    assert_eq!(
        covering,
        [
            "/registry/",
            "/registry/g.io/",
            "/registry/g.io/things/",
            "/registry/g.io/things/ns/",
            "/registry/g.io/things/ns/name"
        ]
    );
}
