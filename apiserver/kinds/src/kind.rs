//! One built-in kind as a line of a table. The server stores and lists such kinds but does not act on them, because manifests
//! of providers contain them or clients list them. Their structure comes from [`crate::types`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::{self, LazySchema};

use crate::definition::{Definition, Scale, Structure, VERBS, Version};
use crate::strategy::Generation;
use crate::strategy::rules::{NONE, Rules};
use crate::subresource::Subresource;

/// A built-in kind with its names, its scope and the properties that differ from kind to kind.
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    /// The version that is stored and preferred, for example `v1`.
    pub(crate) version: &'static str,
    /// Other versions that are served.
    older: &'static [&'static str],
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    pub(crate) status: bool,
    scale: bool,
    verbs: &'static [&'static str],
    /// Subresources beside `status` and `scale`, for example `/approval`.
    parts: &'static [Subresource],
    /// The changes that increment `metadata.generation`.
    pub(crate) generation: Generation,
    /// Whether the client sets the status of a new object.
    pub(crate) status_from_client: bool,
    /// Whether a deletion without a propagation policy orphans the dependents, as for kinds that are older than garbage collection.
    pub(crate) orphans: bool,
    /// Whether a PUT may omit `metadata.resourceVersion`.
    pub(crate) unconditional: bool,
    /// Whether a PUT creates an object that does not exist.
    pub(crate) create_on_update: bool,
    /// Whether a DELETE responds with the deleted object instead of a `Status`.
    pub(crate) returns_deleted: bool,
    /// Fields that field selectors may use beside `metadata.name` and `metadata.namespace`.
    pub(crate) selectable: &'static [&'static str],
    /// The deprecation warning for requests of this kind.
    deprecation: Option<&'static str>,
    /// See [`crate::strategy::Strategy::metadata_repeats`].
    pub(crate) metadata_repeats: (usize, usize),
    /// See [`crate::strategy::Strategy::status_repeats_metadata`].
    pub(crate) status_repeats_metadata: bool,
    /// The rules that the structure does not express.
    pub(crate) rules: Rules,
}

/// Creates a namespaced kind of version `v1` without subresources.
pub(crate) const fn kind(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
) -> Kind {
    Kind {
        group,
        version: "v1",
        older: &[],
        kind,
        plural,
        short_names,
        categories: &[],
        namespaced: true,
        status: false,
        scale: false,
        verbs: &VERBS,
        parts: &[],
        generation: Generation::Untouched,
        status_from_client: false,
        orphans: false,
        unconditional: true,
        create_on_update: false,
        returns_deleted: false,
        selectable: &[],
        deprecation: None,
        metadata_repeats: (1, 1),
        status_repeats_metadata: true,
        rules: NONE,
    }
}

impl Kind {
    pub(crate) const fn cluster(self) -> Self {
        Self { namespaced: false, ..self }
    }

    pub(crate) const fn status(self) -> Self {
        Self { status: true, ..self }
    }

    /// Marks a kind that only has `create`, and whose objects are never stored.
    pub(crate) const fn answered(self) -> Self {
        Self { verbs: &["create"], ..self }
    }

    pub(crate) const fn scale(self) -> Self {
        Self { scale: true, ..self }
    }

    pub(crate) const fn parts(self, parts: &'static [Subresource]) -> Self {
        Self { parts, ..self }
    }

    /// Increments `metadata.generation` at each change of the spec.
    pub(crate) const fn generation(self) -> Self {
        self.generation_of(Generation::Spec)
    }

    pub(crate) const fn generation_of(self, generation: Generation) -> Self {
        Self { generation, ..self }
    }

    pub(crate) const fn status_from_client(self) -> Self {
        Self { status_from_client: true, ..self }
    }

    pub(crate) const fn orphans(self) -> Self {
        Self { orphans: true, ..self }
    }

    pub(crate) const fn conditional(self) -> Self {
        Self { unconditional: false, ..self }
    }

    pub(crate) const fn create_on_update(self) -> Self {
        Self { create_on_update: true, ..self }
    }

    pub(crate) const fn returns_deleted(self) -> Self {
        Self { returns_deleted: true, ..self }
    }

    pub(crate) const fn all(self) -> Self {
        Self { categories: &["all"], ..self }
    }

    pub(crate) const fn extension(self) -> Self {
        Self { categories: &["api-extensions"], ..self }
    }

    pub(crate) const fn versions(self, version: &'static str, older: &'static [&'static str]) -> Self {
        Self { version, older, ..self }
    }

    pub(crate) const fn selectable(self, selectable: &'static [&'static str]) -> Self {
        Self { selectable, ..self }
    }

    pub(crate) const fn deprecated(self, warning: &'static str) -> Self {
        Self { deprecation: Some(warning), ..self }
    }

    pub(crate) const fn metadata_repeats(self, content: usize, finalizers: usize) -> Self {
        Self { metadata_repeats: (content, finalizers), ..self }
    }

    pub(crate) const fn status_without_metadata(self) -> Self {
        Self { status_repeats_metadata: false, ..self }
    }

    pub(crate) const fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Returns the name of the type in [`crate::types`].
    pub(crate) fn type_name(&self) -> String {
        types::name_of(self.group, self.version, self.kind)
    }

    fn version_named(&self, name: &str) -> Arc<Version> {
        let schema = LazySchema::new(types::name_of(self.group, name, self.kind));
        Arc::new(Version {
            name: name.to_owned(),
            served: true,
            deprecation_warning: self.deprecation.map(str::to_owned),
            schema: Structure::Known(Arc::new(schema)),
            schema_text: Arc::default(),
            columns: Vec::new(),
            status: self.status,
            scale: self.scale.then(|| Scale {
                spec_replicas_path: ".spec.replicas".to_owned(),
                status_replicas_path: ".status.replicas".to_owned(),
                label_selector_path: Some(".spec.selector".to_owned()),
            }),
            parts: self.parts,
            selectable_fields: Vec::new(),
        })
    }

    /// Creates the definition of the kind.
    pub(crate) fn definition(&self) -> Definition {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        Definition {
            group: self.group.to_owned(),
            plural: self.plural.to_owned(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            short_names: texts(self.short_names),
            categories: texts(self.categories),
            namespaced: self.namespaced,
            versions: [self.version].iter().chain(self.older).map(|name| self.version_named(name)).collect(),
            storage_version: self.version.to_owned(),
            verbs: self.verbs.to_vec(),
            built_in: true,
            conversion: None,
            converter: None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        }
    }
}
