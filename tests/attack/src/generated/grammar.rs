//! Generates random requests from a seed.

use std::collections::BTreeMap;

use http::Method;
use machinery::random::Random;
use serde_json::{Map, Value, json};

use crate::caller::Ask;
use crate::lab::{MINE, OTHER, PLANTED};
use crate::routes::Resource;

/// The source of random requests.
pub struct Grammar<'a> {
    pub random: Random,
    pub resources: &'a [Resource],
    /// Stored objects by path, without secret content; request bodies are derived from them.
    pub objects: &'a BTreeMap<String, Value>,
}

const SEGMENTS: &[&str] = &[
    "",
    "api",
    "apis",
    "v1",
    "v1beta1",
    "namespaces",
    "namespaces",
    MINE,
    OTHER,
    PLANTED,
    "configmaps",
    "secrets",
    "pods",
    "default",
    "status",
    "scale",
    "finalize",
    "watch",
    "proxy",
    "log",
    "exec",
    "token",
    "..",
    ".",
    "%2e%2e",
    "%2F",
    "%00",
    "%25",
    "%C3%28",
    "*",
    "kube-system",
    "roles",
    "a:b",
    "a%20b",
    "kube-root-ca.crt",
    "%F0%9F%A6%80",
];
const SUBRESOURCES: &[&str] =
    &["status", "scale", "finalize", "token", "approval", "log", "proxy", "exec", "eviction", "binding", "x"];
const METHODS: &[&str] = &[
    "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "OPTIONS",
    "TRACE", "BREW",
];
const QUERIES: &[&str] = &[
    "watch",
    "watch=true",
    "watch=0",
    "watch=maybe",
    "limit=1",
    "limit=-1",
    "limit=99999999999999999999",
    "continue=x",
    "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
    "labelSelector=a%3Db",
    "labelSelector=a+in+(b,c)",
    "labelSelector=%21%21",
    "labelSelector=(",
    "fieldSelector=metadata.name%3Dplanted",
    "fieldSelector=metadata.namespace%21%3Dmine",
    "fieldSelector=spec.nodeName%3D",
    "fieldSelector=%5C",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=18446744073709551615",
    "resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan",
    "allowWatchBookmarks=true",
    "sendInitialEvents=true",
    "timeoutSeconds=1",
    "timeoutSeconds=-5",
    "timeout=1s",
    "timeout=1ns",
    "timeout=x",
    "dryRun=All",
    "dryRun=x",
    "fieldManager=m",
    "fieldManager=%FF",
    "force=true",
    "force=x",
    "fieldValidation=Strict",
    "fieldValidation=Ignore",
    "fieldValidation=x",
    "pretty=1",
    "gracePeriodSeconds=0",
    "gracePeriodSeconds=-1",
    "propagationPolicy=Foreground",
    "propagationPolicy=x",
    "orphanDependents=true",
    "ignoreStoreReadErrorWithClusterBreakingPotential=true",
    "includeObject=Object",
    "namespace=other",
    "path=..",
    "=",
    "&&",
    "%",
    "%ff=%fe",
];
const HEADERS: &[(&str, &str)] = &[
    ("accept", "application/json"),
    ("accept", "application/yaml"),
    ("accept", "application/vnd.kubernetes.protobuf"),
    ("accept", "application/cbor"),
    ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ("accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"),
    ("accept", "application/json;stream=watch"),
    ("accept", "text/html"),
    ("accept", "*/*;q=0"),
    ("accept", ";;,,"),
    ("accept-encoding", "gzip"),
    ("accept-encoding", "br;q=1, *;q=0"),
    ("content-encoding", "gzip"),
    ("content-encoding", "x"),
    ("if-match", "*"),
    ("if-none-match", "\"x\""),
    ("range", "bytes=0-1"),
    ("user-agent", "kubectl/v1.36"),
    ("user-agent", "/"),
    ("impersonate-user", "kubernetes-admin"),
    ("impersonate-user", ""),
    ("impersonate-user", "system:serviceaccount:kube-system:default"),
    ("impersonate-group", "system:masters"),
    ("impersonate-extra-a%2fb", "x"),
    ("impersonate-uid", "1"),
    ("x-remote-user", "kubernetes-admin"),
    ("x-remote-group", "system:masters"),
    ("x-forwarded-uri", "/metrics"),
    ("x-http-method-override", "DELETE"),
    ("x-original-url", "/api/v1/secrets"),
    ("kubernetes-dry-run", "All"),
    ("upgrade", "websocket"),
    ("te", "trailers"),
    ("origin", "http://evil"),
];
const TYPES: &[&str] = &[
    "application/json",
    "application/json",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "text/plain",
    "application/json; charset=utf-16",
    "*/*",
    "x",
    "",
];
const KEYS: &[&str] = &[
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "fieldsV1",
    "resourceVersion",
    "uid",
    "generateName",
    "deletionTimestamp",
    "spec",
    "status",
    "data",
    "binaryData",
    "stringData",
    "rules",
    "roleRef",
    "subjects",
    "template",
    "containers",
    "replicas",
    "selector",
    "matchLabels",
    "apiVersion",
    "kind",
    "items",
    "$patch",
    "$setElementOrder/ports",
    "$retainKeys",
    "ports",
    "op",
    "path",
    "value",
    "from",
    "clusterName",
    "topology",
    "version",
    "",
    "\u{0}",
    "f:metadata",
    ".",
    "k:{\"a\":1}",
];

