//! Structs without fields, which are left out where a server refuses them.
//!
//! Go's types of Cluster API leave them out, too (`omitzero`), and its CustomResourceDefinitions have `minProperties: 1` for each of them.

use std::fmt;

use serde::Serialize;
use serde::ser::{Error, Impossible, SerializeMap, SerializeStruct, Serializer};

/// Returns whether a value is absent, or would be written as `{}`.
pub fn is_none_or_empty<T: Serialize>(value: &Option<T>) -> bool {
    value.as_ref().is_none_or(has_no_fields)
}

/// Returns whether a value would be written as `{}`.
pub fn has_no_fields<T: Serialize>(value: &T) -> bool {
    value.serialize(Probe).is_ok()
}

/// Writes nothing, and fails at the first field.
struct Probe;

/// The value is written as something else than `{}`.
#[derive(Debug)]
struct HasContent;

impl fmt::Display for HasContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value has content")
    }
}

impl std::error::Error for HasContent {}

impl Error for HasContent {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

type Never = Impossible<(), HasContent>;

/// Methods for values that are no objects.
macro_rules! content {
    ($($name:ident($($type:ty),*) -> $ok:ty;)*) => {
        $(fn $name(self, $(_: $type),*) -> Result<$ok, HasContent> { Err(HasContent) })*
    };
}

impl Serializer for Probe {
    type Ok = ();
    type Error = HasContent;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Never;

    content! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Never;
        serialize_tuple(usize) -> Never;
        serialize_tuple_struct(&'static str, usize) -> Never;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Never;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Never;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), HasContent> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), HasContent> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), HasContent> {
        Err(HasContent)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, HasContent> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, HasContent> {
        Ok(self)
    }
}

impl SerializeMap for Probe {
    type Ok = ();
    type Error = HasContent;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), HasContent> {
        Err(HasContent)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, _: &T) -> Result<(), HasContent> {
        Err(HasContent)
    }

    fn end(self) -> Result<(), HasContent> {
        Ok(())
    }
}

impl SerializeStruct for Probe {
    type Ok = ();
    type Error = HasContent;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, _: &T) -> Result<(), HasContent> {
        Err(HasContent)
    }

    fn end(self) -> Result<(), HasContent> {
        Ok(())
    }
}
