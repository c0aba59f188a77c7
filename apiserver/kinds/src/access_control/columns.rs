//! Columns of bindings.

use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, wide};

pub(crate) fn binding(kind: &'static str) -> Vec<Column> {
    let role = |object: &Value, _| {
        format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"])).into()
    };
    let (users, groups) = match kind {
        "roleBinding" => ("Users in the roleBinding", "Groups in the roleBinding"),
        _ => ("Users in the clusterRoleBinding", "Groups in the clusterRoleBinding"),
    };
    vec![
        NAME,
        column("Role", "The role that is bound.", role),
        AGE,
        wide(column("Users", users, |object, _| subjects(object, "User"))),
        wide(column("Groups", groups, |object, _| subjects(object, "Group"))),
        wide(column("ServiceAccounts", "Service accounts that the role is bound to.", |object, _| {
            subjects(object, "ServiceAccount")
        })),
    ]
}

fn subjects(object: &Value, kind: &str) -> Value {
    let subjects = object["subjects"].as_array().into_iter().flatten();
    let names = subjects.filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = text(subject, &["name"]);
        if kind == "ServiceAccount" {
            format!("{}/{name}", text(subject, &["namespace"]))
        } else {
            name.to_owned()
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}
