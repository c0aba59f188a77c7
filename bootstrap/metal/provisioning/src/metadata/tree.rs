//! The paths of the metadata service in the formats of NoCloud, EC2 (2009-04-04), OpenStack and Ignition. Pure.

use std::net::IpAddr;

use serde_json::Value;

use super::data::Data;

/// The content behind a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// NoCloud's `meta-data`.
    NoCloud,
    /// NoCloud's `network-config`.
    CloudInitNetwork,
    /// The host's user data.
    UserData,
    /// The host's user data for Ignition, which accepts only JSON.
    Ignition,
    /// An empty document, for vendor data.
    Nothing,
    /// OpenStack's `meta_data.json`.
    OpenStack,
    /// OpenStack's `network_data.json`.
    OpenStackNetwork,
    /// OpenStack's `vendor_data.json`, an empty object.
    EmptyObject,
    /// A fixed list of the names below a path.
    List(&'static str),
    /// The list of EC2's metadata items.
    Ec2List,
    /// A metadata item of EC2.
    Ec2(String),
}

/// Splits a path into its one-time token and the rest: `/metadata/TOKEN/…` has the same content as `/…`.
pub fn without_token(path: &str) -> (Option<&str>, &str) {
    let rest = path.strip_prefix("/metadata/");
    match rest.and_then(|rest| rest.find('/').map(|end| rest.split_at(end))) {
        Some((token, path)) => (Some(token), path),
        None => (None, path),
    }
}

/// Returns the content behind `path`; `None` if the path does not belong to the metadata service. Only EC2's first version exists, to
/// which clients fall back.
pub fn find(path: &str) -> Option<Item> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    Some(match segments.as_slice() {
        ["nocloud", "meta-data"] => Item::NoCloud,
        ["nocloud", "user-data"] => Item::UserData,
        ["nocloud", "vendor-data"] => Item::Nothing,
        ["nocloud", "network-config"] => Item::CloudInitNetwork,
        ["2009-04-04"] => Item::List("meta-data/\nuser-data"),
        ["2009-04-04", "user-data"] => Item::UserData,
        ["2009-04-04", "meta-data"] => Item::Ec2List,
        ["2009-04-04", "meta-data", key] => Item::Ec2((*key).to_owned()),
        ["openstack"] => Item::List("latest"),
        ["openstack", "latest"] => {
            Item::List("meta_data.json\nnetwork_data.json\nuser_data\nvendor_data.json")
        }
        ["openstack", "latest", "meta_data.json"] => Item::OpenStack,
        ["openstack", "latest", "network_data.json"] => Item::OpenStackNetwork,
        ["openstack", "latest", "user_data"] => Item::UserData,
        ["openstack", "latest", "vendor_data.json"] => Item::EmptyObject,
        ["ignition"] => Item::Ignition,
        _ => return None,
    })
}

/// The media type and the text of an answer.
pub type Content = (&'static str, String);

impl Item {
    /// Returns whether the content is secret.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::UserData | Self::Ignition)
    }

    /// Returns the content for the machine that asks from `address`; `None` if it does not exist.
    pub fn content(&self, data: &Data, address: IpAddr) -> Option<Content> {
        const TEXT: &str = "text/plain; charset=utf-8";
        const JSON: &str = "application/json";
        let json = |value: &Value| serde_json::to_string_pretty(value).ok().map(|text| (JSON, text));
        match self {
            Self::NoCloud => json(&data.no_cloud()).map(|(_, text)| ("text/yaml", text)),
            Self::CloudInitNetwork => json(&data.cloud_init_network()?).map(|(_, text)| ("text/yaml", text)),
            Self::UserData => Some(("application/octet-stream", data.user_data.clone().unwrap_or_default())),
            Self::Ignition => Some((JSON, data.user_data.clone()?)),
            Self::Nothing => Some((TEXT, String::new())),
            Self::OpenStack => json(&data.open_stack()),
            Self::OpenStackNetwork => json(&data.open_stack_network()?),
            Self::EmptyObject => Some((JSON, "{}".into())),
            Self::List(names) => Some((TEXT, (*names).into())),
            Self::Ec2List => {
                let names: Vec<String> = data.ec2(address).into_keys().collect();
                Some((TEXT, names.join("\n")))
            }
            Self::Ec2(key) => data.ec2(address).remove(key).map(|text| (TEXT, text)),
        }
    }
}
