//! One node of a structural schema, as CustomResourceDefinitions carry them, in the form the server works with.
//!
//! Built-in kinds use the same type; `patch_*` and `presence` are set only for them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::enumerated::Enumerated;
use crate::pattern::Matcher;

/// One node of a structural schema. `Default` is a schema that says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// `type`; `None` where absent (allowed with int-or-string and preserve-unknown-fields).
    pub kind: Option<Kind>,
    /// `nullable`.
    pub nullable: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `properties`.
    pub properties: BTreeMap<String, Box<Schema>>,
    /// `additionalProperties` as a schema. `additionalProperties: true` is an empty schema.
    pub additional_properties: Option<Box<Schema>>,
    /// `items`.
    pub items: Option<Box<Schema>>,
    /// `x-kubernetes-list-type`; `None` means atomic.
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic_map: bool,
    /// `default`.
    pub default: Option<Value>,
    /// `x-kubernetes-patch-merge-key` of built-in kinds.
    pub patch_merge_key: Option<String>,
    /// `x-kubernetes-patch-strategy` of built-in kinds: `merge`, `replace`, `retainKeys`, comma-separated.
    pub patch_strategy: Option<String>,
    /// When a field of a built-in kind is written; `None` for fields of other kinds.
    pub presence: Option<Presence>,
    /// Everything that only validates.
    pub validation: Validation,
    /// `x-kubernetes-validations`, in order.
    pub rules: Vec<Rule>,
    /// Whether this node or any node below it has rules; set by [`Schema::parse`].
    pub has_rules: bool,
    /// Whether this node or any node below it has a default; set by [`Schema::parse`].
    pub has_defaults: bool,
    /// Whether this node or any node below it is a set or a map of items; set by [`Schema::parse`].
    pub has_lists: bool,
    /// Whether this node or any node below it is an embedded resource; set by [`Schema::parse`].
    pub has_embedded: bool,
    /// How large its values can be, and as a whole object; set by [`Schema::parse`].
    pub declared: [Option<Declared>; 2],
    /// The same for nodes whose values have the same structure; set by [`Schema::parse`].
    pub structure: u64,
}

/// The JSON types a schema can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `object`
    Object,
    /// `array`
    Array,
    /// `string`
    String,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `boolean`
    Boolean,
}

/// How a list is merged and validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// One unit.
    Atomic,
    /// Unique scalars.
    Set,
    /// Objects, unique by `list_map_keys`.
    Map,
}

/// Value validations of one node, and the logical junctors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// `required`.
    pub required: Vec<String>,
    /// `enum`.
    pub allowed: Option<Vec<Value>>,
    /// `format`.
    pub format: Option<String>,
    /// `pattern`.
    pub pattern: Option<String>,
    /// `minLength`, in Unicode code points.
    pub min_length: Option<u64>,
    /// `maxLength`, in Unicode code points.
    pub max_length: Option<u64>,
    /// `minItems`.
    pub min_items: Option<u64>,
    /// `maxItems`.
    pub max_items: Option<u64>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `minProperties`.
    pub min_properties: Option<u64>,
    /// `maxProperties`.
    pub max_properties: Option<u64>,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `allOf`.
    pub all_of: Vec<Schema>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// `oneOf`.
    pub one_of: Vec<Schema>,
    /// `not`.
    pub not: Option<Box<Schema>>,
    /// Whether the server checks the format; set by [`Schema::parse`].
    pub known_format: bool,
    /// `pattern`, compiled when first needed.
    pub matcher: Matcher,
    /// `enum`, to look values up in.
    pub enumerated: Enumerated,
}

/// One entry of `x-kubernetes-validations`, as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// CEL source.
    pub rule: String,
    /// `message`.
    pub message: Option<String>,
    /// `messageExpression`.
    pub message_expression: Option<String>,
    /// `reason`, one of the four that the API allows.
    pub reason: Option<String>,
    /// `fieldPath`, as `.spec.x`.
    pub field_path: Option<String>,
    /// `optionalOldSelf`.
    pub optional_old_self: bool,
}

/// When a field is written, as Go's `encoding/json` does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always; nil as null.
    Always,
    /// Unless it is zero.
    NotZero,
    /// Unless it is nil.
    NotNil,
    /// Always, a pointer: nil as null.
    Nullable,
    /// It has no name in JSON: its fields stand in the outer object.
    Inline,
}

/// What a schema says about the size of its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Of the smallest value as JSON.
    pub bytes: u64,
    /// The largest size; 0 for what has none.
    pub max: u64,
}
