//! The inventory of a field replaceable unit: manufacturer, model and serial number of the machine (IPMI Platform Management FRU
//! Information Storage Definition 1.0).

use crate::Identity;

/// The length of the inventory's header in bytes.
pub(crate) const HEAD: u8 = 8;

/// An area of the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// The whole machine.
    Product,
    /// Its board.
    Board,
}

impl Area {
    /// Returns the offset of the area in bytes, as the inventory's header says; `None` if the area does not exist.
    pub fn offset(self, head: &[u8]) -> Option<u16> {
        let place = if self == Self::Product { 4 } else { 3 };
        head.get(place)
            .filter(|offset| **offset != 0 && head[0] & 0x0f == 1)
            .map(|offset| u16::from(*offset) * 8)
    }

    /// Parses an area. Missing fields are empty; `None` if the area is invalid.
    pub fn read(self, area: &[u8]) -> Option<Identity> {
        let length = usize::from(*area.get(1)?) * 8;
        let area =
            area.get(..length).filter(|area| area.first().is_some_and(|version| version & 0x0f == 1))?;
        if area.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)) != 0 {
            return None;
        }
        let mut rest = area.get(if self == Self::Product { 3 } else { 6 }..)?;
        let mut fields = Vec::new();
        while let Some((head, behind)) = rest.split_first().filter(|(head, _)| **head != 0xc1) {
            let (field, behind) = behind.split_at_checked(usize::from(head & 0x3f))?;
            fields.push(text(head >> 6, field));
            rest = behind;
        }
        let serial = if self == Self::Product { 4 } else { 2 };
        let mut field = |place: usize| fields.get_mut(place).map(std::mem::take).unwrap_or_default();
        Some(Identity {
            manufacturer: field(0),
            model: field(1),
            serial: field(serial),
            ..Identity::default()
        })
    }
}

/// Decodes a field: binary, BCD plus, packed 6-bit ASCII, or 8-bit text.
fn text(encoding: u8, field: &[u8]) -> String {
    let decoded: String = match encoding {
        0 => field.iter().map(|byte| format!("{byte:02x}")).collect(),
        1 => {
            let nibbles = field.iter().flat_map(|byte| [byte >> 4, byte & 0x0f]);
            nibbles.filter_map(|nibble| "0123456789 -.".chars().nth(usize::from(nibble))).collect()
        }
        2 => packed(field),
        _ => field.iter().map(|byte| char::from(*byte)).collect(),
    };
    decoded.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned()
}

fn packed(field: &[u8]) -> String {
    let mut decoded = String::new();
    for three in field.chunks(3) {
        let bits = three.iter().rev().fold(0u32, |bits, byte| (bits << 8) | u32::from(*byte));
        for place in 0..three.len() * 8 / 6 {
            let code = u8::try_from((bits >> (6 * place)) & 0x3f).unwrap_or_default();
            decoded.push(char::from(code + 0x20));
        }
    }
    decoded
}
