//! One-time tokens: their generation, their checksums, and a bounded memory of tokens in clear text.

use std::collections::BTreeMap;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Utc};
use machinery::random::Random;

use crate::fingerprint::fingerprint;
use crate::limits;

/// The index of agents by the token that they enrolled with.
pub(super) const BY_TOKEN: &str = "netboot-token";

/// Returns a new random token of 128 bits, in hexadecimal digits.
pub(crate) fn token(random: &Random) -> String {
    let mut bytes = [0; 16];
    random.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the token for reports that belongs to the token on a configuration drive. Every program of the installed system can read the
/// URL for reports, so the URL must not reveal the token that opens user data. The stored checksum is that of the token for reports.
pub(crate) fn report_token(token: &str) -> String {
    fingerprint(format!("report {token}").as_bytes())
}

/// A token that a machine was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootToken {
    /// The SHA-256 checksum of the token.
    pub sha256: String,
    /// The time at which the machine was given the token.
    pub time: DateTime<Utc>,
}

/// The tokens of this process in clear text, for machines that load an image in parts. Bounded; after a restart the server makes new
/// tokens.
#[derive(Default)]
pub(super) struct ClearTokens(BTreeMap<MacAddress, (String, DateTime<Utc>)>);

impl ClearTokens {
    /// Remembers a token. Returns `false` if there is no room for it.
    pub(super) fn note(&mut self, mac: MacAddress, token: &str, now: DateTime<Utc>) -> bool {
        if self.0.len() >= limits::TOKENS && !self.0.contains_key(&mac) {
            self.0.retain(|_, (_, time)| now - *time < limits::duration(limits::SAME_TOKEN));
            if self.0.len() >= limits::TOKENS {
                return false;
            }
        }
        self.0.insert(mac, (token.to_owned(), now));
        true
    }

    pub(super) fn get(&self, mac: MacAddress) -> Option<(String, DateTime<Utc>)> {
        self.0.get(&mac).cloned()
    }

    pub(super) fn forget(&mut self, mac: MacAddress) {
        self.0.remove(&mac);
    }
}
