//! Traits and macros that all kinds share.

use crate::meta::Condition;

/// A kind with `status.conditions`.
pub trait HasConditions {
    /// Returns the conditions; empty if there is no status.
    fn conditions(&self) -> &[Condition];

    /// Returns the conditions for modification; creates an empty status if there is none.
    fn conditions_mut(&mut self) -> &mut Vec<Condition>;

    /// Returns the condition of that type, or `None`.
    fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions().iter().find(|condition| condition.type_ == type_)
    }

    /// Returns whether the condition of that type exists and is `True`.
    fn condition_is_true(&self, type_: &str) -> bool {
        self.condition(type_).is_some_and(|condition| condition.status == "True")
    }
}

/// Implements `kube::Resource` and `FromJson` for a struct, and a serialization with `apiVersion` and `kind`. A part in parentheses is only
/// written if it has a field.
#[macro_export]
#[doc(hidden)]
macro_rules! kind {
    ($name:ident, $group:literal, $version:literal, $plural:literal, $scope:ident, [$($part:tt),*]) => {
        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = k8s_openapi::$scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($name).into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }

        impl $name {
            /// The `apiVersion` of this kind.
            pub const API_VERSION: &'static str = concat!($group, "/", $version);
            /// The name of this kind.
            pub const KIND: &'static str = stringify!($name);
            /// The API group of this kind.
            pub const GROUP: &'static str = $group;
        }

        impl $crate::FromJson for $name {
            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                machinery::decode::own(text)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("apiVersion", Self::API_VERSION)?;
                map.serialize_entry("kind", Self::KIND)?;
                $($crate::kind!(@part map, self, $part);)*
                map.end()
            }
        }
    };
    (@part $map:ident, $self:ident, status) => {
        if let Some(status) = &$self.status {
            $map.serialize_entry("status", status)?;
        }
    };
    (@part $map:ident, $self:ident, (spec)) => {
        if !$crate::empty::has_no_fields(&$self.spec) {
            $map.serialize_entry("spec", &$self.spec)?;
        }
    };
    (@part $map:ident, $self:ident, $part:ident) => {
        $map.serialize_entry(stringify!($part), &$self.$part)?;
    };
}

/// Implements [`HasConditions`] for a kind whose status has metav1 conditions.
#[macro_export]
#[doc(hidden)]
macro_rules! has_conditions {
    ($name:ident) => {
        impl $crate::HasConditions for $name {
            fn conditions(&self) -> &[$crate::meta::Condition] {
                self.status.as_ref().map_or(&[], |status| &status.conditions)
            }

            fn conditions_mut(&mut self) -> &mut Vec<$crate::meta::Condition> {
                &mut self.status.get_or_insert_default().conditions
            }
        }
    };
}
