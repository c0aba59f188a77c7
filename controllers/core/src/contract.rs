//! The fields of providers' objects that the contract defines. A value that breaks the contract is not copied: the last good value stays,
//! and a condition names the field.

use std::collections::BTreeSet;

use engine::ExternalObject;
use schemas::cluster::MachineAddress;
use schemas::meta::FailureDomain;
use serde_json::Value;

/// The most failure domains of a Cluster.
const MAX_FAILURE_DOMAINS: usize = 100;
/// The most addresses of a Machine.
const MAX_ADDRESSES: usize = 256;
/// The longest name of a failure domain, and the longest address.
const MAX_NAME: usize = 256;
const ADDRESS_TYPES: [&str; 5] = ["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"];

/// A field of a provider's object, with the values that the contract allows.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The JSON pointer of the field.
    pointer: &'static str,
    rule: Rule,
}

#[derive(Debug, Clone, Copy)]
enum Rule {
    Boolean,
    /// A text of at most so many characters. An empty one counts as absent.
    Text(usize),
    /// An integer between these. 0 counts as absent.
    Integer(i64, i64),
    FailureDomains,
    Addresses,
}

impl Field {
    /// Returns a field that is true or false.
    pub const fn boolean(pointer: &'static str) -> Self {
        Self { pointer, rule: Rule::Boolean }
    }

    /// Returns a text field of at most `most` characters.
    pub const fn text(pointer: &'static str, most: usize) -> Self {
        Self { pointer, rule: Rule::Text(most) }
    }

    /// Reads a text; `None` if it is absent, empty or breaks the contract.
    pub fn read_text<'a>(&self, object: &'a ExternalObject) -> Option<&'a str> {
        if self.problem(object).is_some() { None } else { object.text(self.pointer) }
    }

    /// Returns what is wrong with the field; `None` if it is right, or absent.
    pub fn problem(&self, object: &ExternalObject) -> Option<String> {
        let value = object.get(self.pointer)?;
        let wrong = match self.rule {
            Rule::Boolean => (!value.is_boolean()).then(|| is_not(value, "a boolean")),
            Rule::Text(most) => wrong_text(value, most),
            Rule::Integer(least, most) => match value.as_i64() {
                None => Some(is_not(value, "an integer")),
                Some(0) => None,
                Some(number) => (!(least..=most).contains(&number))
                    .then(|| format!("is {number}, which is not between {least} and {most}")),
            },
            Rule::FailureDomains => parse_failure_domains(value).err(),
            Rule::Addresses => parse_addresses(value).err(),
        }?;
        Some(format!("{} {wrong}", self.pointer.trim_start_matches('/').replace('/', ".")))
    }
}

/// `spec.providerID` of an infrastructure machine.
pub const PROVIDER_ID: Field = Field::text("/spec/providerID", 512);
/// `spec.failureDomain` of an infrastructure machine of contract v1beta1.
pub const WANTED_FAILURE_DOMAIN: Field = Field::text("/spec/failureDomain", MAX_NAME);
/// `status.failureDomain` of an infrastructure machine.
pub const FAILURE_DOMAIN: Field = Field::text("/status/failureDomain", MAX_NAME);
/// `status.dataSecretName` of a bootstrap object.
pub const DATA_SECRET_NAME: Field = Field::text("/status/dataSecretName", 253);
/// The host of the control plane's endpoint.
pub const ENDPOINT_HOST: Field = Field::text("/spec/controlPlaneEndpoint/host", 512);
/// The port of the control plane's endpoint.
pub const ENDPOINT_PORT: Field =
    Field { pointer: "/spec/controlPlaneEndpoint/port", rule: Rule::Integer(1, 65_535) };
const ADDRESSES: Field = Field { pointer: "/status/addresses", rule: Rule::Addresses };
const FAILURE_DOMAINS: Field = Field { pointer: "/status/failureDomains", rule: Rule::FailureDomains };
/// `status.ready` of objects of contract v1beta1.
const READY: Field = Field::boolean("/status/ready");

/// The fields of an infrastructure machine.
pub const MACHINE: &[Field] = &[
    Field::boolean("/status/initialization/provisioned"),
    READY,
    PROVIDER_ID,
    WANTED_FAILURE_DOMAIN,
    FAILURE_DOMAIN,
    ADDRESSES,
];
/// The fields of a bootstrap object.
pub const BOOTSTRAP: &[Field] =
    &[Field::boolean("/status/initialization/dataSecretCreated"), READY, DATA_SECRET_NAME];
