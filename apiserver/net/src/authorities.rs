//! The certificate authorities that this machine trusts: those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`.

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::{ClientConfig, RootCertStore};

/// Returns the authorities of this machine, and, for a message if there are none, where they were looked for.
pub fn machine() -> (RootCertStore, String) {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    let set = |name| std::env::var_os(name).map(|value| format!("{name}={}", value.to_string_lossy()));
    let named: Vec<String> = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(set).collect();
    let first = found.errors.first().map(ToString::to_string);
    let why = match (first, named.is_empty()) {
        (Some(error), true) => error,
        (Some(error), false) => format!("{} ({error})", named.join(" ")),
        (None, false) => format!("{} has no certificates", named.join(" ")),
        (None, true) => {
            "install the system's package of them, such as ca-certificates, or name a file with SSL_CERT_FILE"
                .to_owned()
        }
    };
    (roots, why)
}

/// Returns the TLS configuration for connections to proxies. The authorities of this machine are read once; while the machine has no authority,
/// they are read at each call.
///
/// # Errors
/// Why no certificate can be trusted.
pub(crate) fn of_proxies() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let (authorities, why) = machine();
    if authorities.is_empty() {
        return Err(why);
    }
    let mut config = client_config(authorities).map_err(|error| error.to_string())?;
    // A resumed session would not verify the proxy's certificate, which may have expired.
    config.resumption = Resumption::disabled();
    Ok(CONFIG.get_or_init(|| Arc::new(config)).clone())
}

/// Returns the configuration of a TLS client that trusts these authorities.
///
/// # Errors
/// Never, with the cryptography that is built in.
pub fn client_config(authorities: RootCertStore) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(authorities).with_no_client_auth())
}
