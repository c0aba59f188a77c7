//! How a host's user data reach its machine: by one way for each host, and once. Pure.
//!
//! The drive is written by the machine's agent, which has shown the one-time token of its start and is identified by its certificate.
//! Requests of an installed system over HTTP are bound to the leased address of the machine and, where the drive can contain the URL,
//! also to a one-time token in the URL. A live image, and an image whose boot loader has the URL, are the same for all machines and
//! cannot contain a token.

use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

/// Annotation on a BareMetalHost: how its user data reach its machine (`url`, `http`, or the drive).
pub const USER_DATA: &str = "netboot.firstlight.dev/user-data";

/// The way by which user data reach a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// On the configuration drive.
    Drive,
    /// From a URL with a one-time token. The URL is on the configuration drive; the user data are on no disk.
    Url,
    /// From a URL that is the same for all machines.
    Http,
}

impl Channel {
    /// Returns the channel of the host. A live image has no configuration drive, so it always uses HTTP.
    pub fn of(host: &BareMetalHost) -> Self {
        let image = host.spec.image.as_ref();
        if image.is_some_and(|image| image.format.as_deref() == Some("live-iso")) {
            return Self::Http;
        }
        match engine::object::annotation(host, USER_DATA) {
            Some("url") => Self::Url,
            Some("http") => Self::Http,
            _ => Self::Drive,
        }
    }

    /// Returns the content of the configuration drive for `user_data`, which is served at `url`; `None` if the drive has none.
    pub fn on_drive(self, user_data: String, url: &str) -> Option<String> {
        match self {
            Self::Drive => Some(user_data),
            Self::Url => Some(reference(&user_data, url)),
            Self::Http => None,
        }
    }
}

/// Returns a document that makes cloud-init or Ignition fetch the user data once.
fn reference(user_data: &str, url: &str) -> String {
    let document = serde_json::from_str::<Value>(user_data).unwrap_or_default();
    match &document["ignition"]["version"] {
        Value::String(version) => {
            json!({ "ignition": { "version": version, "config": { "replace": { "source": url } } } })
                .to_string()
        }
        _ => format!("#include-once\n{url}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
