//! What a Certificate asks for, and what of it is not supported.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use kube::api::DynamicObject;
use pki::{KeyAlgorithm, Usage};
use serde_json::Value;

/// The validity of a certificate that names none; that of cert-manager.
const VALIDITY: TimeDelta = TimeDelta::days(90);

/// Fields of the specification that ask for what no certificate of this process has.
const NOT_SUPPORTED: &[&str] = &[
    "literalSubject",
    "uris",
    "emailAddresses",
    "otherNames",
    "keystores",
    "additionalOutputFormats",
    "nameConstraints",
];
/// Usages of the key that each certificate has.
const KEY_USAGES: &[&str] = &["digital signature", "signing", "key encipherment"];

/// What a Certificate asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the Secret.
    pub secret: String,
    /// Labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Secret.
    pub annotations: BTreeMap<String, String>,
    pub(super) common_name: String,
    pub(super) organizations: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) usage: Usage,
    pub(super) is_authority: bool,
    pub(super) algorithm: KeyAlgorithm,
    pub(super) validity: TimeDelta,
    pub(super) renew_before: TimeDelta,
}

impl Wanted {
    /// Reads a Certificate.
    ///
    /// # Errors
    /// A sentence: a field asks for what is not supported.
    pub fn of(certificate: &DynamicObject) -> Result<Self, String> {
        let spec = &certificate.data["spec"];
        let names: Vec<String> =
            texts(&spec["dnsNames"]).into_iter().chain(texts(&spec["ipAddresses"])).collect();
        let is_authority = spec["isCA"] == true;
        let common_name = match text(&spec["commonName"]) {
            empty if empty.is_empty() => names.first().cloned().unwrap_or_default(),
            name => name,
        };
        refuse(spec, is_authority)?;
        let validity = duration(&spec["duration"]).unwrap_or(VALIDITY);
        Ok(Self {
            secret: text(&spec["secretName"]),
            labels: map(&spec["secretTemplate"]["labels"]),
            annotations: map(&spec["secretTemplate"]["annotations"]),
            common_name,
            organizations: texts(&spec["subject"]["organizations"]),
            names,
            usage: usage(&spec["usages"], is_authority)?,
            is_authority,
            algorithm: algorithm(&spec["privateKey"])?,
            validity,
            renew_before: duration(&spec["renewBefore"])
                .filter(|before| *before < validity)
                .unwrap_or(validity / 3),
        })
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(text).collect()
}

fn map(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), text(value))).collect()
}

/// Returns whether a field has a value.
fn is_given(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(is_given),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Refuses the fields that would be ignored.
fn refuse(spec: &Value, is_authority: bool) -> Result<(), String> {
    if let Some(field) = NOT_SUPPORTED.iter().find(|field| is_given(&spec[**field])) {
        return Err(format!("spec.{field} is not supported here; install cert-manager for it"));
    }
    let mut subject = spec["subject"].as_object().into_iter().flatten();
    if let Some((field, _)) = subject.find(|(field, value)| *field != "organizations" && is_given(value)) {
        return Err(format!("spec.subject.{field} is not supported here, only organizations are"));
    }
    if texts(&spec["subject"]["organizations"]).len() > 1 {
        return Err("spec.subject.organizations: more than one is not supported here".to_owned());
    }
    if is_authority && is_given(&spec["subject"]) {
        return Err(
            "spec.subject.organizations is not supported here for an authority (spec.isCA)".to_owned()
        );
    }
    Ok(())
}

fn usage(value: &Value, is_authority: bool) -> Result<Usage, String> {
    let usages = texts(value);
    let is_known = |usage: &str| {
        KEY_USAGES.contains(&usage)
            || matches!(usage, "server auth" | "client auth")
            || (is_authority && usage == "cert sign")
    };
    if let Some(other) = usages.iter().find(|usage| !is_known(usage)) {
        let known =
            "digital signature, key encipherment, server auth, client auth, and for an authority cert sign";
        return Err(format!("spec.usages: {other:?} is not supported here; supported are {known}"));
    }
    let has = |usage: &str| usages.iter().any(|one| one == usage);
    Ok(match (has("client auth"), has("server auth")) {
        (true, true) => Usage::ClientAndServer,
        (true, false) => Usage::Client,
        _ => Usage::Server,
    })
}

fn algorithm(key: &Value) -> Result<KeyAlgorithm, String> {
    let size = key["size"].as_u64().filter(|size| *size != 0);
    match (key["algorithm"].as_str().unwrap_or_default(), size) {
        // Its keys are made in microseconds, and every client knows it.
        ("", None) | ("ECDSA", None | Some(256)) => Ok(KeyAlgorithm::EcdsaP256),
        ("ECDSA", Some(384)) => Ok(KeyAlgorithm::EcdsaP384),
        ("RSA", None) | ("" | "RSA", Some(2048)) => Ok(KeyAlgorithm::Rsa2048),
        ("" | "RSA", Some(3072)) => Ok(KeyAlgorithm::Rsa3072),
        ("" | "RSA", Some(4096)) => Ok(KeyAlgorithm::Rsa4096),
        ("" | "RSA" | "ECDSA", Some(size)) => Err(format!(
            "spec.privateKey.size: {size} is not supported here: RSA has 2048, 3072 or 4096 bits, and ECDSA 256 or 384"
        )),
        (other, _) => Err(format!(
            "spec.privateKey.algorithm: {other:?} is not supported here; supported are RSA and ECDSA"
        )),
    }
}

fn duration(value: &Value) -> Option<TimeDelta> {
    let parsed = machinery::duration::parse(value.as_str()?)?;
    TimeDelta::from_std(parsed).ok().filter(|duration| *duration > TimeDelta::zero())
}
