//! The identity in a verified TLS client certificate, and the time in which it counts.

use machinery::clock::Clock;
use x509_parser::prelude::{FromDer, X509Certificate};

use kinds::user::User;

/// A client certificate, which TLS has verified when the session began. A connection and a session that is resumed last longer than a
/// certificate can be valid, so each request asks again ([`ClientCertificate::is_valid`]).
#[derive(Debug, Clone)]
pub struct ClientCertificate {
    /// The user: the common name is its name, each organization a group.
    pub user: User,
    valid: Validity,
}

/// Extension of a request over a connection with a client certificate that is not valid at the time of the request. Such a request is
/// authenticated by a token, or refused; it is not anonymous.
#[derive(Debug, Clone, Copy)]
pub struct InvalidCertificate;

/// The authorities that sign client certificates. A certificate does not count longer than that of its authority.
#[derive(Debug, Clone, Default)]
pub struct Authorities(Vec<Authority>);

#[derive(Debug, Clone)]
struct Authority {
    /// The distinguished name, DER.
    subject: Vec<u8>,
    valid: Validity,
}

/// The first and the last second, since the Unix epoch, in which a certificate is valid.
#[derive(Debug, Clone, Copy)]
struct Validity {
    from: i64,
    to: i64,
}

impl Validity {
    fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self { from: validity.not_before.timestamp(), to: validity.not_after.timestamp() }
    }

    fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

impl Authorities {
    /// Reads the certificates of authorities, DER. What cannot be read signs nothing.
    pub fn new<'a>(certificates: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let read = |der: &'a [u8]| {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let subject = certificate.subject().as_raw().to_vec();
            Some(Authority { subject, valid: Validity::of(&certificate) })
        };
        Self(certificates.into_iter().filter_map(read).collect())
    }

    /// Returns the time in which the authority called `issuer` is valid. Of several with this name, it is the one that is valid longest:
    /// an authority that was renewed has signed with either certificate.
    fn validity(&self, issuer: &[u8]) -> Option<Validity> {
        let named = self.0.iter().filter(|authority| authority.subject == issuer);
        named.map(|authority| authority.valid).max_by_key(|valid| valid.to)
    }
}

impl ClientCertificate {
    /// Reads a verified chain, DER: the client's own certificate, followed by those of intermediate authorities. `None` if it cannot be
    /// parsed, or has no common name.
    pub fn read<'a>(chain: impl IntoIterator<Item = &'a [u8]>, authorities: &Authorities) -> Option<Self> {
        let mut read: Option<Self> = None;
        for der in chain {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let issuer = authorities.validity(certificate.issuer().as_raw());
            let valid = issuer.into_iter().fold(Validity::of(&certificate), Validity::and);
            read = match read {
                None => Some(Self { user: user(&certificate)?, valid }),
                Some(read) => Some(Self { valid: read.valid.and(valid), ..read }),
            };
        }
        read
    }

    /// Returns whether all certificates of the chain are valid now.
    pub fn is_valid(&self, clock: &Clock) -> bool {
        let now = clock.now().timestamp();
        self.valid.from <= now && now <= self.valid.to
    }
}

fn user(certificate: &X509Certificate<'_>) -> Option<User> {
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    if name.is_empty() {
        return None;
    }
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Some(User::new(name, groups))
}
