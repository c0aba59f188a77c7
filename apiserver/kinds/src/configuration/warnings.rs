//! Warnings about TLS Secrets whose certificate or key cannot be used.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::certificates::pem;
use crate::fields::text;

/// Returns a warning about a TLS Secret whose data has no PEM certificate or key. Such Secrets are valid.
pub(crate) fn tls(object: &Value) -> Option<String> {
    if text(object, "type") != "kubernetes.io/tls" {
        return None;
    }
    let part = |name: &str| {
        let bytes = STANDARD.decode(text(&object["data"], name)).unwrap_or_default();
        let blocks = pem::blocks(&String::from_utf8_lossy(&bytes)).into_iter();
        blocks.map(|block| block.label).collect::<Vec<String>>()
    };
    let (certificate, key) = (part("tls.crt"), part("tls.key"));
    let shown = |labels: &[String]| labels.join(" ");
    if !certificate.iter().any(|label| label == "CERTIFICATE") {
        return Some(match certificate.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with("PRIVATE KEY") => {
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; \
                 PEM inputs may have been switched"
                    .to_owned()
            }
            labels => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks \
                 of the following types: [{}]",
                shown(labels)
            ),
        });
    }
    if key.iter().any(|label| label.ends_with("PRIVATE KEY")) {
        return None;
    }
    Some(match key.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [one] if one == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        labels => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [{}]",
            shown(labels)
        ),
    })
}
