//! Addresses of baseboard management controllers (BMCs): `BareMetalHost.spec.bmc.address`.
//!
//! The schemes, their defaults and capabilities are those of Metal3's baremetal-operator v0.13.

use std::fmt;
use std::net::IpAddr;

use machinery::names;
use machinery::url;

/// The protocol of a BMC, and how it makes a machine boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// IPMI 2.0.
    Ipmi,
    /// IPMI of a virtual machine (virtualbmc).
    Libvirt,
    /// Redfish, booting over the network.
    Redfish,
    /// Redfish of HPE's iLO 5, booting over the network.
    Ilo5Redfish,
    /// Redfish of Dell's iDRAC, booting over the network.
    IdracRedfish,
    /// Redfish, booting from virtual media.
    RedfishVirtualMedia,
    /// Redfish of HPE's iLO 5, booting from virtual media.
    Ilo5VirtualMedia,
    /// Redfish of Dell's iDRAC, booting from virtual media.
    IdracVirtualMedia,
    /// Redfish, booting from a URL that the firmware fetches.
    RedfishUefiHttp,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 9] = [
        Self::Ipmi,
        Self::Libvirt,
        Self::Redfish,
        Self::Ilo5Redfish,
        Self::IdracRedfish,
        Self::RedfishVirtualMedia,
        Self::Ilo5VirtualMedia,
        Self::IdracVirtualMedia,
        Self::RedfishUefiHttp,
    ];

    /// Returns the scheme's name in an address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ipmi => "ipmi",
            Self::Libvirt => "libvirt",
            Self::Redfish => "redfish",
            Self::Ilo5Redfish => "ilo5-redfish",
            Self::IdracRedfish => "idrac-redfish",
            Self::RedfishVirtualMedia => "redfish-virtualmedia",
            Self::Ilo5VirtualMedia => "ilo5-virtualmedia",
            Self::IdracVirtualMedia => "idrac-virtualmedia",
            Self::RedfishUefiHttp => "redfish-uefihttp",
        }
    }

    /// Returns whether the protocol is Redfish; otherwise it is IPMI.
    pub fn is_redfish(self) -> bool {
        !matches!(self, Self::Ipmi | Self::Libvirt)
    }

    /// Returns whether the host must specify `spec.bootMACAddress`.
    pub fn needs_mac_address(self) -> bool {
        !matches!(
            self,
            Self::Ipmi | Self::RedfishVirtualMedia | Self::Ilo5VirtualMedia | Self::IdracVirtualMedia
        )
    }

    /// Returns whether the machine boots an ISO image that the BMC presents as a drive.
    pub fn boots_virtual_media(self) -> bool {
        matches!(self, Self::RedfishVirtualMedia | Self::Ilo5VirtualMedia | Self::IdracVirtualMedia)
    }

    /// Returns whether an ISO image can be attached to the running machine.
    pub fn supports_iso_images(self) -> bool {
        self.boots_virtual_media() || self == Self::RedfishUefiHttp
    }

    /// Returns whether Secure Boot can be switched on and off.
    pub fn supports_secure_boot(self) -> bool {
        self.is_redfish()
    }

    /// Returns whether volumes of a hardware RAID controller can be created.
    pub fn supports_hardware_raid(self) -> bool {
        self.is_redfish()
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The privilege level of an IPMI session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivilegeLevel {
    /// The lowest level.
    Callback,
    /// Read access.
    User,
    /// Also control of power and boot device.
    Operator,
    /// All operations.
    #[default]
    Administrator,
}

impl PrivilegeLevel {
    /// Returns the value of the address's parameter `privilegelevel`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Callback => "CALLBACK",
            Self::User => "USER",
            Self::Operator => "OPERATOR",
            Self::Administrator => "ADMINISTRATOR",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "CALLBACK" => Some(Self::Callback),
            "USER" => Some(Self::User),
            "OPERATOR" => Some(Self::Operator),
            "ADMINISTRATOR" => Some(Self::Administrator),
            _ => None,
        }
    }
}

/// The parsed address of a BMC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BmcAddress {
    /// Protocol and boot method.
    pub scheme: Scheme,
    /// IP address without brackets, or host name.
    pub host: String,
    /// UDP port of IPMI (default 623), or TCP port of Redfish (default 443, without TLS 80).
    pub port: u16,
    /// Whether Redfish uses TLS; always `false` for IPMI.
    pub tls: bool,
    /// Path of the system in Redfish, such as `/redfish/v1/Systems/1`; `None` for the only system.
    pub system: Option<String>,
    /// The privilege level that an IPMI session requests.
    pub privilege_level: PrivilegeLevel,
}

