//! The names in a certificate request.

use std::fmt;

use rcgen::SanType;
use rcgen::string::Ia5String;
use x509_parser::certification_request::X509CertificationRequestInfo;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::oid_registry::OID_X509_EXT_SUBJECT_ALT_NAME;
use x509_parser::x509::{AttributeTypeAndValue, X509Name};

use super::failed;
use crate::Error;
use crate::inspect::address;

/// A kind of alternative names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// The names of hosts.
    Dns,
    /// E-mail addresses.
    Email,
    /// IP addresses.
    Ip,
    /// URIs.
    Uri,
}

impl fmt::Display for NameKind {
    /// In the words of Kubernetes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dns => "DNS",
            Self::Email => "Email",
            Self::Ip => "IP",
            Self::Uri => "URI",
        })
    }
}

impl NameKind {
    /// Returns whether a name is of this kind.
    pub(super) fn is_of(self, name: &SanType) -> bool {
        match self {
            Self::Dns => matches!(name, SanType::DnsName(_)),
            Self::Email => matches!(name, SanType::Rfc822Name(_)),
            Self::Ip => matches!(name, SanType::IpAddress(_)),
            Self::Uri => matches!(name, SanType::URI(_)),
        }
    }
}

/// Returns the values of attributes of a subject.
///
/// Other kinds of text than UTF-8 and parts of it are refused: programs read them differently, and one of them could see another user or
/// group than the signer has checked.
pub(super) fn texts<'s, 'd: 's>(
    attributes: impl Iterator<Item = &'s AttributeTypeAndValue<'d>>,
) -> Result<Vec<String>, Error> {
    let refused = |_| failed("a subject with this kind of text is not supported");
    attributes.map(|attribute| attribute.as_str().map(str::to_owned).map_err(refused)).collect()
}

/// Returns the common name of a subject; empty if it has none.
///
/// With several of them, some programs take the first one for the user, and others the last one.
pub(super) fn common(subject: &X509Name<'_>) -> Result<String, Error> {
    let mut names = texts(subject.iter_common_name())?;
    let name = names.pop().unwrap_or_default();
    if names.is_empty() {
        return Ok(name);
    }
    Err(failed("a subject with several common names is not supported"))
}

/// Returns the alternative names for which a request asks. As in Kubernetes, names of other kinds are left out.
pub(super) fn alternative(request: &X509CertificationRequestInfo<'_>) -> Result<Vec<SanType>, Error> {
    let mut names = None;
    for attribute in request.attributes() {
        let ParsedCriAttribute::ExtensionRequest(asked) = attribute.parsed_attribute() else { continue };
        for extension in &asked.extensions {
            if extension.oid != OID_X509_EXT_SUBJECT_ALT_NAME {
                continue;
            }
            let ParsedExtension::SubjectAlternativeName(found) = extension.parsed_extension() else {
                return Err(failed("the alternative names are damaged"));
            };
            if names.replace(found).is_some() {
                return Err(failed("the alternative names are there twice"));
            }
        }
    }
    let names = names.into_iter().flat_map(|found| &found.general_names);
    names.filter_map(|name| alternative_name(name).transpose()).collect()
}

fn alternative_name(name: &GeneralName<'_>) -> Result<Option<SanType>, Error> {
    let text = |text: &str| {
        Ia5String::try_from(text).map_err(|_| failed("an alternative name has other characters than ASCII"))
    };
    Ok(Some(match name {
        GeneralName::DNSName(name) => SanType::DnsName(text(name)?),
        GeneralName::RFC822Name(name) => SanType::Rfc822Name(text(name)?),
        GeneralName::URI(name) => SanType::URI(text(name)?),
        GeneralName::IPAddress(bytes) => {
            SanType::IpAddress(address(bytes).ok_or_else(|| failed("an IP address is damaged"))?)
        }
        GeneralName::Invalid(..) => return Err(failed("an alternative name is damaged")),
        _ => return Ok(None),
    }))
}
