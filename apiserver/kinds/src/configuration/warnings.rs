//! Warnings about TLS Secrets whose certificate or key cannot be used.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::fields::text;

/// Returns a warning about a TLS Secret whose data has no PEM certificate or key. Such Secrets are valid.
pub(crate) fn tls(object: &Value) -> Option<String> {
    if text(object, "type") != "kubernetes.io/tls" {
        return None;
    }
    let part = |name: &str| {
        let bytes = STANDARD.decode(text(&object["data"], name)).unwrap_or_default();
        pem_labels(&String::from_utf8_lossy(&bytes))
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

/// Returns the labels of the well-formed PEM blocks of a text.
fn pem_labels(pem: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut rest = pem;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, body)) = after.split_once("-----") else { break };
        let end = format!("-----END {label}-----");
        match body.split_once(&end) {
            Some((body, behind)) => {
                let body: String = body.split_ascii_whitespace().collect();
                if STANDARD.decode(body).is_ok() {
                    labels.push(label.to_owned());
                }
                rest = behind;
            }
            None => rest = body,
        }
    }
    labels
}
