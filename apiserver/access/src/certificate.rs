//! The identity in a verified TLS client certificate.

use x509_parser::prelude::{FromDer, X509Certificate};

use kinds::user::User;

/// Returns the user of a verified client certificate: the common name is the user's name, each organization a
/// group. `None` if the certificate cannot be parsed or has no common name.
pub fn user(der: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Some(User::new(name, groups))
}
