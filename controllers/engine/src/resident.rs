//! How much memory a decoded object takes. Its text says little about that: a label without a value is six bytes of text and a hundred in
//! memory, and an empty container two bytes and a kilobyte.

use std::fmt;

use k8s_openapi::api::core::v1::{
    Container, ContainerImage, ContainerPort, ContainerStatus, EnvVar, EphemeralContainer, NodeAddress,
    NodeCondition, PodCondition, Taint, Toleration, Volume, VolumeMount,
};
use serde::ser::{self, Serialize, Serializer};

/// What a cache keeps besides the object: its name, the entries of indexes and of the quota, and pointers.
const BESIDES: usize = 1024;
/// A list grows by doubling, and a sorted map fills its nodes at least half.
pub const SLACK: usize = 2;
/// Sizes up to this one are rounded up to a multiple of [`GRAIN`] by the allocator, larger ones by up to an eighth.
const SMALL: usize = 128;
const GRAIN: usize = 16;

/// The sizes of the structures that the lists of Nodes and Pods have many of, by name.
pub const STRUCTURES: &[(&str, usize)] = &[
    ("Container", size_of::<Container>()),
    ("ContainerImage", size_of::<ContainerImage>()),
    ("ContainerPort", size_of::<ContainerPort>()),
    ("ContainerStatus", size_of::<ContainerStatus>()),
    ("EnvVar", size_of::<EnvVar>()),
    ("EphemeralContainer", size_of::<EphemeralContainer>()),
    ("NodeAddress", size_of::<NodeAddress>()),
    ("NodeCondition", size_of::<NodeCondition>()),
    ("PodCondition", size_of::<PodCondition>()),
    ("Taint", size_of::<Taint>()),
    ("Toleration", size_of::<Toleration>()),
    ("Volume", size_of::<Volume>()),
    ("VolumeMount", size_of::<VolumeMount>()),
];
/// The size of any other structure in a list.
const STRUCTURE: usize = 512;

/// Returns about how many bytes of memory `object` takes.
pub fn resident<T: Serialize>(object: &T) -> usize {
    let mut bytes = BESIDES + size_of::<T>();
    // Nothing in this serializer fails, and an object that cannot be written cannot have been read.
    object.serialize(Count { bytes: &mut bytes, is_element: false }).unwrap_or_default();
    bytes
}

/// Returns the size of an allocation of `length` bytes.
fn allocated(length: usize) -> usize {
    if length <= SMALL { length.next_multiple_of(GRAIN) } else { length + length / 8 }
}

/// Adds up what values have outside of the value that contains them.
struct Count<'a> {
    bytes: &'a mut usize,
    /// Whether the value is an element of a list or map, which are outside of what contains them.
    is_element: bool,
}

impl Count<'_> {
    fn add(&mut self, bytes: usize) {
        *self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Adds the place that an element of `size` bytes has in its list or map, of which a part is empty.
    fn place(&mut self, size: usize) {
        if self.is_element {
            self.add(SLACK * size);
        }
    }

    fn within<T: Serialize + ?Sized>(&mut self, value: &T, is_element: bool) -> fmt::Result {
        value.serialize(Count { bytes: self.bytes, is_element })
    }

    fn heap(mut self, length: usize) -> fmt::Result {
        self.place(size_of::<String>());
        self.add(allocated(length));
        Ok(())
    }

    fn inline(mut self) -> fmt::Result {
        self.place(size_of::<u64>());
        Ok(())
    }

    /// Counts the place of a list or map; its elements follow.
    fn open(mut self, size: usize) -> Result<Self, fmt::Error> {
        self.place(size);
        Ok(self)
    }
}

/// Methods for values that have nothing outside.
macro_rules! inline {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> fmt::Result {
            self.inline()
        })*
    };
}

impl Serializer for Count<'_> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    inline!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32, serialize_f64: f64, serialize_char: char,
        serialize_unit_struct: &'static str
    );

    fn serialize_str(self, text: &str) -> fmt::Result {
        self.heap(text.len())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> fmt::Result {
        self.heap(bytes.len())
    }

    fn serialize_none(self) -> fmt::Result {
        self.inline()
    }

    fn serialize_unit(self) -> fmt::Result {
        self.inline()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> fmt::Result {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> fmt::Result {
        self.inline()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> fmt::Result {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> fmt::Result {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        self.open(size_of::<Vec<u8>>())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, fmt::Error> {
        self.open(size_of::<Vec<u8>>())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        self.open(size_of::<Vec<u8>>())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        self.open(STRUCTURE)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        self.open(size_of::<serde_json::Value>())
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Self, fmt::Error> {
        let known = STRUCTURES.iter().find(|(known, _)| *known == name);
        self.open(known.map_or(STRUCTURE, |(_, size)| *size))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        self.open(STRUCTURE)
    }
}

impl ser::SerializeSeq for Count<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> fmt::Result {
        self.within(value, true)
    }

    fn end(self) -> fmt::Result {
        Ok(())
    }
}

impl ser::SerializeMap for Count<'_> {
    type Ok = ();
    type Error = fmt::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> fmt::Result {
        self.within(key, true)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> fmt::Result {
        self.within(value, true)
    }

    fn end(self) -> fmt::Result {
        Ok(())
    }
}

/// Implements the traits whose values lie within the value that contains them.
macro_rules! fields {
    ($($name:ident::$method:ident($($key:ty)?)),*) => {
        $(impl ser::$name for Count<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> fmt::Result {
                self.within(value, false)
            }

            fn end(self) -> fmt::Result {
                Ok(())
            }
        })*
    };
}

fields!(
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(&'static str),
    SerializeStructVariant::serialize_field(&'static str)
);
