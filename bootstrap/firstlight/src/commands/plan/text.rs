//! A plan as text of 80 columns. Pure.

use std::time::Duration;

use crate::commands::goal::seconds as precise;
use crate::plan::action::Verb;
use crate::plan::follow::Action;
use crate::plan::{Ending, Plan};

/// The width of the text.
const COLUMNS: usize = 80;
/// The columns before the object of an action.
const INDENT: usize = 18;

/// Returns a plan as text.
pub fn text(plan: &Plan) -> String {
    let mut text = match &plan.server {
        Some(server) => format!("Plan for {server}, from {} objects of it.\n\n", plan.objects),
        None => "Plan from nothing: there is no server whose state would be the beginning.\n\n".to_owned(),
    };
    let (under_way, planned): (Vec<&Action>, Vec<&Action>) =
        plan.actions.iter().partition(|action| action.is_under_way);
    if !under_way.is_empty() {
        text.push_str("Under way already:\n");
        under_way.iter().for_each(|action| text.push_str(&line(action)));
        text.push('\n');
    }
    planned.iter().for_each(|action| text.push_str(&line(action)));
    if !planned.is_empty() {
        text.push('\n');
    }
    text.push_str(&summary(plan));
    if !plan.waits.is_empty() {
        text.push_str("\nIt waits for:\n");
        for wait in &plan.waits {
            let objects = if wait.objects == 1 { String::new() } else { format!("{} ", wait.objects) };
            let plural = if wait.objects == 1 { "" } else { "s" };
            let words = format!("{objects}{}{plural}: {}", wait.kind, wait.cause);
            text.push_str(&wrapped(&format!("  {:8}", time(wait.seconds)), &words));
        }
    }
    if !plan.remaining.is_empty() {
        text.push_str("\nAt the end, these still wait:\n");
        for remaining in &plan.remaining {
            text.push_str(&wrapped("  ", &remaining.object));
            remaining.causes.iter().for_each(|cause| text.push_str(&wrapped("    ", cause)));
        }
    }
    if !plan.notes.is_empty() {
        text.push('\n');
        plan.notes.iter().for_each(|note| text.push_str(&wrapped("Note: ", note)));
    }
    text
}

fn line(action: &Action) -> String {
    let verb = match action.action {
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Rotate => "rotate",
        Verb::Delete => "delete",
    };
    let time = format!("+{}", time(action.after_seconds));
    let space = if action.namespace.is_empty() { String::new() } else { format!("{}/", action.namespace) };
    let object = format!("{} {space}{}", action.kind, action.name);
    let head = format!("{time:>8}  {verb}  {object}");
    if action.reason.is_empty() {
        return format!("{head}\n");
    }
    let whole = format!("{head}: {}", terminal::line(&action.reason));
    if width(&whole) <= COLUMNS {
        return format!("{whole}\n");
    }
    format!("{head}:\n{}", wrapped(&" ".repeat(INDENT), &action.reason))
}

fn summary(plan: &Plan) -> String {
    let machines = &plan.machines;
    let end = match plan.ending {
        Ending::NothingToDo => return "Nothing to do: the server is as the manifests want it.\n".to_owned(),
        Ending::Finished => format!("Done after {}.", time(plan.seconds)),
        Ending::Unfinished => format!("Not done after {}.", time(plan.seconds)),
    };
    let numbers = format!(
        "{end} Machines: {} created, {} deleted, {} updated in place. At most {} more than wanted at a time; at least {} of {} \
         available.",
        machines.created,
        machines.deleted,
        machines.updated_in_place,
        machines.most_above_wanted,
        machines.fewest_available,
        machines.wanted
    );
    wrapped("", &numbers)
}

/// Returns a time such as `42s`, `3m12s` or `2h5m`.
fn time(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    match seconds {
        0..3600 if seconds >= 10 => precise(Duration::from_secs(seconds)),
        0..10 => format!("{seconds}s"),
        _ => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Returns words after `first`, in lines that are indented as deep.
fn wrapped(first: &str, words: &str) -> String {
    let indent = " ".repeat(width(first));
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && width(&line) + 1 + width(word) > COLUMNS {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line.clone_from(&indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push_str(line.trim_end());
    lines.push('\n');
    lines
}
