//! Builds the objects for each host of a list. Pure.

use std::collections::BTreeMap;

use agent_protocol::dhcp::MacAddress;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::ObjectMeta;
use metal::names::POWER;
use schemas::metal3::{BareMetalHost, BareMetalHostSpec, BmcDetails, RootDeviceHints};
use schemas::names::ENVIRONMENT;

use super::read::Entry;

/// The objects of one line.
pub struct Line {
    /// The line number, starting with 1.
    pub number: usize,
    /// The BareMetalHost.
    pub host: BareMetalHost,
    /// The Secret with user and password of its BMC.
    pub secret: Option<Secret>,
    /// Whether the list says whether the machine is on.
    pub says_online: bool,
}

impl Line {
    /// Returns namespace and name of the host.
    pub fn host(&self) -> String {
        format!("{}/{}", self.host.namespace().unwrap_or_default(), self.host.name_any())
    }

    /// Returns the fields in which a host that exists, and its Secret, are unlike the line. What the line leaves out may be anything.
    pub fn differences(&self, host: &BareMetalHost, secret: Option<&Secret>) -> Vec<&'static str> {
        let (is, wanted) = (&host.spec, &self.host.spec);
        let differs = |is: &Option<String>, wanted: &Option<String>| wanted.is_some() && is != wanted;
        let same_case = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        let bmc = |spec: &BareMetalHostSpec| spec.bmc.as_ref().map(|bmc| bmc.address.clone());
        let unverified =
            |spec: &BareMetalHostSpec| spec.bmc.as_ref().and_then(|bmc| bmc.disable_certificate_verification);
        let device = |spec: &BareMetalHostSpec| {
            spec.root_device_hints.as_ref().and_then(|hints| hints.device_name.clone())
        };
        let wanted_data = self.secret.as_ref().map(|secret| &secret.data);
        let power = |host: &BareMetalHost| host.annotations().get(POWER).cloned();
        [
            ("mac", differs(&same_case(&is.boot_mac_address), &wanted.boot_mac_address)),
            ("address", bmc(is) != bmc(wanted)),
            (
                "username or password",
                wanted_data.is_some() && secret.map(|secret| &secret.data) != wanted_data,
            ),
            (
                "disableCertificateVerification",
                unverified(wanted).is_some() && unverified(is) != unverified(wanted),
            ),
            ("power", differs(&power(host), &power(&self.host))),
            ("bootMode", differs(&is.boot_mode, &wanted.boot_mode)),
            ("architecture", differs(&is.architecture, &wanted.architecture)),
            ("rootDevice", differs(&device(is), &device(wanted))),
            ("online", self.says_online && is.online != wanted.online),
            ("description", differs(&is.description, &wanted.description)),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}

/// Returns the objects of each line, or the problems with their line numbers.
pub fn lines(entries: Vec<(usize, Entry)>, namespace: &str) -> (Vec<Line>, Vec<(usize, String)>) {
    let mut problems = Vec::new();
    let mut names: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut addresses: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for (number, mut entry) in entries {
        if entry.namespace.is_empty() {
            namespace.clone_into(&mut entry.namespace);
        }
        entry.mac = entry.mac.to_lowercase().replace('-', ":");
        problems.extend(check(&entry).into_iter().map(|problem| (number, problem)));
        if !entry.name.is_empty()
            && let Some(first) = names.insert((entry.namespace.clone(), entry.name.clone()), number)
        {
            problems.push((
                number,
                format!("line {first} has a host {}/{} already", entry.namespace, entry.name),
            ));
        }
        if !entry.mac.is_empty()
            && let Some(first) = addresses.insert(entry.mac.clone(), number)
        {
            problems.push((number, format!("line {first} has the MAC address {} already", entry.mac)));
        }
        let says_online = entry.online.is_some();
        lines.push(Line { number, secret: secret(&entry), host: host(&entry), says_online });
    }
    if problems.is_empty() { (lines, problems) } else { (Vec::new(), problems) }
}

/// Returns the problems of an entry that the server's validation cannot find.
fn check(entry: &Entry) -> Vec<String> {
    let mut problems = Vec::new();
    if entry.name.is_empty() {
        problems.push("the host has no name: fill in name".to_owned());
    }
    if !entry.mac.is_empty()
        && let Err(problem) = entry.mac.parse::<MacAddress>()
    {
        problems.push(format!("mac: {problem}"));
    }
    problems.extend(architecture(&entry.architecture));
    let has_credentials = !entry.username.is_empty() || !entry.password.0.is_empty();
    if entry.address.is_empty() {
        if has_credentials {
            problems.push("username and password are those of a BMC: fill in its address too".to_owned());
        }
        if entry.mac.is_empty() {
            problems.push("without a BMC the host is known by its MAC address: fill in mac".to_owned());
        }
        return problems;
    }
    if !entry.address.contains("://") {
        problems.push(format!(
            "address: {0:?} does not say whether the BMC speaks Redfish or IPMI: write redfish://{0}/redfish/v1/Systems/1 or ipmi://{0}",
            entry.address
        ));
    }
    for (column, is_empty) in
        [("username", entry.username.is_empty()), ("password", entry.password.0.is_empty())]
    {
        if is_empty {
            problems.push(format!("the BMC needs user and password: fill in {column}"));
        }
    }
    if !entry.power.is_empty() {
        problems.push("power is for hosts without a BMC: leave power or address empty".to_owned());
    }
    problems
}

/// Returns what is wrong with the name of an architecture: the kernel's names are expected, and other programs have other ones.
fn architecture(name: &str) -> Option<String> {
    let right = match name.to_ascii_lowercase().as_str() {
        _ if matches!(name, "" | "x86_64" | "aarch64") => return None,
        "x86_64" | "amd64" | "x86-64" | "x64" => "write x86_64",
        "aarch64" | "arm64" => "write aarch64",
        _ => "it is x86_64 or aarch64",
    };
    Some(format!("architecture: {name:?} is not known: {right}"))
}

fn secret_name(entry: &Entry) -> String {
    format!("{}-bmc", entry.name)
}

fn secret(entry: &Entry) -> Option<Secret> {
    if entry.address.is_empty() {
        return None;
    }
    let data = [("username", &entry.username), ("password", &entry.password.0)];
    let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.clone().into_bytes())));
    Some(Secret {
        metadata: ObjectMeta {
            name: Some(secret_name(entry)),
            namespace: Some(entry.namespace.clone()),
            labels: Some([(ENVIRONMENT.0.to_owned(), ENVIRONMENT.1.to_owned())].into()),
            ..ObjectMeta::default()
        },
        data: Some(data.into()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    })
}

fn host(entry: &Entry) -> BareMetalHost {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let has_bmc = !entry.address.is_empty();
    let power = given(&entry.power).unwrap_or_else(|| "manual".to_owned());
    BareMetalHost {
        metadata: ObjectMeta {
            name: Some(entry.name.clone()),
            namespace: Some(entry.namespace.clone()),
            annotations: (!has_bmc).then(|| [(POWER.to_owned(), power)].into()),
            ..ObjectMeta::default()
        },
        spec: BareMetalHostSpec {
            architecture: given(&entry.architecture),
            bmc: has_bmc.then(|| BmcDetails {
                address: entry.address.clone(),
                credentials_name: secret_name(entry),
                disable_certificate_verification: entry.disable_certificate_verification,
            }),
            boot_mac_address: given(&entry.mac),
            boot_mode: given(&entry.boot_mode),
            description: given(&entry.description),
            online: entry.online.unwrap_or(true),
            root_device_hints: given(&entry.root_device)
                .map(|name| RootDeviceHints { device_name: Some(name), ..RootDeviceHints::default() }),
            ..BareMetalHostSpec::default()
        },
        status: None,
    }
}
