//! What Ignition refuses, and in a strict configuration also what it only warns of.

use std::collections::BTreeSet;

use machinery::url;
use serde_json::Value;

use super::parts::{absolute, each, text};
use super::{MAX_MODE, disks, units};

/// Where Ignition can download from.
const SCHEMES: &[&str] = &["http", "https", "oem", "tftp", "s3", "data"];
/// Hexadecimal digits of the sum of SHA-512, the only function that Ignition 2 knows.
const SHA512_DIGITS: usize = 128;

type Checked = Result<(), String>;

/// Checks a configuration as it was read.
///
/// # Errors
/// Names the field that is wrong.
pub fn check(config: &Value, strict: bool) -> Checked {
    if config["version"].as_i64().unwrap_or_default() != 0 {
        return Err("version must be 0".to_owned());
    }
    let filesystems = each(config, "storage", "filesystems").map(|(_, filesystem)| text(filesystem, "name"));
    let filesystems: BTreeSet<&str> = filesystems.chain(["", "root"]).collect();
    for kind in ["files", "directories", "links"] {
        for (path, node) in each(config, "storage", kind) {
            self::node(&path, node)?;
            if strict && !filesystems.contains(text(node, "filesystem")) {
                return Err(format!("{path}.filesystem names no filesystem of the configuration"));
            }
            if kind != "links" {
                mode(&format!("{path}.mode"), &node["mode"], strict)?;
            }
            if kind == "files" {
                file(&path, node)?;
            }
        }
    }
    disks::check(config, strict)?;
    units::check(config, strict)?;
    references(&config["ignition"])
}

fn node(path: &str, node: &Value) -> Checked {
    absolute(&format!("{path}.path"), text(node, "path"))?;
    for owner in ["user", "group"] {
        if !node[owner]["id"].is_null() && !text(&node[owner], "name").is_empty() {
            return Err(format!("{path}.{owner} can have only one of id and name"));
        }
    }
    Ok(())
}

fn mode(field: &str, mode: &Value, strict: bool) -> Checked {
    match mode.as_i64() {
        None if mode.is_null() && !strict => Ok(()),
        None if mode.is_null() => Err(format!("{field} must be set")),
        Some(0..=MAX_MODE) => Ok(()),
        _ => Err(format!("{field} must be from 0 to 07777")),
    }
}

fn file(path: &str, file: &Value) -> Checked {
    if file["append"] == true && file["overwrite"] == true {
        return Err(format!("{path} can have only one of append and overwrite"));
    }
    let contents = &file["contents"];
    let remote = &contents["remote"];
    let path = format!("{path}.contents");
    if !text(contents, "local").is_empty() {
        return Err(format!("{path}.local is not possible: there is no folder with such files"));
    }
    if !text(contents, "inline").is_empty() && !text(remote, "url").is_empty() {
        return Err(format!("{path} can have only one of inline and remote.url"));
    }
    source(&format!("{path}.remote.url"), text(remote, "url"))?;
    if !matches!(text(remote, "compression"), "" | "gzip") {
        return Err(format!("{path}.remote.compression must be gzip"));
    }
    verification(&format!("{path}.remote.verification"), &remote["verification"])
}

fn source(field: &str, text: &str) -> Checked {
    if text.is_empty() {
        return Ok(());
    }
    let parsed = url::parse(text.split('#').next().unwrap_or_default());
    let scheme = parsed.map_err(|why| format!("{field} is no URL: {why}"))?.scheme;
    if SCHEMES.contains(&scheme.as_str()) {
        return Ok(());
    }
    Err(format!("{field} must begin with one of: {}", SCHEMES.join(", ")))
}

/// Checks how a download is verified. A sum without its function must not end in a download that nobody verifies.
fn verification(field: &str, verification: &Value) -> Checked {
    let hash = &verification["hash"];
    match (text(hash, "function"), text(hash, "sum")) {
        ("", "") => Ok(()),
        ("sha512", sum)
            if sum.len() == SHA512_DIGITS && sum.bytes().all(|digit| digit.is_ascii_hexdigit()) =>
        {
            Ok(())
        }
        ("sha512", _) => Err(format!("{field}.hash.sum must have {SHA512_DIGITS} hexadecimal digits")),
        ("", _) => Err(format!("{field}.hash.function must be set")),
        _ => Err(format!("{field}.hash.function must be sha512")),
    }
}

/// Checks the other configurations and the authorities that Ignition fetches.
fn references(ignition: &Value) -> Checked {
    let config = &ignition["config"];
    let lists = [
        ("config.append", &config["append"]),
        ("security.tls.certificate_authorities", &ignition["security"]["tls"]["certificate_authorities"]),
    ];
    for (name, list) in lists {
        for (index, reference) in list.as_array().into_iter().flatten().enumerate() {
            self::reference(&format!("ignition.{name}[{index}]"), reference)?;
        }
    }
    reference("ignition.config.replace", &config["replace"])
}

fn reference(path: &str, reference: &Value) -> Checked {
    source(&format!("{path}.source"), text(reference, "source"))?;
    verification(&format!("{path}.verification"), &reference["verification"])
}
