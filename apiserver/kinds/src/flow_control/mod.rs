//! FlowSchemas and the levels of priority that they lead to. This server shares out its seats by user and reads none of them.

mod columns;
pub(crate) mod kinds;
