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

/// The first and the last second, since the Unix epoch, in which a certificate, or all of a chain, is valid.
#[derive(Debug, Clone, Copy)]
pub struct Validity {
    from: i64,
    to: i64,
}

impl Validity {
    /// Returns the time in which all certificates of a verified chain, DER, and their authorities are valid. `None` if the chain is empty, or one
    /// of its certificates cannot be parsed.
    pub fn of_chain<'a>(
        chain: impl IntoIterator<Item = &'a [u8]>,
        authorities: &Authorities,
    ) -> Option<Self> {
        let mut all: Option<Self> = None;
        for der in chain {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let issuer = authorities.validity(certificate.issuer().as_raw());
            let others = [all, issuer].into_iter().flatten();
            all = Some(others.fold(Self::of(&certificate), Self::and));
        }
        all
    }

    /// Returns whether this time includes the present.
    pub fn is_now(&self, clock: &Clock) -> bool {
        (self.from..=self.to).contains(&clock.now().timestamp())
    }

    fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self { from: validity.not_before.timestamp(), to: validity.not_after.timestamp() }
    }

    fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

impl Authorities {
    /// Reads the certificates of authorities, PEM. One that cannot be parsed signs nothing.
    ///
    /// # Errors
    /// [`pki::Error::Pem`].
    pub fn from_pem(text: &str) -> Result<Self, pki::Error> {
        let read = |der: &[u8]| {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let subject = certificate.subject().as_raw().to_vec();
            Some(Authority { subject, valid: Validity::of(&certificate) })
        };
        Ok(Self(pki::certificates(text)?.iter().filter_map(|der| read(der)).collect()))
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
        let chain: Vec<&[u8]> = chain.into_iter().collect();
        let (_, own) = X509Certificate::from_der(chain.first()?).ok()?;
        Some(Self { user: user(&own)?, valid: Validity::of_chain(chain, authorities)? })
    }

    /// Returns whether all certificates of the chain are valid now.
    pub fn is_valid(&self, clock: &Clock) -> bool {
        self.valid.is_now(clock)
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
