//! A request on its way to its handler: body, query, target, authorization, and the order in which requests are processed.

pub(crate) mod admit;
pub(crate) mod aside;
pub(crate) mod asked;
pub(crate) mod flows;
pub(crate) mod handle;
pub(crate) mod input;
pub(crate) mod older;
pub(crate) mod query;
pub(crate) mod read_body;
pub(crate) mod refusal;
pub(crate) mod target;
pub(crate) mod verb;
pub(crate) mod work;
