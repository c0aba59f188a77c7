//! A stand-in for cloud-init: reads the configuration drive, renders the user data with the metadata, writes files and runs commands.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::report::Reports;

/// The keys of a `#cloud-config` that it knows.
const KEYS: [&str; 2] = ["write_files", "runcmd"];
/// The file that Cluster API's commands write after kubeadm.
const SENTINEL: &str = "/run/cluster-api/bootstrap-success.complete";

/// Runs the user data on the configuration drive that is mounted at `drive`.
///
/// # Errors
/// The user data are not valid, a file cannot be written, or the server does not take a report. A command that fails is reported, and the
/// others run, as with cloud-init.
pub fn run(drive: &Path) -> Result<()> {
    let folder = drive.join("openstack/latest");
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name)).with_context(|| format!("{name} of the drive"))
    };
    let meta_data: Value = serde_json::from_str(&read("meta_data.json")?)?;
    let vendor_data: Value = serde_json::from_str(&read("vendor_data.json")?)?;
    let program = vendor_data["cloud-init"].as_str().context("vendor_data.json without cloud-init")?;
    ensure!(program.starts_with("#!/usr/bin/env python3\n"), "the vendor data are no program: {program}");
    let reports = Reports::new(meta_data["phone_home_url"].as_str().context("no phone_home_url")?)?;
    reports.send("Running", "the stand-in runs")?;
    let user_data = rendered(&read("user_data")?, &meta_data)?;
    let mut output = String::new();
    let done = configure(&user_data, &mut output);
    if let Err(error) = &done {
        output += &format!("{error:#}\n");
    }
    let is_missing = user_data.contains(SENTINEL) && !Path::new(SENTINEL).exists();
    let state = if done.is_err() || is_missing { "Failed" } else { "Succeeded" };
    reports.send(state, &output)?;
    done?;
    say("cloud-init: finished")
}

/// Carries out the user data, and appends what the commands print to `output`.
fn configure(user_data: &str, output: &mut String) -> Result<()> {
    let decoded = machinery::decode::yaml(user_data.as_bytes()).map_err(anyhow::Error::msg)?.value;
    let document = decoded.as_object().context("the user data are no mapping")?;
    for key in document.keys() {
        ensure!(KEYS.contains(&key.as_str()), "the stand-in does not know the key {key}");
    }
    for file in decoded["write_files"].as_array().into_iter().flatten() {
        write(file)?;
    }
    for command in decoded["runcmd"].as_array().into_iter().flatten() {
        execute(command, output)?;
    }
    Ok(())
}

/// Replaces `{{ ds.meta_data.KEY }}` if the user data are a template.
fn rendered(user_data: &str, meta_data: &Value) -> Result<String> {
    let Some(template) = user_data.strip_prefix("## template: jinja\n") else {
        return Ok(user_data.to_owned());
    };
    ensure!(template.starts_with("#cloud-config\n"), "the user data are no #cloud-config");
    let mut parts = template.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").context("{{ without }}")?;
        let key = expression
            .trim()
            .strip_prefix("ds.meta_data.")
            .with_context(|| format!("{{{{{expression}}}}}"))?;
        let value = meta_data[key].as_str().with_context(|| format!("the metadata have no {key}"))?;
        text += value;
        text += rest;
    }
    Ok(text)
}

fn write(file: &Value) -> Result<()> {
    let path = Path::new(file["path"].as_str().context("a file without a path")?);
    let content = file["content"].as_str().context("a file without content")?;
    ensure!(file["encoding"].is_null(), "{}: the stand-in reads plain text only", path.display());
    std::fs::create_dir_all(path.parent().context("a path with a folder")?)?;
    std::fs::write(path, content)?;
    let mode = file["permissions"].as_str().unwrap_or("0644");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(u32::from_str_radix(mode, 8)?))?;
    Ok(())
}

fn execute(command: &Value, output: &mut String) -> Result<()> {
    let words: Vec<&str> = match command {
        Value::String(line) => vec!["sh", "-c", line],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => bail!("a command that is neither text nor a list: {command}"),
    };
    let (program, arguments) = words.split_first().context("an empty command")?;
    let ended = Command::new(program).args(arguments).output()?;
    let printed = [ended.stdout.as_slice(), ended.stderr.as_slice()].concat();
    let printed = String::from_utf8_lossy(&printed);
    *output += &printed;
    say(&printed)?;
    if !ended.status.success() {
        say(&format!("cloud-init: {command} failed: {}", ended.status))?;
    }
    Ok(())
}

/// Prints a line on the console.
pub(super) fn say(line: &str) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
