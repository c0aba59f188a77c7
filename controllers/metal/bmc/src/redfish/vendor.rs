//! Recognises vendors whose services need special treatment.

use serde_json::Value;

/// Vendors whose services deviate from the standard in a way that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vendor {
    /// Dell (iDRAC).
    Dell,
    /// HPE (iLO).
    Hpe,
    /// Supermicro.
    Supermicro,
    /// Any other vendor.
    Other,
}

impl Vendor {
    /// Recognises the vendor by the service root, its extensions, or the system's manufacturer.
    pub fn of(root: &Value, system: &Value) -> Self {
        let extensions =
            |body: &Value| body["Oem"].as_object().map(|oem| oem.keys().cloned().collect::<Vec<_>>());
        let mut names: Vec<String> = [&root["Vendor"], &system["Manufacturer"]]
            .into_iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        names.extend(extensions(root).into_iter().flatten());
        names
            .iter()
            .map(|name| Self::named(name))
            .find(|vendor| *vendor != Self::Other)
            .unwrap_or(Self::Other)
    }

    fn named(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let word = |wanted: &str| name.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
        if word("dell") {
            Self::Dell
        } else if word("hpe") || word("hp") || word("hewlett") {
            Self::Hpe
        } else if word("supermicro") || name.starts_with("super micro") {
            Self::Supermicro
        } else {
            Self::Other
        }
    }
}