/// Why a text is not a valid address. The messages never contain a user or a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The address is empty.
    #[error("must be an address such as redfish://192.0.2.7/redfish/v1/Systems/1 or ipmi://192.0.2.7")]
    Empty,
    /// The address is not a URL.
    #[error("must be a URL: {0}")]
    Url(String),
    /// The scheme is unknown.
    #[error(
        "unknown scheme {scheme:?}: use one of {}, each Redfish scheme also with +http or +https",
        known()
    )]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The host is neither a name nor an IP address.
    #[error(
        "the host must be an IP address (IPv6 in brackets) or a name of letters, digits, '-' and '.', \
         such as bmc-7.example.org"
    )]
    Host,
    /// The port is out of range.
    #[error("the port must be between 1 and 65535")]
    Port,
    /// The address contains credentials.
    #[error("must not contain a user or a password: put them into the Secret that credentialsName names")]
    Credentials,
    /// The IPMI privilege level is unknown.
    #[error("privilegelevel must be CALLBACK, USER, OPERATOR or ADMINISTRATOR")]
    PrivilegeLevel,
}

fn known() -> String {
    Scheme::ALL.map(Scheme::name).join(", ")
}

impl BmcAddress {
    /// Parses an address: `scheme://host:port/path?query`. The default scheme is IPMI; `scheme:rest` is read
    /// as `scheme://rest`.
    ///
    /// # Errors
    /// Fails if the text is not a URL, its scheme is unknown, or its host is neither an IP address nor a
    /// name.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        let (scheme_text, rest) = split_scheme(text);
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(AddressError::Credentials);
        }
        let (scheme, tls) = scheme(&scheme_text)?;
        let url = url::parse_request_uri(&format!("{scheme}://{rest}")).map_err(AddressError::Url)?;
        let (host, port) = host_and_port(&url.host)?;
        let default_port = match (scheme.is_redfish(), tls) {
            (false, _) => 623,
            (true, true) => 443,
            (true, false) => 80,
        };
        let path = url.path.trim_end_matches('/');
        let privilege_level = match query_value(&url.query, "privilegelevel") {
            Some(level) if !scheme.is_redfish() => {
                PrivilegeLevel::parse(level).ok_or(AddressError::PrivilegeLevel)?
            }
            _ => PrivilegeLevel::default(),
        };
        Ok(Self {
            scheme,
            host,
            port: port.unwrap_or(default_port),
            tls,
            system: (scheme.is_redfish() && !["", "/redfish/v1"].contains(&path)).then(|| path.to_owned()),
            privilege_level,
        })
    }
}

/// Splits off the scheme, in lower case. `host` and `host:port` have none.
fn split_scheme(text: &str) -> (String, &str) {
    let ipmi = || (Scheme::Ipmi.name().to_owned(), text);
    if text.parse::<IpAddr>().is_ok() {
        return ipmi();
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return (scheme.to_ascii_lowercase(), rest);
    }
    if let Some(rest) = text.strip_prefix("//") {
        return (Scheme::Ipmi.name().to_owned(), rest);
    }
    let Some((before, after)) = text.split_once(':') else { return ipmi() };
    let known = scheme(&before.to_ascii_lowercase()).is_ok();
    let port = after.split(['/', '?']).next().unwrap_or_default();
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let scheme_letter = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let is_scheme =
        before.starts_with(|c: char| c.is_ascii_alphabetic()) && before.chars().all(scheme_letter);
    if known || (is_scheme && !is_port) { (before.to_ascii_lowercase(), after) } else { ipmi() }
}

/// Returns the scheme, and whether it uses TLS.
fn scheme(text: &str) -> Result<(Scheme, bool), AddressError> {
    let (name, transport) = text.split_once('+').map_or((text, None), |(name, after)| (name, Some(after)));
    let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
    match (found, transport) {
        (Some(scheme), None) => Ok((scheme, scheme.is_redfish())),
        (Some(scheme), Some("https")) if scheme.is_redfish() => Ok((scheme, true)),
        (Some(scheme), Some("http")) if scheme.is_redfish() => Ok((scheme, false)),
        _ => Err(AddressError::Scheme { scheme: text.to_owned() }),
    }
}

fn host_and_port(authority: &str) -> Result<(String, Option<u16>), AddressError> {
    if authority.parse::<IpAddr>().is_ok() {
        return Ok((authority.to_owned(), None));
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if host.contains(':') => (host, port.strip_prefix(':')),
        Some(_) => return Err(AddressError::Host),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let is_name = || names::dns1123_subdomain(&host.to_ascii_lowercase()).is_empty();
    if host.parse::<IpAddr>().is_err() && !is_name() {
        return Err(AddressError::Host);
    }
    let port = match port.filter(|port| !port.is_empty()) {
        Some(port) => {
            let number = port.parse::<u16>().ok().filter(|number| *number > 0);
            Some(number.ok_or(AddressError::Port)?)
        }
        None => None,
    };
    Ok((host.to_owned(), port))
}

fn query_value<'a>(query: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}
