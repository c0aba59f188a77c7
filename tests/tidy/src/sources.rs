//! Rules for source files.

/// Maximum number of lines in a file. A longer file has more than one subject.
pub const FILE_LINES_MAX: usize = 600;
/// Maximum number of lines in a function. A longer function does not fit on a screen.
pub const FUNCTION_LINES_MAX: usize = 90;

/// What gives a file its name, and leaves it to luck whether a power failure finds the content with the name.
const RENAMES: &[&str] = &["fs::rename(", ".persist("];
/// Where that is right: the crate that syncs, the store, whose accesses the crash suite records, and what each process writes anew.
const MAY_RENAME: &[&str] = &[
    "apiserver/files",
    "apiserver/store",
    "bootstrap/pods/kubelet/src/logs",
    "bootstrap/pods/kubelet/src/volumes",
    "tests",
];
/// The crates of the command line.
const COMMAND_LINE: &[&str] = &[
    "bootstrap/clusterctl/src/",
    "bootstrap/firstlight/src/",
    "bootstrap/operator/src/",
    "bootstrap/pivot/src/",
    "bootstrap/server/src/",
];
/// The only files of these crates that write to standard output or standard error: they escape what others wrote, or write bytes.
const PRINTERS: &[&str] = &[
    "bootstrap/firstlight/src/output.rs",
    "bootstrap/firstlight/src/logging.rs",
    "bootstrap/firstlight/src/tree/screen.rs",
    // Only errors of the command line, which the user has typed.
    "bootstrap/firstlight/src/main.rs",
    "bootstrap/server/src/backup/destination.rs",
    "bootstrap/firstlight/src/commands/image.rs",
    // Only its own words about the progress of a pivot.
    "bootstrap/firstlight/src/commands/pivot.rs",
];

/// The violations in a Rust source file, one per line.
pub fn violations(path: &str, text: &str) -> Vec<String> {
    let generated = text.lines().take(3).any(|line| line.contains("by `cargo xtask"));
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX && !generated {
        found.push(format!("{path}: {lines} lines, more than {FILE_LINES_MAX}"));
    }
    let mut before = "";
    for (number, line) in text.lines().enumerate() {
        let place = format!("{path}:{}", number + 1);
        let code = line.trim_start();
        if code.starts_with("/// # ") && before.starts_with("/// ") {
            found.push(format!("{place}: a heading without an empty line before it"));
        }
        before = code;
        if ["TODO", "FIXME", "XXX"].iter().any(|word| code.starts_with(&format!("// {word}"))) {
            found.push(format!("{place}: work not done"));
        }
        if code.starts_with("#[ignore") {
            found.push(format!("{place}: an ignored test"));
        }
        let may_rename = path.contains("/tests/") || MAY_RENAME.iter().any(|folder| path.starts_with(folder));
        if !may_rename && RENAMES.iter().any(|call| code.contains(call)) {
            found.push(format!(
                "{place}: a name without its content after a power failure; use the crate `files`"
            ));
        }
        if prints(path, code) {
            found.push(format!(
                "{place}: text is printed with `say` or `tell`, which escape what others wrote"
            ));
        }
        if code.contains("thread::sleep(") && !path.starts_with("tests/tidy") {
            found.push(format!("{place}: a sleep; wait for a condition with a deadline"));
        }
    }
    if !generated {
        found.extend(long_functions(path, text));
    }
    if !path.contains("/tests/") && !path.starts_with("tests/") {
        found.extend(random_selects(path, text));
    }
    found
}

/// Uses of `select!` that take what is ready in a random order, without a comment that says why. The simulation repeats a seed only if
/// each order is given.
fn random_selects(path: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let begins = |line: &&str| line.contains("select! {") && !line.starts_with("//");
    let is_random = |number: usize| {
        let next = lines[number + 1..].iter().find(|line| !line.starts_with("//"));
        let above = lines[..number].iter().rev().take_while(|line| line.starts_with("//"));
        next != Some(&"biased;") && !above.into_iter().any(|line| line.starts_with("// Not biased: "))
    };
    let places = (0..lines.len()).filter(|number| begins(&lines[*number]) && is_random(*number));
    places
        .map(|number| {
            format!("{path}:{}: `select!` without `biased;`, or without `// Not biased: …`", number + 1)
        })
        .collect()
}

/// Whether the code writes to standard output or standard error where it must not.
fn prints(path: &str, code: &str) -> bool {
    let names_them =
        ["io::stdout()", "io::stderr()", "println!", "print!"].iter().any(|name| code.contains(name));
    names_them
        && !code.contains("is_terminal()")
        && COMMAND_LINE.iter().any(|folder| path.starts_with(folder))
        && !PRINTERS.contains(&path)
}

/// Functions longer than [`FUNCTION_LINES_MAX`]. It relies on rustfmt, which gives the closing brace the same
/// indentation as the line with `fn`.
fn long_functions(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize, &str)> = None;
    for (number, line) in text.lines().enumerate() {
        let code = line.trim_start();
        let indentation = line.len() - code.len();
        match open {
            None if is_function_head(code) => open = Some((number, indentation, code)),
            Some((start, depth, head)) if indentation == depth && code == "}" => {
                let length = number - start + 1;
                if length > FUNCTION_LINES_MAX {
                    let start = start + 1;
                    found.push(format!(
                        "{path}:{start}: {length} lines in `{head}`, more than {FUNCTION_LINES_MAX}"
                    ));
                }
                open = None;
            }
            Some((_, depth, _)) if indentation == depth && code.ends_with(';') => open = None,
            _ => {}
        }
    }
    found
}

fn is_function_head(code: &str) -> bool {
    let qualified =
        code.contains(" fn ") && ["pub", "async", "const"].iter().any(|word| code.starts_with(word));
    (code.starts_with("fn ") || qualified) && !code.ends_with(';') && !code.ends_with('}')
}
