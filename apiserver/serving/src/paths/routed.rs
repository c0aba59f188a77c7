//! Paths that kube-apiserver's router knows, which differ from other paths in methods and media types.

use registry::Definitions;

/// Returns whether the path accepts only certain methods and media types.
pub(crate) fn is_routed(definitions: &Definitions, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    matches!(path, "/api" | "/api/v1" | "/version")
        || is_built_in_group(definitions, path) && path.matches('/').count() == 3
}

/// Returns whether the path is below a group that has built-in kinds.
pub(crate) fn is_built_in_group(definitions: &Definitions, path: &str) -> bool {
    let Some(group) = path.strip_prefix("/apis/").and_then(|rest| rest.split('/').next()) else {
        return false;
    };
    definitions.iter().any(|one| one.built_in && one.group == group)
}
