//! Where the webhook of a conversion can be.

use apiextensions::crd::validate;
use serde_json::json;

#[test]
fn where_a_webhook_can_be() {
    let url = |url: &str| json!({"url": url});
    let service = |port: i64, path: &str| json!({"service": {"namespace": "ns", "name": "svc", "port": port, "path": path}});
    let cases = [
        (url("https://host:9443/convert"), ""),
        (url("https://me@host/"), "Invalid value: \"me\": user information is not permitted in the URL"),
        (url("https://host/#a"), "Invalid value: \"a\": fragments are not permitted in the URL"),
        (url("https://host/?a=b"), "Invalid value: \"a=b\": query parameters are not permitted in the URL"),
        (
            url("http://host/"),
            "Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (service(443, "/a/b/"), ""),
        (service(0, ""), "Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"),
        (service(1, "//"), "Invalid value: \"//\": segment[0] may not be empty"),
        (service(1, "/a//b"), "Invalid value: \"/a//b\": segment[1] may not be empty"),
        (service(1, "xa"), "Invalid value: \"xa\": must start with a '/'"),
    ];
    for (client, wanted) in cases {
        let conversion = json!({"strategy": "Webhook", "webhook": {
            "clientConfig": client, "conversionReviewVersions": ["v1"]}});
        let errors = validate(&json!({"spec": {"conversion": conversion}}));
        let of_conversion = errors.iter().filter(|error| error.field.starts_with("spec.conversion"));
        let found: Vec<String> = of_conversion.map(|error| error.body()).collect();
        assert_eq!(found.join("; "), wanted, "{client}");
    }
}
