//! Reads what the plan of an ExtensionConfig depends on: the Secret with its authority, and what the extension says of itself.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::NamespacedName;
use engine::object::annotation;
use k8s_openapi::api::core::v1::Secret;
use schemas::runtime::ExtensionConfig;

use super::ExtensionConfigController;
use super::observed::Observed;
use crate::names::{AUTHORITY_KEY, INJECT_AUTHORITY_FROM};

impl ExtensionConfigController {
    pub(super) async fn read(&self, config: Arc<ExtensionConfig>) -> Observed {
        let authority = annotation(config.as_ref(), INJECT_AUTHORITY_FROM).map(|name| self.authority(name));
        let is_set = match &authority {
            None => true,
            Some(wanted) => wanted.as_ref().ok() == config.spec.client_config.ca_bundle.as_ref(),
        };
        let discovered = match is_set {
            true => Some(self.client.discover(&config).await.map_err(|error| error.to_string())),
            false => None,
        };
        Observed { config, authority, discovered }
    }

    fn authority(&self, name: &str) -> Result<String, String> {
        let parsed = NamespacedName::parse(name).ok_or_else(|| {
            format!("the annotation {INJECT_AUTHORITY_FROM} must be namespace/name, not {name:?}")
        })?;
        let secret = self.secret(&parsed).ok_or_else(|| format!("there is no Secret {name}"))?;
        authority_in(&secret).map_err(|why| format!("Secret {name}: {why}"))
    }
}

/// Returns the authority in a Secret, as `caBundle`. It becomes readable for everybody who may read the ExtensionConfig, so it must be certificates and
/// nothing else.
fn authority_in(secret: &Secret) -> Result<String, String> {
    let bundle = secret.data.as_ref().and_then(|data| data.get(AUTHORITY_KEY));
    let bundle = bundle.ok_or_else(|| format!("it has no {AUTHORITY_KEY}"))?;
    let is_certificates = std::str::from_utf8(&bundle.0).is_ok_and(|text| {
        let mut blocks = text.matches("-----BEGIN ");
        let certificates = text.matches("-----BEGIN CERTIFICATE-----").count();
        blocks.by_ref().count() == certificates && pki::certificates(text).is_ok()
    });
    if !is_certificates {
        return Err(format!("{AUTHORITY_KEY} is not certificates in PEM, without anything else"));
    }
    Ok(STANDARD.encode(&bundle.0))
}
