//! The address of a controller.

/// The protocol of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Redfish over HTTP.
    Redfish,
    /// IPMI 2.0 over UDP (RMCP+).
    Ipmi,
}

/// The privilege level of an IPMI session; the numbers are IPMI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Privilege {
    /// The lowest level.
    Callback = 1,
    /// Read access.
    User = 2,
    /// Power control, and with most controllers the boot device.
    Operator = 3,
    /// Full access.
    Administrator = 4,
}

/// The parsed address of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The protocol.
    pub protocol: Protocol,
    /// The host name or address; an IPv6 address has no brackets.
    pub host: String,
    /// The TCP or UDP port.
    pub port: u16,
    /// Whether Redfish uses HTTPS; not used for IPMI.
    pub tls: bool,
    /// For Redfish, the path of the system, for example `/redfish/v1/Systems/1`. If it is empty or the service root, the only system of
    /// the service is used.
    pub path: String,
    /// The privilege level of IPMI sessions; not used for Redfish.
    pub privilege: Privilege,
}

impl Target {
    /// Returns the target of a Redfish service over HTTPS on port 443.
    pub fn redfish(host: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::Redfish,
            host: host.into(),
            port: 443,
            tls: true,
            path: String::new(),
            privilege: Privilege::Administrator,
        }
    }

    /// Returns the target of an IPMI controller on port 623.
    pub fn ipmi(host: impl Into<String>) -> Self {
        Self {
            protocol: Protocol::Ipmi,
            host: host.into(),
            port: 623,
            tls: false,
            path: String::new(),
            privilege: Privilege::Administrator,
        }
    }

    /// Returns `host:port`, with brackets around an IPv6 address.
    pub fn authority(&self) -> String {
        let host = &self.host;
        if host.contains(':') { format!("[{host}]:{}", self.port) } else { format!("{host}:{}", self.port) }
    }

    /// Returns the name of the service for error messages: `https://10.0.0.7:443`, `ipmi://10.0.0.7:623`.
    pub fn origin(&self) -> String {
        let scheme = match (self.protocol, self.tls) {
            (Protocol::Ipmi, _) => "ipmi",
            (Protocol::Redfish, true) => "https",
            (Protocol::Redfish, false) => "http",
        };
        format!("{scheme}://{}", self.authority())
    }
}
