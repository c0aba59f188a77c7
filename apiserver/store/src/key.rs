//! Keys of objects, in the form `/registry/<group>/<resource>/<namespace>/<name>`.

use std::fmt;
use std::sync::Arc;

/// The root of all keys, as in the etcd layout of Kubernetes.
const ROOT: &str = "/registry/";

/// The segment for the core group, whose API name is empty. No other group has this name, because all others are
/// domains or one of the few built-in words (`apps`, `batch`, ...).
const CORE_GROUP: &str = "core";

/// A part that a key cannot contain. No object can have such a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part} {value:?} cannot be part of a storage key")]
pub struct InvalidKey {
    /// The name of the part: `group`, `resource`, `namespace`, `name` or `key`.
    pub part: &'static str,
    /// The refused value.
    pub value: String,
}

/// The key of one object. Cluster-scoped objects have no namespace segment. Cloning is cheap. Keys are ordered by their
/// bytes, as in etcd.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// Returns the key of the object `name`. `namespace` is `None` for a cluster-scoped resource, and the core group is
    /// the empty string.
    ///
    /// # Errors
    /// A part is empty, `.` or `..`, or contains `/`, `%` or a control character. No object has such a name.
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

    /// Parses the text form of a key from an engine.
    ///
    /// # Errors
    /// `text` is not a key.
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

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn segment(&self, index: usize) -> &str {
        self.0.get(ROOT.len()..).and_then(|path| path.split('/').nth(index)).unwrap_or_default()
    }

    fn namespaced(&self) -> bool {
        self.0.bytes().filter(|byte| *byte == b'/').count() == 5
    }

    /// Returns the API group, empty for the core group.
    pub fn group(&self) -> &str {
        match self.segment(0) {
            CORE_GROUP => "",
            group => group,
        }
    }

    /// Returns the resource, in plural and lower case.
    pub fn resource(&self) -> &str {
        self.segment(1)
    }

    /// Returns the namespace, or `None` for a cluster-scoped object.
    pub fn namespace(&self) -> Option<&str> {
        self.namespaced().then(|| self.segment(2))
    }

    /// Returns the object's name.
    pub fn name(&self) -> &str {
        if self.namespaced() { self.segment(3) } else { self.segment(2) }
    }

    /// Returns the prefixes of the resource and, if there is one, of the namespace.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        self.covering().filter(|prefix| is_folder(prefix))
    }

    /// Returns all prefixes that cover this key, shortest first: all keys, the group, the resource, the namespace, the
    /// object.
    pub fn covering(&self) -> impl Iterator<Item = &str> {
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

/// A part of the key space: all keys, a group, a resource, a namespace of a resource, or one object. A prefix that ends
/// with `/` covers the keys below it, and any other prefix covers the key that it is equal to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Returns the prefix of all keys.
    pub fn all() -> Self {
        Self(ROOT.into())
    }

    /// Returns the prefix of a group. The core group is the empty string.
    ///
    /// # Errors
    /// As for [`Key::new`].
    pub fn group(group: &str) -> Result<Self, InvalidKey> {
        let group = if group.is_empty() { CORE_GROUP } else { group };
        check("group", group)?;
        Ok(Self(format!("{ROOT}{group}/").into()))
    }

    /// Returns the prefix of a resource in all namespaces.
    ///
    /// # Errors
    /// As for [`Key::new`].
    pub fn resource(group: &str, resource: &str) -> Result<Self, InvalidKey> {
        check("resource", resource)?;
        Ok(Self(format!("{}{resource}/", Self::group(group)?.0).into()))
    }

    /// Returns the prefix of a resource in one namespace.
    ///
    /// # Errors
    /// As for [`Key::new`].
    pub fn namespace(group: &str, resource: &str, namespace: &str) -> Result<Self, InvalidKey> {
        check("namespace", namespace)?;
        Ok(Self(format!("{}{namespace}/", Self::resource(group, resource)?.0).into()))
    }

    /// Returns the prefix that covers one object.
    pub fn object(key: &Key) -> Self {
        Self(key.0.clone())
    }

    /// Returns whether the prefix covers `key`.
    pub fn covers(&self, key: &Key) -> bool {
        if self.0.ends_with('/') { key.0.starts_with(&*self.0) } else { self.0 == key.0 }
    }

    /// Returns the prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text of the prefix of a resource or of a namespace of a resource; `None` for others.
    pub(crate) fn folder(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| is_folder(text))
    }

    /// Returns the smallest key that the prefix could cover.
    pub(crate) fn start(&self) -> Key {
        Key(self.0.clone())
    }
}

/// Whether a prefix is that of a resource, or of a namespace of a resource.
fn is_folder(prefix: &str) -> bool {
    prefix.ends_with('/') && matches!(prefix.bytes().filter(|byte| *byte == b'/').count(), 4 | 5)
}

fn check(part: &'static str, value: &str) -> Result<(), InvalidKey> {
    let refused = |character: char| character == '/' || character == '%' || character.is_control();
    if matches!(value, "" | "." | "..") || value.contains(refused) {
        return Err(InvalidKey { part, value: value.to_owned() });
    }
    Ok(())
}