impl Grammar<'_> {
    /// Returns a number below `end`.
    fn below(&self, end: usize) -> usize {
        usize::try_from(self.random.number() % end.max(1) as u64).unwrap_or_default()
    }

    fn one<T: Copy>(&self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// Returns `true` with a probability of one in `times`.
    fn once_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Generates a request.
    pub fn ask(&self) -> Ask {
        let any = self.below(self.resources.len());
        // Half of the requests go to namespaced resources, since the tenant may access little else.
        let resource =
            self.resources.iter().cycle().skip(any).find(|one| one.is_namespaced || any.is_multiple_of(2));
        let Some(resource) = resource else { return Ask::default() };
        let method = Method::from_bytes(self.one(METHODS).as_bytes()).unwrap_or_default();
        let mut target =
            if self.once_in(6) { self.any_path() } else { self.route(resource, method == Method::POST) };
        for at in 0..self.below(4) {
            target.push(if at == 0 { '?' } else { '&' });
            target.push_str(self.one(QUERIES));
        }
        let mut ask = Ask::new(method.clone(), target);
        for _ in 0..self.below(3).saturating_sub(1) {
            let (name, value) = self.one(HEADERS);
            ask = ask.header(name, value);
        }
        if self.once_in(40) {
            let mut bytes = vec![0; self.below(40)];
            self.random.fill(&mut bytes);
            bytes.retain(|byte| *byte >= 0x20 && *byte != 0x7f);
            let name = self.one(&[
                "impersonate-user",
                "impersonate-group",
                "authorization",
                "accept",
                "content-type",
                "user-agent",
            ]);
            ask = ask.header(name, bytes);
        }
        if ["POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) && !self.once_in(8) {
            let body = self.body(resource, method == Method::PATCH);
            let usual = match &method {
                method if *method == Method::PATCH => self.one(&TYPES[6..10]),
                _ => TYPES[0],
            };
            ask = ask.body(if self.once_in(4) { self.one(TYPES) } else { usual }, body);
        }
        ask
    }

    fn any_path(&self) -> String {
        (0..=self.below(8)).map(|_| format!("/{}", self.one(SEGMENTS))).collect()
    }

    /// Generates the path of a resource, sometimes with an error in it.
    fn route(&self, resource: &Resource, is_new: bool) -> String {
        let mut segments: Vec<String> = resource.root().split('/').skip(1).map(str::to_owned).collect();
        if resource.is_namespaced != self.once_in(12) {
            let namespace = if self.once_in(5) { self.one(&[OTHER, "default", "none"]) } else { MINE };
            segments.extend(["namespaces", namespace].map(str::to_owned));
        }
        segments.push(resource.plural.clone());
        let is_named = if is_new { self.once_in(6) } else { !self.once_in(4) };
        if is_named {
            segments.push(self.one(&["x", "y", PLANTED, "default", "tenant", OTHER, MINE]).to_owned());
            if self.once_in(3) {
                segments.push(self.one(SUBRESOURCES).to_owned());
            }
        }
        if self.once_in(3) {
            let at = self.below(segments.len());
            match self.below(6) {
                0 => segments.insert(at, self.one(SEGMENTS).to_owned()),
                1 => drop(segments.remove(at)),
                2 => self.one(SEGMENTS).clone_into(&mut segments[at]),
                3 => segments[at] = segments[at].to_uppercase(),
                4 => segments.insert(at, segments[at].clone()),
                _ => segments.push(String::new()),
            }
        }
        format!("/{}", segments.join("/"))
    }

    fn body(&self, resource: &Resource, is_patch: bool) -> Vec<u8> {
        let mut value = if is_patch && self.once_in(4) {
            let operations = (0..self.below(5)).map(|_| {
                let (operation, path) =
                    (self.one(&["add", "remove", "replace", "move", "copy", "test", "x"]), self.pointer());
                json!({"op": operation, "path": path, "from": self.pointer(), "value": self.value(2)})
            });
            Value::from_iter(operations)
        } else {
            let mut object = self.object(resource);
            for _ in 0..self.below(4).saturating_sub(1) {
                object[self.one(KEYS)] = self.value(4);
            }
            if let Some(metadata) = object["metadata"].as_object_mut() {
                for _ in 0..self.below(3) {
                    metadata.insert(self.one(KEYS).to_owned(), self.value(3));
                }
            }
            object
        };
        if self.once_in(20) {
            value = self.value(6);
        }
        let mut bytes = value.to_string().into_bytes();
        if self.once_in(5) {
            for _ in 0..=self.below(4) {
                let at = self.below(bytes.len());
                match self.below(3) {
                    0 => bytes[at] = self.below(256) as u8,
                    1 => bytes.truncate(at),
                    _ => bytes.insert(at, self.one(b"{}[]\",:-#&*!%@`\n\t 0")),
                }
                if bytes.is_empty() {
                    break;
                }
            }
        }
        if self.once_in(15) {
            bytes.splice(0..0, *b"k8s\0");
        }
        bytes
    }

    /// Generates an object that could be created, sometimes based on a stored one.
    fn object(&self, resource: &Resource) -> Value {
        let start = format!("{}/{} ", resource.root(), resource.plural);
        let stored: Vec<&Value> = self
            .objects
            .range(start.clone()..)
            .take_while(|(place, _)| place.starts_with(&start))
            .map(|(_, object)| object)
            .collect();
        let mut object = if stored.is_empty() { json!({}) } else { self.one(&stored).clone() };
        object["apiVersion"] = resource.api_version().into();
        object["kind"] = resource.kind.as_str().into();
        let name = self.one(&["x", "x", "y", "y", PLANTED, "Bad_Name", ""]);
        object["metadata"] = json!({"name": name, "labels": {"a": "b"}});
        object
    }

    fn pointer(&self) -> String {
        (0..self.below(4))
            .map(|_| {
                format!(
                    "/{}",
                    self.one(&[
                        "metadata",
                        "labels",
                        "a",
                        "data",
                        "-",
                        "0",
                        "99999999999",
                        "~1",
                        "~",
                        "spec",
                        ""
                    ])
                )
            })
            .collect()
    }

    fn value(&self, depth: usize) -> Value {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0 => Value::Null,
            1 => json!(self.once_in(2)),
            2 => json!(self.random.number().cast_signed()),
            3 => json!(self.random.fraction() * 1e300),
            4 => json!(""),
            5 => json!(self.one(KEYS)),
            6 => json!(self.one(&[
                "x",
                "1Gi",
                "100%",
                "2026-01-01T00:00:00Z",
                "\u{1F980}",
                "-1",
                "a=b",
                "10.0.0.0/8",
                "https://x/",
                "YQ=="
            ])),
            7 => json!(i64::MAX - self.below(3) as i64),
            8 | 9 => Value::from_iter((0..self.below(4)).map(|_| self.value(depth - 1))),
            _ => Value::Object(Map::from_iter(
                (0..self.below(5)).map(|_| (self.one(KEYS).to_owned(), self.value(depth - 1))),
            )),
        }
    }
}
