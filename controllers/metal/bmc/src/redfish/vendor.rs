//! How the services of vendors deviate from the standard, as data: a row for each vendor.

use serde_json::Value;

/// How the machine is told to boot from its virtual media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaBoot {
    /// By the property `Boot` of the system.
    Standard,
    /// By attributes of iDRAC, because the standard property selects a physical drive.
    DellAttributes,
    /// By a property of iLO's virtual drive, for the next start only.
    HpeDrive,
}

/// The deviations of a vendor's services that matter here.
#[derive(Debug, PartialEq, Eq)]
pub struct Quirks {
    /// The words by which the vendor is recognised in its names, in lower case.
    words: &'static [&'static str],
    /// Whether the serial number that the firmware shows is the property `SKU`; `SerialNumber` is that of the board.
    pub serial_is_sku: bool,
    /// Redfish's names of the virtual CD as a boot device, the preferred one first.
    pub cd: &'static [&'static str],
    /// Whether a boot device is sent with all its properties, also those that are stored already.
    pub repeats_stored: bool,
    /// How the machine is told to boot from its virtual media.
    pub media_boot: MediaBoot,
}

/// The standard.
pub const STANDARD: Quirks = Quirks {
    words: &[],
    serial_is_sku: false,
    cd: &["Cd", "UsbCd"],
    repeats_stored: false,
    media_boot: MediaBoot::Standard,
};
/// Dell (iDRAC).
pub const DELL: Quirks =
    Quirks { words: &["dell"], serial_is_sku: true, media_boot: MediaBoot::DellAttributes, ..STANDARD };
/// HPE (iLO).
pub const HPE: Quirks =
    Quirks { words: &["hpe", "hp", "hewlett"], media_boot: MediaBoot::HpeDrive, ..STANDARD };
/// Supermicro. Its virtual CD is a USB CD.
pub const SUPERMICRO: Quirks =
    Quirks { words: &["supermicro", "super micro"], cd: &["UsbCd", "Cd"], repeats_stored: true, ..STANDARD };

/// The vendors whose services deviate.
const VENDORS: [&Quirks; 3] = [&DELL, &HPE, &SUPERMICRO];

impl Quirks {
    /// Recognises the vendor by the service root, its extensions, or the system's manufacturer.
    pub fn of(root: &Value, system: &Value) -> &'static Self {
        let extensions = root["Oem"].as_object().into_iter().flat_map(|oem| oem.keys().map(String::as_str));
        let names = [&root["Vendor"], &system["Manufacturer"]].into_iter().filter_map(Value::as_str);
        names.chain(extensions).find_map(named).unwrap_or(&STANDARD)
    }
}

/// Returns the vendor of this name.
fn named(name: &str) -> Option<&'static Quirks> {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let words = format!(" {} ", words.join(" "));
    let is_named = |quirks: &&Quirks| quirks.words.iter().any(|word| words.contains(&format!(" {word} ")));
    VENDORS.into_iter().find(is_named)
}
