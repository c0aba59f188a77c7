//! A node of a structural schema, as CustomResourceDefinitions contain them, in the form that the server works with.
//!
//! Built-in kinds use the same type. Only they have the fields `patch_*`, for strategic merge patches, and `presence`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::enumerated::Enumerated;
use crate::pattern::Matcher;

/// One node of a structural schema. `Default` is a schema without any restriction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// The keyword `type`, or `None` if absent, which is allowed with int-or-string and preserve-unknown-fields.
    pub kind: Option<Kind>,
    /// Whether null is allowed (`nullable`).
    pub nullable: bool,
    /// The keyword `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// The keyword `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// The keyword `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// The keyword `properties`, by name.
    pub properties: BTreeMap<String, Box<Schema>>,
    /// The keyword `additionalProperties` as a schema. `additionalProperties: true` is an empty schema.
    pub additional_properties: Option<Box<Schema>>,
    /// The schema of the items of a list (`items`).
    pub items: Option<Box<Schema>>,
    /// The keyword `x-kubernetes-list-type`; `None` means atomic.
    pub list_type: Option<ListType>,
    /// The keyword `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// Whether `x-kubernetes-map-type` is `atomic`.
    pub atomic_map: bool,
    /// The default value (`default`).
    pub default: Option<Value>,
    /// The keyword `x-kubernetes-patch-merge-key` of built-in kinds.
    pub patch_merge_key: Option<String>,
    /// The keyword `x-kubernetes-patch-strategy` of built-in kinds: `merge`, `replace`, `retainKeys`, comma-separated.
    pub patch_strategy: Option<String>,
    /// When a field of a built-in kind is encoded; `None` for fields of other kinds.
    pub presence: Option<Presence>,
    /// The keywords that only restrict values.
    pub validation: Validation,
    /// The rules in `x-kubernetes-validations`, in order.
    pub rules: Vec<Rule>,
    /// Whether this node or a node below it has rules; set by [`Schema::parse`].
    pub has_rules: bool,
    /// Whether this node or a node below it has a default; set by [`Schema::parse`].
    pub has_defaults: bool,
    /// Whether this node or a node below it is a list of type `set` or `map`; set by [`Schema::parse`].
    pub has_lists: bool,
    /// Whether this node or a node below it is an embedded resource; set by [`Schema::parse`].
    pub has_embedded: bool,
    /// The sizes that its values can have, as a plain value and as a whole object; set by [`Schema::parse`].
    pub declared: [Option<Declared>; 2],
    /// A hash that is equal for nodes whose values have the same structure; set by [`Schema::parse`].
    pub structure: u64,
}

/// The JSON types that `type` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The type `object`.
    Object,
    /// The type `array`.
    Array,
    /// The type `string`.
    String,
    /// The type `integer`.
    Integer,
    /// The type `number`.
    Number,
    /// The type `boolean`.
    Boolean,
}

/// The ways in which a list is merged and validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType {
    /// The list is merged as one value.
    Atomic,
    /// A set of unique scalars.
    Set,
    /// A list of objects with unique values of `list_map_keys`.
    Map,
}

/// The value validations of one node and its logical junctors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Validation {
    /// The names of required fields (`required`).
    pub required: Vec<String>,
    /// The allowed values (`enum`).
    pub allowed: Option<Vec<Value>>,
    /// The keyword `format`.
    pub format: Option<String>,
    /// The source of the regular expression (`pattern`).
    pub pattern: Option<String>,
    /// The keyword `minLength`, in Unicode code points.
    pub min_length: Option<u64>,
    /// The keyword `maxLength`, in Unicode code points.
    pub max_length: Option<u64>,
    /// Minimum number of items (`minItems`).
    pub min_items: Option<u64>,
    /// Maximum number of items (`maxItems`).
    pub max_items: Option<u64>,
    /// Whether items must be unique (`uniqueItems`).
    pub unique_items: bool,
    /// Minimum number of fields (`minProperties`).
    pub min_properties: Option<u64>,
    /// Maximum number of fields (`maxProperties`).
    pub max_properties: Option<u64>,
    /// The lower limit of a number (`minimum`).
    pub minimum: Option<f64>,
    /// Whether the value must differ from `minimum` (`exclusiveMinimum`).
    pub exclusive_minimum: bool,
    /// The upper limit of a number (`maximum`).
    pub maximum: Option<f64>,
    /// Whether the value must differ from `maximum` (`exclusiveMaximum`).
    pub exclusive_maximum: bool,
    /// The keyword `multipleOf`.
    pub multiple_of: Option<f64>,
    /// Schemas that must all match (`allOf`).
    pub all_of: Vec<Schema>,
    /// Schemas of which at least one must match (`anyOf`).
    pub any_of: Vec<Schema>,
    /// Schemas of which exactly one must match (`oneOf`).
    pub one_of: Vec<Schema>,
    /// A schema that must not match (`not`).
    pub not: Option<Box<Schema>>,
    /// Whether the server checks the format; set by [`Schema::parse`].
    pub known_format: bool,
    /// The regular expression of `pattern`, compiled at its first use.
    pub matcher: Matcher,
    /// A lookup table for `enum`.
    pub enumerated: Enumerated,
}

/// One entry of `x-kubernetes-validations`, as written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rule {
    /// The CEL source of the rule.
    pub rule: String,
    /// The static message (`message`).
    pub message: Option<String>,
    /// The CEL source of `messageExpression`.
    pub message_expression: Option<String>,
    /// The keyword `reason`, one of the four values that the API allows.
    pub reason: Option<String>,
    /// The path of the field that the error names, for example `.spec.x` (`fieldPath`).
    pub field_path: Option<String>,
    /// Whether `oldSelf` is an optional (`optionalOldSelf`).
    pub optional_old_self: bool,
}

/// When Go's `encoding/json` encodes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Always; nil is encoded as null.
    Always,
    /// Unless it is zero.
    NotZero,
    /// Unless it is nil.
    NotNil,
    /// Always; the field is a pointer, and nil is encoded as null.
    Nullable,
    /// The field has no name in JSON, and its own fields belong to the outer object.
    Inline,
}

/// The sizes that a schema declares for its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declared {
    /// Size of the smallest value as JSON, in bytes.
    pub bytes: u64,
    /// The maximum size, or 0 for values without a size.
    pub max: u64,
}
