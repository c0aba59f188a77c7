//! Validation of `resourceFieldRef`, which environment variables and volumes use.

use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::{invalid, text};

/// Validates a `resourceFieldRef` of an environment variable or of a downward API file.
pub(crate) fn resource_ref(reference: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const RESOURCES: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = text(reference, "resource");
    let known = RESOURCES.contains(&resource)
        || ["limits.hugepages-", "requests.hugepages-"].iter().any(|start| resource.starts_with(start));
    if !resource.is_empty() && !known {
        let allowed = RESOURCES.map(Value::from);
        let field = format!("{path}.resourceFieldRef.resource");
        errors.push(FieldError::not_supported(field, &resource.into(), &allowed));
    }
    const OF_BYTES: [&str; 13] =
        ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let divisor = text(reference, "divisor");
    let (allowed, shown): (&[&str], _) = match resource.split_once('.').map(|(_, name)| name) {
        Some("cpu") => (&["1m", "1"], "1m and 1 are supported with the cpu resource".to_owned()),
        Some(name) => {
            let what = match name {
                "ephemeral-storage" => "local ephemeral storage",
                "memory" => "memory",
                _ => "hugepages",
            };
            (&OF_BYTES, format!("{} are supported with the {what} resource", OF_BYTES.join(", ")))
        }
        None => return,
    };
    if !matches!(divisor, "" | "0") && !allowed.contains(&divisor) {
        let why = format!("only divisor's values {shown}");
        errors.push(invalid(format!("{path}.resourceFieldRef.divisor"), resource, why));
    }
}
