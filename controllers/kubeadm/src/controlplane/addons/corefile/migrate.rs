//! Rewrites a Corefile for a newer CoreDNS.

use schemas::coredns;
use schemas::version::Version;

use super::parse::{Entry, parse, print};
use super::table::RULES;

/// A change of a plugin or an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Remove the options of a plugin that begin with these words.
    RemoveOption(&'static str, &'static [&'static str]),
    /// Keep only the first argument of a plugin's option.
    KeepFirstArgument(&'static str, &'static str),
    /// Give a plugin this option unless it has it.
    AddOption(&'static str, &'static [&'static str]),
    /// Add the plugin to each server that has one of the other plugins and not this one.
    AddPlugin(&'static str, &'static [&'static str]),
    /// Replace the plugin `proxy` by `forward`.
    ProxyToForward,
    /// Move each forwarded zone except the root into a server of its own.
    SplitForwardedZones,
    /// Add the plugin `transfer` with the targets of the option of the plugin `kubernetes`.
    TransferPlugin,
}

/// Returns the Corefile of CoreDNS `from` rewritten for CoreDNS `to`; unchanged, with its comments, if no change
/// concerns it.
///
/// # Errors
/// The reason why it cannot be rewritten.
pub fn migrate(from: &Version, to: &Version, corefile: &str) -> Result<String, String> {
    let (from, to) = (from.release(), to.release());
    if from == to {
        return Ok(corefile.to_owned());
    }
    coredns::check_update(&from, &to)?;
    let before = parse(corefile)?;
    let mut servers = before.clone();
    for (since, rule) in RULES {
        if Version::parse(since).is_some_and(|since| from < since && since <= to) {
            apply(*rule, &mut servers)?;
        }
    }
    Ok(if servers == before { corefile.to_owned() } else { print(&servers) })
}

fn apply(rule: Rule, servers: &mut Vec<Entry>) -> Result<(), String> {
    match rule {
        Rule::RemoveOption(plugin, words) => {
            each_plugin(servers, plugin, |plugin| plugin.block.retain(|option| !begins(option, words)));
        }
        Rule::KeepFirstArgument(plugin, option) => each_plugin(servers, plugin, |plugin| {
            let options = plugin.block.iter_mut().filter(|found| found.name() == option);
            options.for_each(|option| option.words.truncate(2));
        }),
        Rule::AddOption(plugin, words) => each_plugin(servers, plugin, |plugin| {
            if words.first().is_some_and(|name| !plugin.has(name)) {
                plugin.block.push(Entry::new(words));
            }
        }),
        Rule::AddPlugin(plugin, beside) => {
            for server in servers {
                if !server.has(plugin) && beside.iter().any(|other| server.has(other)) {
                    server.block.push(Entry::new(&[plugin]));
                }
            }
        }
        Rule::ProxyToForward => each_plugin(servers, "proxy", proxy_to_forward),
        Rule::SplitForwardedZones => split_forwarded_zones(servers)?,
        Rule::TransferPlugin => servers.iter_mut().for_each(add_transfer),
    }
    Ok(())
}

fn begins(entry: &Entry, words: &[&str]) -> bool {
    entry.words.len() >= words.len() && entry.words.iter().zip(words).all(|(word, wanted)| word == wanted)
}

fn each_plugin(servers: &mut [Entry], name: &str, mut change: impl FnMut(&mut Entry)) {
    let plugins = servers.iter_mut().flat_map(|server| &mut server.block);
    plugins.filter(|plugin| plugin.name() == name).for_each(&mut change);
}

/// Renames the plugin. Its options are kept where `forward` has the same; TCP is an option of another name.
fn proxy_to_forward(plugin: &mut Entry) {
    if let Some(name) = plugin.words.first_mut() {
        "forward".clone_into(name);
    }
    for option in &mut plugin.block {
        if begins(option, &["protocol", "dns", "force_tcp"]) {
            *option = Entry::new(&["force_tcp"]);
        }
    }
    plugin.block.retain(|option| {
        let has_policy =
            ["random", "round_robin", "sequential"].iter().any(|it| begins(option, &["policy", it]));
        has_policy || ["except", "force_tcp"].contains(&option.name())
    });
}

fn split_forwarded_zones(servers: &mut Vec<Entry>) -> Result<(), String> {
    let mut added = Vec::new();
    for server in servers.iter_mut() {
        let is_root = server.words.len() == 1 && [".", ".:53"].contains(&server.name());
        let (moved, kept): (Vec<Entry>, Vec<Entry>) =
            std::mem::take(&mut server.block).into_iter().partition(|plugin| {
                plugin.name() == "forward" && plugin.arguments().first().is_some_and(|zone| zone != ".")
            });
        if !moved.is_empty() && !is_root {
            return Err(format!("the server {} forwards zones of its own", server.words.join(" ")));
        }
        server.block = kept;
        for mut forward in moved {
            let zone = forward.words.get_mut(1).map(|zone| std::mem::replace(zone, ".".to_owned()));
            let mut block = vec![forward];
            block.extend([&["loop"][..], &["errors"], &["cache", "30"]].map(Entry::new));
            added.push(Entry { words: zone.into_iter().collect(), block });
        }
    }
    servers.append(&mut added);
    Ok(())
}

fn add_transfer(server: &mut Entry) {
    let kubernetes = server.block.iter().find(|plugin| plugin.name() == "kubernetes");
    let Some(kubernetes) = kubernetes else { return };
    let option = kubernetes.block.iter().find(|option| begins(option, &["transfer", "to"]));
    let Some(targets) = option.and_then(|option| option.words.get(2..)).filter(|it| !it.is_empty()) else {
        return;
    };
    let to = [vec!["to".to_owned()], targets.to_vec()].concat();
    let zone = kubernetes.arguments().first().cloned();
    let words = std::iter::once("transfer".to_owned()).chain(zone).collect();
    let block = vec![Entry { words: to, block: Vec::new() }];
    server.block.push(Entry { words, block });
}
