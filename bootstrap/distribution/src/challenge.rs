//! The header `WWW-Authenticate`: how a registry wants to be asked.

use std::collections::BTreeMap;

/// What a registry wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// User and password.
    Basic,
    /// A token of this service.
    Bearer {
        /// The address of the token service.
        realm: String,
        /// The name of the registry there.
        service: Option<String>,
        /// What the token is for.
        scope: Option<String>,
    },
}

impl Challenge {
    /// Parses the header; `None` if it wants something else.
    pub fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut fields = parameters(rest);
        let realm = fields.remove("realm")?;
        Some(Self::Bearer { realm, service: fields.remove("service"), scope: fields.remove("scope") })
    }
}

/// Parses `name="text",name=text`. Commas and spaces may be part of a text in quotation marks.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let after = after.trim_start();
        let value = match after.strip_prefix('"') {
            Some(quoted) => {
                let (value, after) = quoted.split_once('"').unwrap_or((quoted, ""));
                rest = after;
                value
            }
            None => {
                let (value, after) = after.split_once(',').unwrap_or((after, ""));
                rest = after;
                value.trim()
            }
        };
        found.insert(name, value.to_owned());
    }
    found
}
