//! Encodings of file contents.

use std::io::Read as _;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::limits::MAX_CONTENT;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The first bytes of gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Decodes the content of a file with one of cloud-init's encodings (its `canonicalize_extraction`). An unknown one is an
/// error, although cloud-init takes the content as text then: a file of a wrong content is found much later.
///
/// # Errors
/// What is wrong, without the content.
pub fn decode(content: &str, encoding: &str) -> Result<Vec<u8>, String> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "text/plain" | "plain" => Ok(content.as_bytes().to_vec()),
        "b64" | "base64" => base64(content.as_bytes()),
        "gz+base64" | "gzip+base64" | "gz+b64" | "gzip+b64" => gunzip(&base64(content.as_bytes())?),
        // YAML has no form for such bytes but base64.
        "gz" | "gzip" if !content.as_bytes().starts_with(GZIP) => gunzip(&base64(content.as_bytes())?),
        "gz" | "gzip" => gunzip(content.as_bytes()),
        _ => Err("the encoding is not known: use text/plain, b64, gz or gz+b64".to_owned()),
    }
}

/// Decodes base64 with line breaks and with or without padding.
pub fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    BASE64.decode(digits).map_err(|_| "the content is not base64".to_owned())
}

/// Whether the bytes are compressed with gzip.
pub fn is_gzip(data: &[u8]) -> bool {
    data.starts_with(GZIP)
}

/// Decompresses all members of gzip, up to [`MAX_CONTENT`].
pub fn gunzip(data: &[u8]) -> Result<Vec<u8>, String> {
    let limit = u64::try_from(MAX_CONTENT).unwrap_or(u64::MAX);
    let mut content = Vec::new();
    let reader = flate2::read::MultiGzDecoder::new(data);
    reader.take(limit + 1).read_to_end(&mut content).map_err(|_| "the content is not gzip".to_owned())?;
    if content.len() > MAX_CONTENT {
        return Err(format!("the content is larger than {MAX_CONTENT} bytes after decompression"));
    }
    Ok(content)
}
