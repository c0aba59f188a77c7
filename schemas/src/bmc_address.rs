//! Addresses of baseboard management controllers (BMCs): `BareMetalHost.spec.bmc.address`.
//!
//! The schemes, their defaults and capabilities are those of Metal3's baremetal-operator v0.13.

use std::fmt;
use std::net::IpAddr;

use machinery::names;
use machinery::url;

/// A protocol that BMCs speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// IPMI 2.0 over UDP (RMCP+).
    Ipmi,
    /// Redfish over HTTP.
    Redfish,
}

/// What an address of a protocol contains.
struct Form {
    /// The name of the protocol in error messages, with and without TLS.
    names: (&'static str, &'static str),
    /// The default port without TLS.
    port: u16,
    /// The default port with TLS, which is used unless the address says otherwise; `None` if the protocol has no TLS.
    tls_port: Option<u16>,
    /// Whether the address has the path of a system.
    has_system: bool,
    /// Whether the address has the privilege level of sessions.
    has_privilege_level: bool,
}

impl Protocol {
    const fn form(self) -> Form {
        match self {
            Self::Ipmi => Form {
                names: ("ipmi", "ipmi"),
                port: 623,
                tls_port: None,
                has_system: false,
                has_privilege_level: true,
            },
            Self::Redfish => Form {
                names: ("https", "http"),
                port: 80,
                tls_port: Some(443),
                has_system: true,
                has_privilege_level: false,
            },
        }
    }
}

/// What can be done through a BMC besides power and the boot device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// An ISO image can be attached to the running machine.
    AttachMedia,
    /// The machine boots such an image, which the BMC presents as a drive, instead of the network.
    BootMedia,
    /// The machine boots from a URL that its firmware fetches, instead of PXE.
    BootUrl,
    /// Secure Boot can be switched on and off.
    SecureBoot,
    /// Volumes of a hardware RAID controller can be created.
    HardwareRaid,
}

use Capability::{AttachMedia, BootMedia, BootUrl, HardwareRaid, SecureBoot};

/// The scheme of an address: the protocol of a BMC, and how it makes a machine boot.
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

/// What a scheme stands for.
struct Row {
    scheme: Scheme,
    name: &'static str,
    protocol: Protocol,
    /// Whether the host must specify `spec.bootMACAddress`.
    needs_mac_address: bool,
    capabilities: &'static [Capability],
}

/// What Redfish can do, however the machine boots.
const REDFISH: &[Capability] = &[SecureBoot, HardwareRaid];
const REDFISH_MEDIA: &[Capability] = &[AttachMedia, BootMedia, SecureBoot, HardwareRaid];
const REDFISH_URL: &[Capability] = &[AttachMedia, BootUrl, SecureBoot, HardwareRaid];

const fn row(
    scheme: Scheme,
    name: &'static str,
    protocol: Protocol,
    needs_mac_address: bool,
    capabilities: &'static [Capability],
) -> Row {
    Row { scheme, name, protocol, needs_mac_address, capabilities }
}

/// All schemes. Who asks what a BMC can do asks this table.
const SCHEMES: [Row; 9] = [
    row(Scheme::Ipmi, "ipmi", Protocol::Ipmi, false, &[]),
    row(Scheme::Libvirt, "libvirt", Protocol::Ipmi, true, &[]),
    row(Scheme::Redfish, "redfish", Protocol::Redfish, true, REDFISH),
    row(Scheme::Ilo5Redfish, "ilo5-redfish", Protocol::Redfish, true, REDFISH),
    row(Scheme::IdracRedfish, "idrac-redfish", Protocol::Redfish, true, REDFISH),
    row(Scheme::RedfishVirtualMedia, "redfish-virtualmedia", Protocol::Redfish, false, REDFISH_MEDIA),
    row(Scheme::Ilo5VirtualMedia, "ilo5-virtualmedia", Protocol::Redfish, false, REDFISH_MEDIA),
    row(Scheme::IdracVirtualMedia, "idrac-virtualmedia", Protocol::Redfish, false, REDFISH_MEDIA),
    row(Scheme::RedfishUefiHttp, "redfish-uefihttp", Protocol::Redfish, true, REDFISH_URL),
];

impl Scheme {
    /// Returns all schemes.
    pub fn all() -> impl Iterator<Item = Self> {
        SCHEMES.iter().map(|row| row.scheme)
    }

    /// The rows are in the order of the variants.
    fn row(self) -> &'static Row {
        &SCHEMES[self as usize]
    }

    /// Returns the scheme's name in an address.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the protocol of the BMC.
    pub fn protocol(self) -> Protocol {
        self.row().protocol
    }

    /// Returns whether the host must specify `spec.bootMACAddress`.
    pub fn needs_mac_address(self) -> bool {
        self.row().needs_mac_address
    }

    /// Returns whether the BMC has a capability.
    pub fn can(self, capability: Capability) -> bool {
        self.row().capabilities.contains(&capability)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The privilege level of an IPMI session; the numbers are IPMI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum PrivilegeLevel {
    /// The lowest level.
    Callback = 1,
    /// Read access.
    User = 2,
    /// Also control of power, and with most BMCs of the boot device.
    Operator = 3,
    /// All operations.
    #[default]
    Administrator = 4,
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BmcAddress {
    /// Protocol and boot method.
    pub scheme: Scheme,
    /// IP address without brackets, or host name.
    pub host: String,
    /// UDP port of IPMI (default 623), or TCP port of Redfish (default 443, without TLS 80).
    pub port: u16,
    /// Whether TLS is used; always `false` for a protocol without it.
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
    Scheme::all().map(Scheme::name).collect::<Vec<_>>().join(", ")
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
        let form = scheme.protocol().form();
        let default_port = form.tls_port.filter(|_| tls).unwrap_or(form.port);
        let path = url.path.trim_end_matches('/');
        let privilege_level = match query_value(&url.query, "privilegelevel") {
            Some(level) if form.has_privilege_level => {
                PrivilegeLevel::parse(level).ok_or(AddressError::PrivilegeLevel)?
            }
            _ => PrivilegeLevel::default(),
        };
        Ok(Self {
            scheme,
            host,
            port: port.unwrap_or(default_port),
            tls,
            system: (form.has_system && !["", "/redfish/v1"].contains(&path)).then(|| path.to_owned()),
            privilege_level,
        })
    }

    /// Returns `host:port`, with brackets around an IPv6 address.
    pub fn authority(&self) -> String {
        let host = &self.host;
        if host.contains(':') { format!("[{host}]:{}", self.port) } else { format!("{host}:{}", self.port) }
    }

    /// Returns the name of the service for error messages: `https://10.0.0.7:443`, `ipmi://10.0.0.7:623`.
    pub fn origin(&self) -> String {
        let (secured, plain) = self.scheme.protocol().form().names;
        format!("{}://{}", if self.tls { secured } else { plain }, self.authority())
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
    let found = Scheme::all().find(|scheme| scheme.name() == name);
    let has_tls = |scheme: &Scheme| scheme.protocol().form().tls_port.is_some();
    match (found, transport) {
        (Some(scheme), None) => Ok((scheme, has_tls(&scheme))),
        (Some(scheme), Some("https")) if has_tls(&scheme) => Ok((scheme, true)),
        (Some(scheme), Some("http")) if has_tls(&scheme) => Ok((scheme, false)),
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
