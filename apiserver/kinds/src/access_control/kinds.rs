//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use super::{columns, roles, service_account};
use crate::columns::{AGE, CREATED, Column, NAME};
use crate::strategy::Strategy;
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "rbac.authorization.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[
        include_str!("serviceaccount.json"),
        include_str!("role.json"),
        include_str!("rolebinding.json"),
        include_str!("clusterrole.json"),
        include_str!("clusterrolebinding.json"),
    ],
    strategy,
    columns,
    ..NOTHING
};

fn strategy(group: &str, plural: &str) -> Option<Arc<dyn Strategy>> {
    Some(match (group, plural) {
        ("", "serviceaccounts") => Arc::new(service_account::ServiceAccounts),
        (GROUP, "roles") => Arc::new(roles::Roles { cluster: false }),
        (GROUP, "clusterroles") => Arc::new(roles::Roles { cluster: true }),
        (GROUP, "rolebindings") => Arc::new(roles::Bindings { cluster: false }),
        (GROUP, "clusterrolebindings") => Arc::new(roles::Bindings { cluster: true }),
        _ => return None,
    })
}

fn columns(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "ServiceAccount") => vec![NAME, AGE],
        (GROUP, "Role" | "ClusterRole") => vec![NAME, CREATED],
        (GROUP, "RoleBinding") => columns::binding("roleBinding"),
        (GROUP, "ClusterRoleBinding") => columns::binding("clusterRoleBinding"),
        _ => return None,
    })
}
