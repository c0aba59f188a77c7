//! Platforms of images.

use bundle::{Platform, Platforms};

#[test]
fn platforms_are_compared_as_containerd_does() {
    let one = |text: &str| {
        let mut parts = text.split('/').map(str::to_owned);
        Platform { os: parts.next().unwrap(), architecture: parts.next().unwrap(), variant: parts.next() }
    };
    for (wanted, found, expected) in [
        ("linux/arm64", "linux/arm64/v8", true),
        ("linux/arm/v7", "linux/arm/v6", false),
        ("linux/amd64", "linux/arm64", false),
        ("linux/amd64", "windows/amd64", false),
        ("all", "windows/amd64", true),
    ] {
        assert_eq!(wanted.parse::<Platforms>().unwrap().has(&one(found)), expected, "{wanted} {found}");
    }
    for wrong in ["", "amd64", "linux/", "a/b/c/d"] {
        assert!(wrong.parse::<Platforms>().is_err(), "{wrong}");
    }
}
