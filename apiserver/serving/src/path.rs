//! Which resource a path names.

/// A path below `/api/{version}/` or `/apis/{group}/{version}/`, in its decoded segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// Empty for cluster-scoped resources and across namespaces.
    pub(crate) namespace: String,
    pub(crate) resource: String,
    /// Empty for collections.
    pub(crate) name: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// What follows the subresource, without its leading slash.
    pub(crate) rest: String,
}

impl ResourcePath {
    /// `None` for a path that names no resource: everything else, discovery among it.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut segments = path.trim_matches('/').split('/').map(decode_segment);
        let mut parsed = Self::default();
        match segments.next()?.as_str() {
            "api" => {}
            "apis" => parsed.group = segments.next()?,
            _ => return None,
        }
        parsed.version = segments.next()?;
        let rest: Vec<String> = segments.collect();
        let mut rest = rest.as_slice();
        if rest.is_empty() || parsed.version.is_empty() {
            return None;
        }
        if let [first, namespace, tail @ ..] = rest
            && first == "namespaces"
        {
            parsed.namespace.clone_from(namespace);
            // `namespaces/x/status` is a part of the namespace, `namespaces/x/configmaps` stands in it.
            if tail.first().is_some_and(|next| next != "status" && next != "finalize") {
                rest = tail;
            }
        }
        let mut rest = rest.iter().cloned();
        parsed.resource = rest.next().unwrap_or_default();
        parsed.name = rest.next().unwrap_or_default();
        parsed.subresource = rest.next().unwrap_or_default();
        parsed.rest = rest.collect::<Vec<_>>().join("/");
        Some(parsed)
    }

    /// The namespace of the objects behind this path: a namespace itself stands in none.
    pub(crate) fn objects_namespace(&self) -> &str {
        if self.group.is_empty() && self.resource == "namespaces" { "" } else { &self.namespace }
    }
}

/// Percent escapes; `+` is itself in a path.
fn decode_segment(segment: &str) -> String {
    if segment.contains('%') {
        crate::options::decode(&segment.replace('+', "%2B"))
    } else {
        segment.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_resources() {
        // path, group, version, namespace, resource, name, subresource, rest
        let table = [
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", "", ""]),
            ("/api/v1/namespaces/x", ["", "v1", "x", "namespaces", "x", "", ""]),
            ("/api/v1/namespaces/x/status", ["", "v1", "x", "namespaces", "x", "status", ""]),
            ("/api/v1/namespaces/x/finalize", ["", "v1", "x", "namespaces", "x", "finalize", ""]),
            ("/api/v1/namespaces/x/secrets", ["", "v1", "x", "secrets", "", "", ""]),
            ("/api/v1/namespaces/x/pods/p/proxy/a/b", ["", "v1", "x", "pods", "p", "proxy", "a/b"]),
            ("/apis/g.io/v1/things/t", ["g.io", "v1", "", "things", "t", "", ""]),
            ("/apis/g.io/v1/namespaces/n/things/a%3Ab+c", ["g.io", "v1", "n", "things", "a:b+c", "", ""]),
        ];
        for (path, expected) in table {
            let parsed = ResourcePath::parse(path).unwrap();
            let found = [
                &parsed.group,
                &parsed.version,
                &parsed.namespace,
                &parsed.resource,
                &parsed.name,
                &parsed.subresource,
                &parsed.rest,
            ];
            assert_eq!(found, expected.each_ref(), "{path}");
        }
        for path in ["/", "/api", "/api/", "/api/v1", "/apis/g.io/v1/", "/version", "/apis/g.io"] {
            assert_eq!(ResourcePath::parse(path), None, "{path}");
        }
    }
}
