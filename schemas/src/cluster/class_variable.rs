// Written by `cargo xtask schemas`: change the sources in `schemas/types` and `schemas/crds` instead.

//! Types of the API, `cluster`: class variable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A variable that Clusters of the class can set, with everybody who defines it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassStatusVariable {
    /// The definitions.
    pub definitions: Vec<ClusterClassStatusVariableDefinition>,
    /// Whether they differ. Then no Cluster can be made from the class.
    #[serde(rename = "definitionsConflict", skip_serializing_if = "Option::is_none")]
    pub definitions_conflict: Option<bool>,
    /// Name of the variable.
    pub name: String,
}

/// A variable as one source defines it.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassStatusVariableDefinition {
    /// Labels and annotations of the variable. Use x-metadata in its schema instead.
    #[serde(rename = "deprecatedV1Beta1Metadata", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deprecated_v1_beta1_metadata: Option<VariableMetadata>,
    /// Who defines it: inline for the class itself, else the name of an external patch.
    pub from: String,
    /// Whether each Cluster must set it, unless the schema has a default.
    pub required: bool,
    /// What values it can have.
    pub schema: VariableSchema,
}

/// A value that each Cluster of the class can set.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ClusterClassVariable {
    /// Labels and annotations of the variable. Use x-metadata in its schema instead.
    #[serde(rename = "deprecatedV1Beta1Metadata", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub deprecated_v1_beta1_metadata: Option<VariableMetadata>,
    /// Name of the variable. builtin is taken.
    pub name: String,
    /// Whether each Cluster must set it, unless the schema has a default.
    pub required: bool,
    /// What values it can have.
    pub schema: VariableSchema,
}

/// What values a variable can have, as a JSON schema.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct JsonSchemaProps {
    /// Schema of the values of a map. Not together with properties.
    #[serde(rename = "additionalProperties", skip_serializing_if = "Option::is_none")]
    pub additional_properties: Option<Value>,
    /// Schemas that must all hold.
    #[serde(rename = "allOf", skip_serializing_if = "Option::is_none")]
    pub all_of: Option<Value>,
    /// Schemas of which at least one must hold.
    #[serde(rename = "anyOf", skip_serializing_if = "Option::is_none")]
    pub any_of: Option<Value>,
    /// The value where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What the value is for, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The only values that are possible.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub enum_: Vec<Value>,
    /// A value that shows how it is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<Value>,
    /// Whether the value must be less than maximum, not equal.
    #[serde(rename = "exclusiveMaximum", skip_serializing_if = "Option::is_none")]
    pub exclusive_maximum: Option<bool>,
    /// Whether the value must be more than minimum, not equal.
    #[serde(rename = "exclusiveMinimum", skip_serializing_if = "Option::is_none")]
    pub exclusive_minimum: Option<bool>,
    /// What kind of text or number it is, such as ipv4 or int32. Unknown formats are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Schema of the elements of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Value>,
    /// The most elements that a list can have.
    #[serde(rename = "maxItems", skip_serializing_if = "Option::is_none")]
    pub max_items: Option<i64>,
    /// The most characters that a text can have.
    #[serde(rename = "maxLength", skip_serializing_if = "Option::is_none")]
    pub max_length: Option<i64>,
    /// The most fields that an object can have.
    #[serde(rename = "maxProperties", skip_serializing_if = "Option::is_none")]
    pub max_properties: Option<i64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
    /// The fewest elements that a list can have.
    #[serde(rename = "minItems", skip_serializing_if = "Option::is_none")]
    pub min_items: Option<i64>,
    /// The fewest characters that a text can have.
    #[serde(rename = "minLength", skip_serializing_if = "Option::is_none")]
    pub min_length: Option<i64>,
    /// The fewest fields that an object can have.
    #[serde(rename = "minProperties", skip_serializing_if = "Option::is_none")]
    pub min_properties: Option<i64>,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// Schema that must not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Value>,
    /// Schemas of which exactly one must hold.
    #[serde(rename = "oneOf", skip_serializing_if = "Option::is_none")]
    pub one_of: Option<Value>,
    /// Regular expression that a text must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Schemas of the fields of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Value>,
    /// Fields that an object must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// object, array, string, integer, number or boolean.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Whether no two elements of a list can be the same.
    #[serde(rename = "uniqueItems", skip_serializing_if = "Option::is_none")]
    pub unique_items: Option<bool>,
    /// Whether the value is an integer or a text. Then there is no type.
    #[serde(rename = "x-kubernetes-int-or-string", skip_serializing_if = "Option::is_none")]
    pub x_kubernetes_int_or_string: Option<bool>,
    /// Whether fields that the schema does not name are kept.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields", skip_serializing_if = "Option::is_none")]
    pub x_kubernetes_preserve_unknown_fields: Option<bool>,
    /// Rules in CEL.
    #[serde(rename = "x-kubernetes-validations", skip_serializing_if = "Vec::is_empty")]
    pub x_kubernetes_validations: Vec<ValidationRule>,
    /// Labels and annotations of the field, for tools.
    #[serde(rename = "x-metadata", skip_serializing_if = "crate::empty::is_none_or_empty")]
    pub x_metadata: Option<VariableMetadata>,
}

/// A rule in CEL that a variable must keep.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct ValidationRule {
    /// Path of the field that the error names, relative to the value: .a.b or \[0\].
    #[serde(rename = "fieldPath", skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// What the error says. Must be set when the rule has several lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// CEL expression for what the error says. It wins over message.
    #[serde(rename = "messageExpression", skip_serializing_if = "Option::is_none")]
    pub message_expression: Option<String>,
    /// Kind of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// CEL expression that must be true. self is the value; oldSelf the one before.
    pub rule: String,
}

/// Labels and annotations of a variable, for tools.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct VariableMetadata {
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// What values a variable can have.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct VariableSchema {
    /// The schema, as in a CustomResourceDefinition, less what makes no sense for variables.
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: JsonSchemaProps,
}
