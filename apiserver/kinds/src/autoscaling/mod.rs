//! HorizontalPodAutoscalers.

mod autoscaler;
mod columns;
mod convert;
pub(crate) mod kinds;
mod metrics;
