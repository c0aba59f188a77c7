//! A PEM parser: blocks of base64 between a BEGIN line and an END line that name their content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// One PEM block.
pub(crate) struct Block {
    /// The label of the BEGIN line, for example `CERTIFICATE`.
    pub(crate) label: String,
    /// Whether `Key: value` header lines precede the base64.
    pub(crate) has_headers: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the PEM blocks of a text and skips everything else, in time linear in the text.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, begun)) = rest.split_once("-----BEGIN ") {
        let Some((block, end)) = begun.split_once("-----END ") else { break };
        rest = end;
        // As in Go's `encoding/pem`, a block begins at the last BEGIN line before its END line.
        let block = block.rsplit_once("-----BEGIN ").map_or(block, |(_, last)| last);
        blocks.extend(block.split_once("-----").and_then(|(label, inner)| read(label, inner, end)));
    }
    blocks
}

fn read(label: &str, inner: &str, end: &str) -> Option<Block> {
    end.strip_prefix(label)?.strip_prefix("-----")?;
    let (headers, body): (Vec<&str>, Vec<&str>) = inner.lines().partition(|line| line.contains(':'));
    let bytes = STANDARD.decode(body.concat().replace([' ', '\t', '\r'], "")).ok()?;
    Some(Block { label: label.to_owned(), has_headers: !headers.is_empty(), bytes })
}

/// Checks that `text` is empty or consists of PEM certificates without headers.
///
/// # Errors
/// The reason, as a message of the Go implementation.
pub(crate) fn check_certificates(text: &[u8]) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let blocks = blocks(&String::from_utf8_lossy(text));
    for block in &blocks {
        if block.label != "CERTIFICATE" {
            return Err(format!("only CERTIFICATE PEM blocks are allowed, found {:?}", block.label));
        }
        if block.has_headers {
            return Err("no PEM block headers are permitted".to_owned());
        }
        if block.bytes.is_empty() {
            return Err("found CERTIFICATE PEM block containing 0 certificates".to_owned());
        }
        let mut rest = block.bytes.as_slice();
        while !rest.is_empty() {
            rest = X509Certificate::from_der(rest).map_err(|_| "x509: malformed certificate".to_owned())?.0;
        }
    }
    if blocks.is_empty() {
        return Err("must contain at least one CERTIFICATE PEM block".to_owned());
    }
    Ok(())
}
