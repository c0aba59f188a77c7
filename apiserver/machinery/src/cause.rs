//! The cause of an error that has passed through several layers.

use std::error::Error;

/// Returns the first cause of an error, for example `Connection refused (os error 111)`. The errors around it only name its layers.
pub fn first_cause(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
