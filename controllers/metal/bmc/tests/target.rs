//! Tests of `target`.

use bmc::target::Target;

#[test]
fn origins() {
    let plain = Target { tls: false, port: 8000, ..Target::redfish("bmc.example") };
    for (target, expected) in [
        (Target::redfish("10.0.0.7"), "https://10.0.0.7:443"),
        (Target::redfish("fd00::7"), "https://[fd00::7]:443"),
        (Target::ipmi("10.0.0.7"), "ipmi://10.0.0.7:623"),
        (plain, "http://bmc.example:8000"),
    ] {
        assert_eq!(target.origin(), expected);
    }
}
