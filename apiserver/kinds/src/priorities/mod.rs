//! PriorityClasses.

pub(crate) mod kinds;
pub(crate) mod priority_class;