/// The fields of an infrastructure cluster.
pub const CLUSTER: &[Field] = &[
    Field::boolean("/status/initialization/provisioned"),
    READY,
    ENDPOINT_HOST,
    ENDPOINT_PORT,
    FAILURE_DOMAINS,
];
/// The fields of a control plane.
pub const CONTROL_PLANE: &[Field] = &[
    Field::boolean("/status/initialization/controlPlaneInitialized"),
    Field::boolean("/status/initialized"),
    ENDPOINT_HOST,
    ENDPOINT_PORT,
];

/// Returns what is wrong with the object, as lines for the message of a condition.
pub fn problems(object: &ExternalObject, fields: &[Field]) -> Vec<String> {
    let wrong = fields.iter().filter_map(|field| field.problem(object));
    wrong.map(|problem| line(object, &problem)).collect()
}

/// Returns the line about a problem of an object.
pub fn line(object: &ExternalObject, problem: &str) -> String {
    let name = object.object.metadata.name.as_deref().unwrap_or_default();
    format!("* {} {name}: {problem}", object.resource.kind)
}

/// Adds lines to the message of a condition.
pub fn add_lines(message: &mut String, lines: &[String]) {
    for line in lines {
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str(line);
    }
}

/// Reads the port of the endpoint; `None` if it is absent, 0 or breaks the contract.
pub fn endpoint_port(object: &ExternalObject) -> Option<i32> {
    let port = object.number(ENDPOINT_PORT.pointer).filter(|port| *port != 0)?;
    ENDPOINT_PORT.problem(object).is_none().then_some(port)
}

/// Reads the addresses of an infrastructure machine; `None` if they are absent or break the contract.
pub fn addresses(object: &ExternalObject) -> Option<Vec<MachineAddress>> {
    parse_addresses(object.get(ADDRESSES.pointer)?).ok()
}

/// Reads the failure domains of an infrastructure cluster, sorted by name: a list in contract v1beta2, a map in v1beta1. `None` if they
/// break the contract.
pub fn failure_domains(object: &ExternalObject) -> Option<Vec<FailureDomain>> {
    match object.get(FAILURE_DOMAINS.pointer) {
        Some(value) => parse_failure_domains(value).ok(),
        None => Some(Vec::new()),
    }
}

fn is_not(value: &Value, expected: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("is {found}, not {expected}")
}

fn wrong_text(value: &Value, most: usize) -> Option<String> {
    let Some(text) = value.as_str() else { return Some(is_not(value, "a string")) };
    let length = text.chars().count();
    (length > most).then(|| format!("has {length} characters, more than {most}"))
}

fn parse_addresses(value: &Value) -> Result<Vec<MachineAddress>, String> {
    let list = value.as_array().ok_or_else(|| is_not(value, "a list"))?;
    if list.len() > MAX_ADDRESSES {
        return Err(format!("has {} items, more than {MAX_ADDRESSES}", list.len()));
    }
    let parse = |item: &Value| {
        let address: MachineAddress =
            serde_json::from_value(item.clone()).map_err(|_| "has an item that is no address".to_owned())?;
        if !ADDRESS_TYPES.contains(&address.type_.as_str()) {
            let shown: String = address.type_.chars().take(64).collect();
            return Err(format!(
                "has an address of the type {shown:?}, which is none of {}",
                ADDRESS_TYPES.join(", ")
            ));
        }
        match address.address.chars().count() {
            0 => Err("has an address that is empty".to_owned()),
            length if length > MAX_NAME => {
                Err(format!("has an address of {length} characters, more than {MAX_NAME}"))
            }
            _ => Ok(address),
        }
    };
    list.iter().map(parse).collect()
}

fn parse_failure_domains(value: &Value) -> Result<Vec<FailureDomain>, String> {
    let parse = |domain: &Value| {
        let parsed: Result<FailureDomain, _> = serde_json::from_value(domain.clone());
        parsed.map_err(|_| "has an item that is no failure domain".to_owned())
    };
    let mut domains: Vec<FailureDomain> = match value {
        Value::Array(list) => list.iter().map(parse).collect::<Result<_, String>>()?,
        Value::Object(map) => map
            .iter()
            .map(|(name, domain)| Ok(FailureDomain { name: name.clone(), ..parse(domain)? }))
            .collect::<Result<_, String>>()?,
        _ => return Err(is_not(value, "a list")),
    };
    if domains.len() > MAX_FAILURE_DOMAINS {
        return Err(format!("has {} items, more than {MAX_FAILURE_DOMAINS}", domains.len()));
    }
    let mut names = BTreeSet::new();
    for domain in &mut domains {
        domain.control_plane.get_or_insert(false);
        let length = domain.name.chars().count();
        if length == 0 || length > MAX_NAME {
            return Err(format!("has an item whose name has {length} characters, not 1 to {MAX_NAME}"));
        }
        if !names.insert(domain.name.clone()) {
            return Err(format!("has several items with the name {}", domain.name));
        }
    }
    domains.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(domains)
}
