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
