//! FlowSchemas and PriorityLevelConfigurations. The server does not use them: it distributes its seats by user.

mod columns;
pub(crate) mod kinds;
