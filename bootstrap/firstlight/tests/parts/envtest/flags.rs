//! Flags as envtest gives them.

use anyhow::Result;
use firstlight::envtest::flags::Flags;

fn parse(text: &str) -> Result<Flags> {
    Flags::parse(text.split_whitespace().map(str::to_owned))
}

#[test]
fn forms_of_flags() {
    let flags = parse(
        "--secure-port=1234 --bind-address 127.0.0.1 --cert_dir=/c -h --allow-privileged --mode=A,B --mode C",
    );
    let flags = flags.unwrap();
    assert_eq!(flags.value("secure-port"), Some("1234"));
    assert_eq!(flags.value("bind-address"), Some("127.0.0.1"));
    assert_eq!(flags.value("cert-dir"), Some("/c"));
    assert_eq!(flags.list("mode"), ["A", "B", "C"]);
    assert_eq!(flags.value("mode"), Some("C"));
    assert!(flags.is_on("h") && flags.is_on("allow-privileged") && !flags.is_on("help"));
    assert_eq!(flags.list("none"), [""; 0]);
    assert!(parse("stray").is_err());
}
