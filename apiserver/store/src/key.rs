//! Where an object is stored: `/registry/<group>/<resource>/<namespace>/<name>`.

use std::fmt;
use std::sync::Arc;

/// The root of all keys, as Kubernetes lays them out in etcd.
const ROOT: &str = "/registry/";

/// The segment that stands for the core group, whose API name is empty. No other group can have it: every other group
/// is a domain, or one of the few built-in words (`apps`, `batch`, ...).
const CORE_GROUP: &str = "core";

/// A part that cannot stand in a key; no object can have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {value:?} cannot be part of a storage key")]
pub struct InvalidKey {
    /// Which part: `group`, `resource`, `namespace`, `name` or `key`.
    pub part: &'static str,
    /// What was given.
    pub value: String,
}

/// The key of one object. Cluster-scoped objects have no namespace segment. Cheap to clone. Keys order by their bytes, as in etcd.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// The key of object `name`; `namespace` is `None` for a cluster-scoped resource. The core group is the empty string.
    ///
    /// # Errors
    /// A part that is empty, `.` or `..`, or contains `/`, `%` or a control character cannot be a key: no object has such a name.
    pub fn new(group: &str, resource: &str, namespace: Option<&str>, name: &str) -> Result<Self, InvalidKey> {
        let mut text = Prefix::resource(group, resource)?.0.to_string();
        if let Some(namespace) = namespace {
            check("namespace", namespace)?;
            text.push_str(namespace);
            text.push('/');
        }
        check("name", name)?;
        text.push_str(name);
        Ok(Self(text.into()))
    }

    /// Reads the text form of a key, as an engine stored it.
    ///
    /// # Errors
    /// When `text` is not the text of a key.
    pub fn parse(text: &str) -> Result<Self, InvalidKey> {
        let invalid = || InvalidKey { part: "key", value: text.to_owned() };
        let segments: Vec<&str> = text.strip_prefix(ROOT).ok_or_else(invalid)?.split('/').collect();
        if !(3..=4).contains(&segments.len()) {
            return Err(invalid());
        }
        for segment in segments {
            check("key", segment)?;
        }
        Ok(Self(text.into()))
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn segment(&self, index: usize) -> &str {
        self.0.get(ROOT.len()..).and_then(|path| path.split('/').nth(index)).unwrap_or_default()
    }

    fn namespaced(&self) -> bool {
        self.0.bytes().filter(|byte| *byte == b'/').count() == 5
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        match self.segment(0) {
            CORE_GROUP => "",
            group => group,
        }
    }

    /// The resource: plural, lower case.
    pub fn resource(&self) -> &str {
        self.segment(1)
    }

    /// The namespace; `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.namespaced().then(|| self.segment(2))
    }

    /// The object's name.
    pub fn name(&self) -> &str {
        if self.namespaced() { self.segment(3) } else { self.segment(2) }
    }

    /// Every prefix that covers this key, the shortest first: all, group, resource, namespace, the object itself.
    pub(crate) fn covering(&self) -> impl Iterator<Item = &str> {
        let inner = self.0.match_indices('/').skip(1).filter_map(|(end, _)| self.0.get(..=end));
        inner.chain(std::iter::once(&*self.0))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A part of the key space: everything, a group, a resource, a namespace of a resource, or one object.
/// It ends with `/` and covers what is below, or it is the key of one object and covers that alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Everything.
    pub fn all() -> Self {
        Self(ROOT.into())
    }

    /// Every object of a group; the core group is the empty string.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub fn group(group: &str) -> Result<Self, InvalidKey> {
        let group = if group.is_empty() { CORE_GROUP } else { group };
        check("group", group)?;
        Ok(Self(format!("{ROOT}{group}/").into()))
    }

    /// Every object of a resource, in all namespaces.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub fn resource(group: &str, resource: &str) -> Result<Self, InvalidKey> {
        check("resource", resource)?;
        Ok(Self(format!("{}{resource}/", Self::group(group)?.0).into()))
    }

    /// Every object of a resource in one namespace.
    ///
    /// # Errors
    /// As [`Key::new`].
    pub fn namespace(group: &str, resource: &str, namespace: &str) -> Result<Self, InvalidKey> {
        check("namespace", namespace)?;
        Ok(Self(format!("{}{namespace}/", Self::resource(group, resource)?.0).into()))
    }

    /// One object.
    pub fn object(key: &Key) -> Self {
        Self(key.0.clone())
    }

    /// Whether `key` is covered.
    pub fn covers(&self, key: &Key) -> bool {
        if self.0.ends_with('/') { key.0.starts_with(&*self.0) } else { self.0 == key.0 }
    }

    /// The text of the prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The smallest key that could be covered.
    pub(crate) fn start(&self) -> Key {
        Key(self.0.clone())
    }
}

fn check(part: &'static str, value: &str) -> Result<(), InvalidKey> {
    let refused = |character: char| character == '/' || character == '%' || character.is_control();
    if matches!(value, "" | "." | "..") || value.contains(refused) {
        return Err(InvalidKey { part, value: value.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for (group, namespace) in [("", None), ("", Some("default")), ("apps.g.io", Some("a-b"))] {
            let key = Key::new(group, "things", namespace, "one").unwrap();
            assert_eq!(
                (key.group(), key.resource(), key.namespace(), key.name()),
                (group, "things", namespace, "one")
            );
            assert_eq!(Key::parse(key.as_str()).unwrap(), key);
        }
        assert_eq!(Key::new("", "pods", Some("a"), "b").unwrap().as_str(), "/registry/core/pods/a/b");
        assert_eq!(Key::new("", "nodes", None, "b").unwrap().as_str(), "/registry/core/nodes/b");
    }

    #[test]
    fn no_part_can_leave_its_place() {
        for bad in ["", ".", "..", "a/b", "/", "a%2fb", "a\nb", "a\0"] {
            assert!(Key::new("g.io", "things", Some("ns"), bad).is_err(), "{bad:?}");
            assert!(Key::new("g.io", "things", Some(bad), "name").is_err(), "{bad:?}");
            assert!(Key::new("g.io", bad, None, "name").is_err(), "{bad:?}");
            assert!(Prefix::namespace("g.io", "things", bad).is_err(), "{bad:?}");
        }
        for bad in
            ["", "/registry/", "/registry/a/b", "/registry/a/b/c/d/e", "/registry/a//c", "registry/a/b/c"]
        {
            assert!(Key::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn prefixes_cover_whole_segments_only() {
        let key = Key::new("g.io", "things", Some("ns"), "name").unwrap();
        let longer = Key::new("g.io", "things", Some("ns"), "name-2").unwrap();
        let neighbour = Key::new("g.io", "things", Some("ns2"), "name").unwrap();
        assert!(Prefix::object(&key).covers(&key) && !Prefix::object(&key).covers(&longer));
        let namespace = Prefix::namespace("g.io", "things", "ns").unwrap();
        assert!(namespace.covers(&key) && namespace.covers(&longer) && !namespace.covers(&neighbour));
        assert!(Prefix::resource("g.io", "things").unwrap().covers(&neighbour));
        assert!(!Prefix::resource("g.io", "thing").unwrap().covers(&neighbour));
        let covering: Vec<&str> = key.covering().collect();
        assert_eq!(
            covering,
            [
                "/registry/",
                "/registry/g.io/",
                "/registry/g.io/things/",
                "/registry/g.io/things/ns/",
                "/registry/g.io/things/ns/name"
            ]
        );
    }
}
