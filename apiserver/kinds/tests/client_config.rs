//! URLs of webhooks.

use std::time::Duration;

use kinds::definition::WebhookClientConfig;
use serde_json::json;

#[test]
fn urls() {
    for (config, wanted) in [
        (json!({"url": "https://127.0.0.1:9443"}), "https://127.0.0.1:9443/?timeout=30s"),
        (json!({"url": "https://host/convert"}), "https://host/convert?timeout=30s"),
        (json!({"url": "https://host:1//a/./b/../c/"}), "https://host:1/a/c?timeout=30s"),
        (
            json!({"service": {"namespace": "ns", "name": "svc", "path": "/convert"}}),
            "https://svc.ns.svc:443/convert?timeout=30s",
        ),
        (
            json!({"service": {"namespace": "ns", "name": "svc", "port": 9443}}),
            "https://svc.ns.svc:9443/?timeout=30s",
        ),
    ] {
        let config = WebhookClientConfig::parse(&config).unwrap();
        assert_eq!(config.url(Duration::from_secs(30)), wanted);
    }
    assert_eq!(WebhookClientConfig::parse(&json!({})), None);
    let config = WebhookClientConfig::parse(&json!({"url": "https://host"})).unwrap();
    assert_eq!(config.url(Duration::from_millis(90_001)), "https://host/?timeout=1m31s");
}
