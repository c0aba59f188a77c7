//! Tests of `metadata::channel`.

use metal_provisioning::metadata::channel::{Channel, USER_DATA};
use schemas::metal3::BareMetalHost;
use serde_json::json;

#[test]
fn each_host_has_one_way() {
    let host = |annotation: Option<&str>, format: &str| -> BareMetalHost {
        let annotations = annotation.map(|value| json!({ USER_DATA: value }));
        serde_json::from_value(json!({
            "metadata": { "name": "a", "annotations": annotations },
            "spec": { "online": true, "image": { "url": "http://images/a", "format": format } },
        }))
        .unwrap()
    };
    for (annotation, format, expected) in [
        (None, "raw", Channel::Drive),
        (Some("drive"), "raw", Channel::Drive),
        (Some("url"), "raw", Channel::Url),
        (Some("http"), "raw", Channel::Http),
        (Some("url"), "live-iso", Channel::Http),
    ] {
        assert_eq!(Channel::of(&host(annotation, format)), expected, "{annotation:?} {format}");
    }
}

#[test]
fn what_stands_on_the_drive() {
    let url = "http://10.0.0.1:8080/metadata/0123/nocloud/user-data";
    let ignition = r#"{"ignition":{"version":"3.4.0"},"passwd":{}}"#;
    let replace =
        format!(r#"{{"ignition":{{"config":{{"replace":{{"source":"{url}"}}}},"version":"3.4.0"}}}}"#);
    for (channel, user_data, expected) in [
        (Channel::Drive, "#cloud-config\n", Some("#cloud-config\n".to_owned())),
        (Channel::Url, "#cloud-config\n", Some(format!("#include-once\n{url}\n"))),
        (Channel::Url, ignition, Some(replace)),
        (Channel::Http, "#cloud-config\n", None),
    ] {
        assert_eq!(channel.on_drive(user_data.into(), url), expected, "{channel:?} {user_data}");
    }
}
