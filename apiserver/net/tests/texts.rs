//! No text has credentials.

use net::{Proxies, Proxy};

#[test]
fn credentials_are_in_no_text() {
    let url = "http://user:s%65cret@proxy.test:3128";
    let proxy = Proxy::parse(url).unwrap();
    let proxies = Proxies::fixed("proxy-url", url);
    for text in [format!("{proxy}"), format!("{proxy:?}"), format!("{proxies:?}")] {
        assert!(!text.contains("user") && !text.contains("cret"), "{text}");
    }
}
