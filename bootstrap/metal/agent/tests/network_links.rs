//! Tests of `network::links`.

use agent::testing::{interfaces, read_mac};

#[test]
fn mac_addresses() {
    let mac = Some([0x52, 0x54, 0, 0xab, 2, 3]);
    assert_eq!(read_mac("52:54:00:ab:02:03\n"), mac);
    assert_eq!(read_mac("52-54-00-AB-02-03"), mac);
    for wrong in ["", "52:54:00:ab:02", "52:54:00:ab:02:03:04", "52:54:0:ab:02:03", "52:54:00:ab:02:zz"] {
        assert_eq!(read_mac(wrong), None, "{wrong}");
    }
}

#[test]
fn interfaces_of_hardware_only() {
    let folder = tempfile::tempdir().unwrap();
    let add = |name: &str, kind: &str, hardware: bool| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("type"), kind).unwrap();
        std::fs::write(path.join("ifindex"), "2\n").unwrap();
        std::fs::write(path.join("address"), "52:54:00:00:00:01\n").unwrap();
        if hardware {
            std::fs::create_dir(path.join("device")).unwrap();
        }
    };
    add("eth0", "1\n", true);
    add("dummy0", "1\n", false);
    add("ib0", "32\n", true);
    let names: Vec<String> = interfaces(folder.path()).into_iter().map(|link| link.name).collect();
    assert_eq!(names, ["eth0"]);
}
