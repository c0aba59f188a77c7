//! Which controller.

/// What a controller speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Redfish over HTTP.
    Redfish,
    /// IPMI 2.0 over UDP (RMCP+).
    Ipmi,
}

/// What an IPMI session may do; the numbers are IPMI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Privilege {
    /// The least.
    Callback = 1,
    /// Reading.
    User = 2,
    /// Power, and the boot device with most controllers.
    Operator = 3,
    /// Everything.
    Administrator = 4,
}

/// A controller's address, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// What it speaks.
    pub protocol: Protocol,
    /// Name or address; an IPv6 address without brackets.
    pub host: String,
    /// TCP or UDP port.
    pub port: u16,
    /// HTTPS; without meaning for IPMI.
    pub tls: bool,
    /// Redfish: the path of the system, `/redfish/v1/Systems/1`. Empty or the service root: the only system that there is.
    pub path: String,
    /// What an IPMI session asks to be allowed; without meaning for Redfish.
    pub privilege: Privilege,
}

impl Target {
    /// A Redfish service over HTTPS at port 443.
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

    /// IPMI at port 623.
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

    /// `host:port`, with brackets around an IPv6 address.
    pub fn authority(&self) -> String {
        let host = &self.host;
        if host.contains(':') { format!("[{host}]:{}", self.port) } else { format!("{host}:{}", self.port) }
    }

    /// What errors call the service: `https://10.0.0.7:443`, `ipmi://10.0.0.7:623`.
    pub fn origin(&self) -> String {
        let scheme = match (self.protocol, self.tls) {
            (Protocol::Ipmi, _) => "ipmi",
            (Protocol::Redfish, true) => "https",
            (Protocol::Redfish, false) => "http",
        };
        format!("{scheme}://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let plain = Target { tls: false, port: 8000, ..Target::redfish("bmc.example") };
        for (target, expected) in [
            (Target::redfish("10.0.0.7"), "https://10.0.0.7:443"),
            (Target::redfish("fd00::7"), "https://[fd00::7]:443"),
            (Target::ipmi("10.0.0.7"), "ipmi://10.0.0.7:623"),
            (plain, "http://bmc.example:8000"),
        ] {
            assert_eq!(target.origin(), expected);
        }
    }
}
