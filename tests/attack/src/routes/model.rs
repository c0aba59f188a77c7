//! The meaning of a path, and which accounts may request it: a small model of Kubernetes' rules, written from
//! its documentation ("Authorization", "Using RBAC Authorization", "API concepts") and independent of this
//! server's code.

use std::borrow::Cow;

/// The meaning of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning {
    /// A resource, or a path in the form of one.
    Resource(Means),
    /// Any other path; the verb is the method in lower case.
    Other { verb: String, path: String },
}

/// A request for a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Means {
    pub verb: String,
    pub group: String,
    pub version: String,
    /// Namespace; empty across namespaces and for cluster-scoped resources. A Namespace counts as being in
    /// itself.
    pub namespace: String,
    pub resource: String,
    pub name: String,
    pub subresource: String,
    /// Whether `namespaces/NAMESPACE/` precedes the resource.
    pub is_below_namespace: bool,
    /// Number of segments from the resource on.
    pub segments: usize,
}

/// Returns the meaning of a path with its query, as sent.
pub fn meaning(method: &str, target: &str) -> Meaning {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = decoded(path);
    resource(method, &path, query).map_or_else(
        || Meaning::Other { verb: method.to_lowercase(), path: path.clone().into_owned() },
        Meaning::Resource,
    )
}

fn resource(method: &str, path: &str, query: &str) -> Option<Means> {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, mut rest) = match segments.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return None,
    };
    let mut verb = match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    };
    // In the old forms of watch and proxy the verb is part of the path.
    let old = rest.first().filter(|first| ["watch", "proxy"].contains(first));
    if let Some(first) = old {
        verb = first;
        rest = &rest[1..];
    }
    let mut means = Means { group: group.into(), version: version.into(), ..Means::default() };
    if let ["namespaces", namespace, below @ ..] = rest {
        (*namespace).clone_into(&mut means.namespace);
        // The subresources of a Namespace directly follow its name.
        if below.first().is_some_and(|next| !["status", "finalize"].contains(next)) {
            rest = below;
            means.is_below_namespace = true;
        }
    }
    let at = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
    (means.resource, means.name, means.subresource) = (at(0), at(1), at(2));
    means.segments = rest.len();
    rest.first()?;
    if means.name.is_empty() && old.is_none() {
        let watches = value(query, "watch").is_some_and(|value| !["false", "0"].contains(&&*value));
        verb = match verb {
            "get" if watches => "watch",
            "get" => "list",
            "delete" => "deletecollection",
            verb => verb,
        };
        // A request that selects a name is authorized like a request for that name.
        let selector = value(query, "fieldSelector").unwrap_or_default();
        let name = selector.strip_prefix("metadata.name=").map(|name| name.trim_start_matches('='));
        if ["list", "watch", "deletecollection"].contains(&verb) && !selector.contains(',') {
            name.unwrap_or_default().clone_into(&mut means.name);
        }
    }
    verb.clone_into(&mut means.verb);
    Some(means)
}

fn value(query: &str, key: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name == key).then(|| decoded(value).into_owned())
    })
}

/// Decodes the percent escapes of the whole path, so that an escaped slash is a slash.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                plain.push(byte);
                rest = &behind[2..];
            }
            _ => {
                plain.push(*first);
                rest = behind;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

/// An RBAC rule, in one namespace or everywhere.
pub struct Rule {
    /// The namespace; `None` for all.
    pub namespace: Option<&'static str>,
    pub verbs: &'static [&'static str],
    pub groups: &'static [&'static str],
    /// `RESOURCE` or `RESOURCE/SUBRESOURCE`.
    pub resources: &'static [&'static str],
}

impl Rule {
    fn allows(&self, means: &Means) -> bool {
        let has = |list: &[&str], one: &str| list.contains(&"*") || list.contains(&one);
        let resource = match means.subresource.as_str() {
            "" => means.resource.clone(),
            subresource => format!("{}/{subresource}", means.resource),
        };
        self.namespace.is_none_or(|namespace| namespace == means.namespace)
            && has(self.verbs, &means.verb)
            && has(self.groups, &means.group)
            && has(self.resources, &resource)
    }
}

/// Paths of health and version, which everybody may get (`system:public-info-viewer`).
const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
/// Paths that all authenticated users may get (`system:discovery`); a trailing star matches any rest.
const DISCOVERY: &[&str] = &["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];
/// Paths that service accounts may get (`system:service-account-issuer-discovery`).
const ISSUER: &[&str] = &["/.well-known/openid-configuration", "/openid/v1/jwks"];
/// Reviews that all authenticated users may request about themselves (`system:basic-user`).
const BASIC: &[Rule] = &[
    Rule {
        namespace: None,
        verbs: &["create"],
        groups: &["authorization.k8s.io"],
        resources: &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    Rule {
        namespace: None,
        verbs: &["create"],
        groups: &["authentication.k8s.io"],
        resources: &["selfsubjectreviews"],
    },
];

/// An account that sends requests.
pub struct Account {
    /// Name in the lab; `anonymous` sends no credentials.
    pub name: &'static str,
    /// Rules granted in addition to those of every account.
    pub rules: &'static [Rule],
}

/// The four accounts of the scenario.
pub const ACCOUNTS: &[Account] = &[
    Account { name: "anonymous", rules: &[] },
    Account { name: "plain", rules: &[] },
    Account {
        name: "tenant",
        rules: &[Rule {
            namespace: Some(crate::lab::MINE),
            verbs: &["*"],
            groups: &["*"],
            resources: &["*"],
        }],
    },
    Account {
        name: "reader",
        rules: &[Rule {
            namespace: None,
            verbs: &["get", "list", "watch"],
            groups: &[""],
            resources: &["configmaps"],
        }],
    },
];

impl Account {
    /// Returns whether the account may send this request.
    pub fn may(&self, meaning: &Meaning) -> bool {
        let is_known = self.name != "anonymous";
        match meaning {
            Meaning::Resource(means) => {
                self.rules.iter().any(|rule| rule.allows(means))
                    || (is_known && BASIC.iter().any(|rule| rule.allows(means)))
            }
            Meaning::Other { verb, path } => {
                let listed = |list: &[&str]| {
                    list.iter().any(|one| match one.strip_suffix('*') {
                        Some(start) => path.starts_with(start),
                        None => one == path,
                    })
                };
                verb == "get" && (listed(PUBLIC) || (is_known && (listed(DISCOVERY) || listed(ISSUER))))
            }
        }
    }
}
