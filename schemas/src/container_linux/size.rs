//! Sizes of partitions, as Go's `units.ParseBase2Bytes` reads them.

/// Letters of multiples, each 1024 times the one before.
const MULTIPLES: &str = "KMGTPE";
const MEBIBYTE: u128 = 1 << 20;

/// Returns the whole MiB of a size such as `512MiB` or `1.5GiB`.
///
/// # Errors
/// What a size looks like, without its field.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    let bytes = ["iB", "B"].iter().find_map(|suffix| bytes(text, suffix));
    let bytes = bytes.ok_or_else(|| "is no size, such as 512MiB".to_owned())?;
    if bytes % MEBIBYTE != 0 {
        return Err("must be whole MiB".to_owned());
    }
    u64::try_from(bytes / MEBIBYTE).map_err(|_| "is too large".to_owned())
}

/// Returns the bytes of one or more numbers with units, such as `1GiB512MiB`.
fn bytes(text: &str, suffix: &str) -> Option<u128> {
    if text == "0" {
        return Some(0);
    }
    let mut sum: u128 = 0;
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(rest.find(|c: char| !is_numeric(c))?);
        let (unit, behind) = behind.split_at(behind.find(is_numeric).unwrap_or(behind.len()));
        sum = sum.checked_add(scaled(number, multiple(unit, suffix)?)?)?;
        rest = behind;
    }
    Some(sum).filter(|sum| i64::try_from(*sum).is_ok())
}

fn is_numeric(letter: char) -> bool {
    letter == '.' || letter.is_ascii_digit()
}

fn multiple(unit: &str, suffix: &str) -> Option<u128> {
    if unit == "B" {
        return Some(1);
    }
    let letter = unit.strip_suffix(suffix)?;
    let at = MULTIPLES.chars().position(|known| letter.chars().eq([known]))?;
    Some(1 << (10 * (at + 1)))
}

/// Returns a number with an optional fraction times `unit`.
fn scaled(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // More digits than these cannot matter for whole MiB.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits =
        |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u64>().ok().map(u128::from) };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    digits(whole)?.checked_mul(unit)?.checked_add(digits(fraction)?.checked_mul(unit)? / scale)
}
