//! What a Certificate asks for, and what of it is not supported.

use std::collections::BTreeMap;
use std::net::IpAddr;

use chrono::TimeDelta;
use kube::api::DynamicObject;
use machinery::names::dns1123_subdomain;
use pki::{KeyAlgorithm, Usage};
use serde_json::Value;

/// The validity of a certificate that names none; that of cert-manager.
const VALIDITY: TimeDelta = TimeDelta::days(90);
/// The shortest validity; that of cert-manager's webhook.
const VALIDITY_MIN: TimeDelta = TimeDelta::hours(1);
/// The shortest time before its end at which a certificate is renewed; that of cert-manager's webhook.
const RENEW_BEFORE_MIN: TimeDelta = TimeDelta::minutes(5);

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
    /// A sentence: a field asks for what is not supported or makes no sense.
    pub fn of(certificate: &DynamicObject) -> Result<Self, String> {
        let spec = &certificate.data["spec"];
        let mut names = texts(&spec["dnsNames"]);
        names.extend(addresses(&spec["ipAddresses"])?);
        let is_authority = spec["isCA"] == true;
        let common_name = match text(&spec["commonName"]) {
            empty if empty.is_empty() => names.first().cloned().unwrap_or_default(),
            name => name,
        };
        refuse(spec, is_authority)?;
        let validity = duration(spec, "duration", VALIDITY_MIN)?.unwrap_or(VALIDITY);
        Ok(Self {
            secret: secret_name(&spec["secretName"])?,
            labels: map(&spec["secretTemplate"]["labels"]),
            annotations: map(&spec["secretTemplate"]["annotations"]),
            common_name,
            organizations: texts(&spec["subject"]["organizations"]),
            names,
            usage: usage(&spec["usages"], is_authority)?,
            is_authority,
            algorithm: algorithm(&spec["privateKey"])?,
            validity,
            renew_before: renew_before(spec, validity)?,
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

/// Returns the name of the Secret, which becomes a part of a path.
fn secret_name(value: &Value) -> Result<String, String> {
    let name = text(value);
    if name.is_empty() {
        return Err("spec.secretName is empty".to_owned());
    }
    match dns1123_subdomain(&name).first() {
        None => Ok(name),
        Some(problem) => Err(format!("spec.secretName: {name:?} is no name of a Secret: {problem}")),
    }
}

/// Returns addresses in the form in which a certificate has them.
fn addresses(value: &Value) -> Result<Vec<String>, String> {
    let canonical = |address: String| match address.parse::<IpAddr>() {
        Ok(parsed) => Ok(parsed.to_string()),
        Err(_) => Err(format!("spec.ipAddresses: {address:?} is no IP address")),
    };
    texts(value).into_iter().map(canonical).collect()
}

/// Returns how long before its end a certificate is renewed: a third of its validity unless the specification says it.
fn renew_before(spec: &Value, validity: TimeDelta) -> Result<TimeDelta, String> {
    let before = duration(spec, "renewBefore", RENEW_BEFORE_MIN)?;
    match (before, &spec["renewBeforePercentage"]) {
        (None, Value::Null) => Ok(validity / 3),
        (Some(_), percentage) if !percentage.is_null() => {
            Err("spec.renewBefore and spec.renewBeforePercentage exclude each other".to_owned())
        }
        (Some(before), _) if before < validity => Ok(before),
        (Some(_), _) => {
            Err("spec.renewBefore must be shorter than spec.duration, which is 2160h by default".to_owned())
        }
        (None, percentage) => {
            let part = percentage.as_i64().and_then(|part| i32::try_from(part).ok());
            let before = part.filter(|part| (1..100).contains(part)).map(|part| validity / 100 * part);
            before.filter(|before| *before >= RENEW_BEFORE_MIN).ok_or_else(|| {
                format!(
                    "spec.renewBeforePercentage: {percentage} is refused: it is from 1 to 99, of at least 5m"
                )
            })
        }
    }
}

/// Reads a duration of the specification; `None` if it is not given.
fn duration(spec: &Value, field: &str, least: TimeDelta) -> Result<Option<TimeDelta>, String> {
    let value = &spec[field];
    if value.is_null() {
        return Ok(None);
    }
    let parsed = value.as_str().and_then(machinery::duration::parse);
    let parsed = parsed.and_then(|parsed| TimeDelta::from_std(parsed).ok());
    match parsed {
        Some(parsed) if parsed >= least => Ok(Some(parsed)),
        Some(_) => Err(format!("spec.{field}: {value} is shorter than {} minutes", least.num_minutes())),
        None => Err(format!("spec.{field}: {value} is no duration, as 2160h is one, or is too long")),
    }
}
