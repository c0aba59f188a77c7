//! Finds the commands that run `kubeadm init` and `kubeadm join`, and adds errors of their preflight that are ignored.

use crate::shell::{self, Edit, Word};

/// The errors of kubeadm's preflight that a node in a container cannot mend: those that Cluster API's provider ignores.
pub const IGNORED: &[&str] =
    &["SystemVerification", "Swap", "FileContent--proc-sys-net-bridge-bridge-nf-call-iptables"];

const FLAG: &str = "--ignore-preflight-errors";

/// Maximum number of shells in a shell in which kubeadm is looked for.
const MAX_NESTED: usize = 4;

/// Words after which another command follows, with the options of theirs that take the next word.
const PREFIXES: &[(&str, &[&str])] = &[
    ("!", &[]),
    ("builtin", &[]),
    ("command", &[]),
    ("do", &[]),
    ("elif", &[]),
    ("else", &[]),
    ("env", &["-u", "-C", "-S"]),
    ("exec", &["-a"]),
    ("if", &[]),
    ("ionice", &["-c", "-n", "-p"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-D", "-R", "-U"]),
    ("then", &[]),
    ("time", &[]),
    ("timeout", &["-k", "-s"]),
    ("until", &[]),
    ("while", &[]),
    ("{", &[]),
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash"];

/// What a command of words is for kubeadm.
enum Found {
    /// kubeadm: the position of `init` or `join`, and the flag if it is there.
    Kubeadm(usize, Flag),
    /// A shell: the position of its text.
    Shell(usize),
    /// Something else.
    Other,
}

/// The flag in a command.
enum Flag {
    Absent,
    /// The position of the word with the value.
    At(usize),
}

/// Returns the command of words with the flag. Each word stays one word.
pub fn words(words: &[String]) -> Vec<String> {
    let values: Vec<Option<&str>> = words.iter().map(|word| Some(word.as_str())).collect();
    let mut out = words.to_vec();
    match find(&values) {
        Found::Kubeadm(verb, Flag::Absent) => out.insert(verb + 1, format!("{FLAG}={}", IGNORED.join(","))),
        Found::Kubeadm(_, Flag::At(at)) => out[at] = merged(&words[at]),
        Found::Shell(at) => out[at] = text(&words[at]),
        Found::Other => {}
    }
    out
}

/// Returns the shell text with the flag in each command that runs kubeadm.
pub fn text(text: &str) -> String {
    let mut edits = Vec::new();
    collect(text, 0, 0, &mut edits);
    shell::edit(text, edits)
}

/// Collects the changes of a text that begins at `offset` in the whole.
fn collect(text: &str, offset: usize, nested: usize, edits: &mut Vec<Edit>) {
    for command in shell::commands(text) {
        let values: Vec<Option<&str>> = command.words.iter().map(|word| value(text, word)).collect();
        let mut add = |at: usize, end: usize, new: String| edits.push((at + offset..end + offset, new));
        match find(&values) {
            Found::Kubeadm(verb, Flag::Absent) => {
                let end = command.words[verb].end;
                add(end, end, format!(" {FLAG}={}", IGNORED.join(",")));
            }
            Found::Kubeadm(verb, Flag::At(at)) => {
                let word = &command.words[at];
                let written = &text[word.start..word.end];
                match word.value.as_deref() {
                    Some(value) if value == written => add(word.start, word.end, merged(value)),
                    Some(value) => {
                        // Only what is missing is added, behind the last quote.
                        let missing = merged(value)[value.len()..].to_owned();
                        add(word.end, word.end, missing);
                    }
                    // kubeadm takes both flags.
                    None => {
                        let end = command.words[verb].end;
                        add(end, end, format!(" {FLAG}={}", IGNORED.join(",")));
                    }
                }
            }
            Found::Shell(at) if nested < MAX_NESTED => {
                if let Some((start, end)) = inside_of_quotes(text, &command.words[at]) {
                    collect(&text[start..end], offset + start, nested + 1, edits);
                }
            }
            Found::Shell(_) | Found::Other => {}
        }
    }
}

/// Returns what a word says. Of an assignment whose value the shell computes, it is the name.
fn value<'t>(text: &'t str, word: &'t Word) -> Option<&'t str> {
    let assignment = || {
        let written = &text[word.start..word.end];
        let name = &written[..=written.find('=')?];
        is_assignment(name).then_some(name)
    };
    word.value.as_deref().or_else(assignment)
}

/// Returns the text between the quotes of a word that is written as one quoted text. The flag has no byte that would
/// need another quote there.
fn inside_of_quotes(text: &str, word: &Word) -> Option<(usize, usize)> {
    let (start, end) = (word.start + 1, word.end.checked_sub(1)?);
    let quote = text.get(word.start..start)?;
    let inside = text.get(start..end)?;
    let plain = (quote == "'" || quote == "\"") && text.get(end..word.end)? == quote;
    (plain && word.value.as_deref() == Some(inside)).then_some((start, end))
}

/// Returns the value of the flag, with or without its name in front, with the errors that it lacks.
fn merged(word: &str) -> String {
    let value = word.strip_prefix(FLAG).map_or(word, |rest| rest.strip_prefix('=').unwrap_or(rest));
    let names: Vec<&str> = value.split(',').map(str::trim).collect();
    let has = |name: &str| names.iter().any(|there| there.eq_ignore_ascii_case(name));
    // kubeadm refuses others beside `all`.
    if has("all") {
        return word.to_owned();
    }
    let mut out = word.to_owned();
    for name in IGNORED.iter().filter(|name| !has(name)) {
        if !out.ends_with(['=', ',']) && !out.is_empty() {
            out.push(',');
        }
        out.push_str(name);
    }
    out
}

fn find(words: &[Option<&str>]) -> Found {
    let Some(start) = program(words) else { return Found::Other };
    let name = words[start].unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    if SHELLS.contains(&name) {
        let option = words.iter().skip(start + 1).position(|word| {
            word.is_some_and(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))
        });
        return option
            .map(|at| start + at + 2)
            .filter(|at| *at < words.len())
            .map_or(Found::Other, Found::Shell);
    }
    if name != "kubeadm" {
        return Found::Other;
    }
    let verb = (start + 1..words.len()).find(|at| matches!(words[*at], Some("init" | "join")));
    match verb {
        Some(verb) if takes_flag(words, verb) => Found::Kubeadm(verb, flag(words, start)),
        _ => Found::Other,
    }
}

/// Of the phases, only the preflight itself has the flag.
fn takes_flag(words: &[Option<&str>], verb: usize) -> bool {
    words.get(verb + 1) != Some(&Some("phase")) || words.get(verb + 2) == Some(&Some("preflight"))
}

fn flag(words: &[Option<&str>], start: usize) -> Flag {
    let named = |at: usize| words[at].is_some_and(|word| word == FLAG);
    let with_value = |at: usize| {
        let rest = words[at].and_then(|word| word.strip_prefix(FLAG));
        rest.is_some_and(|rest| rest.starts_with('='))
    };
    let all = start + 1..words.len();
    match all.into_iter().find(|at| with_value(*at) || (named(*at) && at + 1 < words.len())) {
        Some(at) if with_value(at) => Flag::At(at),
        Some(at) => Flag::At(at + 1),
        None => Flag::Absent,
    }
}

/// Returns the position of the program that a command runs in the end.
fn program(words: &[Option<&str>]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = (*words.get(at)?)?;
        if is_assignment(word) {
            at += 1;
            continue;
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        let Some((name, with_value)) = PREFIXES.iter().find(|(prefix, _)| *prefix == name) else {
            return Some(at);
        };
        at += 1;
        while let Some(option) = words.get(at).copied().flatten().filter(|word| word.starts_with('-')) {
            at += if with_value.contains(&option) { 2 } else { 1 };
            if option == "--" {
                break;
            }
        }
        // The time.
        if *name == "timeout" {
            at += 1;
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
