//! Text for a terminal that others have written: tenants, machines, BMCs, workload clusters, images.
//!
//! Such a text may contain characters that move the cursor, change the direction of writing, or cannot be seen. With them it could
//! overwrite what stands beside it, for example the serial number of another machine. [`line`] and [`lines`] show these characters as
//! escapes like `\u001b`. This is the only place that knows which characters they are.

mod escape;
mod layout;

pub use escape::{Bytes, is_unsafe, line, lines};
pub use layout::{cell, cut, wrapped};
