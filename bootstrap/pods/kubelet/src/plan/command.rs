//! The program of a container and its arguments.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use container_images::Config;
use k8s_openapi::api::core::v1::Container;

use super::expand::expand;

/// Returns the program and its arguments. The Pod's `command` replaces entrypoint and command of the image, its `args` only the command.
///
/// # Errors
/// Neither the Pod nor the image has a program.
pub fn command(
    container: &Container,
    image: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<String>> {
    let expanded = |texts: &Option<Vec<String>>| -> Vec<String> {
        texts.iter().flatten().map(|text| expand(text, variables)).collect()
    };
    let (own, arguments) = (expanded(&container.command), expanded(&container.args));
    let command: Vec<String> = match (own.is_empty(), arguments.is_empty()) {
        (false, _) => own.into_iter().chain(arguments).collect(),
        (true, false) => image.entrypoint.iter().cloned().chain(arguments).collect(),
        (true, true) => image.entrypoint.iter().chain(&image.command).cloned().collect(),
    };
    ensure!(!command.is_empty(), "neither the Pod nor the image says which program to run");
    Ok(command)
}
