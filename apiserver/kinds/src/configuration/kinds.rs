//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use machinery::meta::text;
use serde_json::Value;

use super::{config_map, secret, warnings};
use crate::columns::{AGE, Column, NAME, column, count};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[include_str!("secret.json"), include_str!("configmap.json")],
    strategy: |group, plural| match (group, plural) {
        ("", "configmaps") => Some(Arc::new(config_map::ConfigMaps)),
        ("", "secrets") => Some(Arc::new(secret::Secrets)),
        _ => None,
    },
    columns,
    warnings: |change, found| {
        if (change.group, change.kind) == ("", "Secret") {
            found.extend(warnings::tls(change.object));
        }
    },
    ..NOTHING
};

fn columns(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "ConfigMap") => {
            let data = |object: &Value, _| (count(object, "data") + count(object, "binaryData")).into();
            vec![NAME, column("Data", "How many keys it has.", data), AGE]
        }
        ("", "Secret") => {
            let data = |object: &Value, _| count(object, "data").into();
            let kind =
                column("Type", "What kind of secret it is.", |object, _| text(object, &["type"]).into());
            vec![NAME, kind, column("Data", "How many keys it has.", data), AGE]
        }
        _ => return None,
    })
}
