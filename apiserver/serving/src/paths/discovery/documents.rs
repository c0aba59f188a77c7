//! The documents of discovery, built once for each change of the definitions.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use bytes::Bytes;
use http::HeaderValue;
use serde_json::Value;

use super::{aggregated, groups, resources};
use crate::resources::connect::ConnectResource;
use crate::response::conditions::entity_tag;

/// All discovery documents for one generation of definitions.
#[derive(Default)]
pub(crate) struct Documents {
    pub(super) generation: u64,
    /// Documents by path: `/api`, `/apis`, `/api/v1`, `/apis/{group}`, `/apis/{group}/{version}`.
    pub(super) plain: BTreeMap<String, Bytes>,
    /// Aggregated documents for `/api` and `/apis`, with their entity tags.
    pub(super) aggregated: BTreeMap<&'static str, (Bytes, HeaderValue)>,
}

impl Documents {
    /// `connects`: the subresources written in Rust; `address`: that of the server, if it is known.
    pub(super) fn build(
        connects: &[ConnectResource],
        definitions: &registry::Definitions,
        address: Option<&SocketAddr>,
    ) -> Self {
        let groups = groups::groups(definitions);
        let mut plain = BTreeMap::new();
        let mut put = |path: String, value: &Value| plain.insert(path, Bytes::from(kinds::json::text(value)));
        put("/api".into(), &groups::versions(address));
        put("/apis".into(), &groups::list(&groups));
        for group in &groups {
            let root =
                if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
            if !group.name.is_empty() {
                let mut document = group.to_value();
                document["kind"] = "APIGroup".into();
                document["apiVersion"] = "v1".into();
                put(root.clone(), &document);
            }
            for version in &group.versions {
                let list = resources::list(definitions, &group.name, version, connects);
                put(format!("{root}/{version}"), &list);
            }
        }
        let aggregate = |core: bool| {
            let groups = groups.iter().filter(|group| group.name.is_empty() == core);
            let list = kinds::json::text(&aggregated::list(definitions, groups, connects));
            let tag = entity_tag(&list);
            (Bytes::from(list), tag)
        };
        let aggregated = BTreeMap::from([("/api", aggregate(true)), ("/apis", aggregate(false))]);
        Self { generation: definitions.generation, plain, aggregated }
    }
}
