//! Templates of upstream's end-to-end suite, for simulated machines: only the backend is another one.

/// The backend of upstream's templates, which needs Docker.
const DOCKER: &str = "docker:";
/// The backend of simulated machines.
const IN_MEMORY: &str = "inMemory: {}";
/// What separates documents.
const SEPARATOR: &str = "---";
/// Where JSON patches of a ClusterClass change what only the backend `docker` has.
const DOCKER_FIELDS: &str = "/spec/template/spec/backend/docker/";
/// What a script asks for that holds a machine until somebody gives it a signal.
const SIGNAL: &str = "/configmaps/mhc-test";
/// The same for simulated machines, which run no scripts.
const WAITS: [&str; 3] =
    ["    metadata:", "      annotations:", "        simulated.firstlight.dev/bootstrap-waits-for: mhc-test"];

/// Returns the template with `backend.inMemory` in place of `backend.docker`, and without patches of the fields of the latter. An annotation says
/// what a script does that waits for a signal.
///
/// The template is text, because its variables can stand in place of any YAML, and everything else must stay as it is. It is written in block
/// style, as kustomize writes it and upstream's people do.
#[must_use]
pub fn in_memory(template: &str) -> String {
    let lines: Vec<&str> = template.lines().collect();
    let lines = without_docker_patches(&lines);
    let lines = with_backends(&lines);
    let lines = with_signals(&lines);
    let mut result = String::with_capacity(template.len());
    let mut parent = "";
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        let end = position + 1 + block(lines.get(position + 1..).unwrap_or_default(), indent(line));
        if parent == "backend:" && line.trim().starts_with(DOCKER) {
            result.push_str(&format!("{}{IN_MEMORY}\n", &line[..indent(line)]));
            position = end;
        } else {
            result.push_str(line);
            result.push('\n');
            position += 1;
        }
        parent = line.trim();
    }
    result
}

/// Gives a backend to DevClusters without content, which have the backend `docker` by default.
fn with_backends<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let documents = lines.split(|line| *line == SEPARATOR);
    let documents = documents.map(|document| {
        let is_empty = document.contains(&"kind: DevCluster") && !document.contains(&"spec:");
        let backend: &[&str] = if is_empty { &["spec:", "  backend:", "    docker: {}"] } else { &[] };
        [document, backend].concat()
    });
    documents.collect::<Vec<_>>().join(&SEPARATOR)
}

/// Lets the machines wait for the signal for which a script of theirs waits.
fn with_signals<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    if !lines.iter().any(|line| line.contains(SIGNAL)) {
        return lines.to_vec();
    }
    let documents = lines.split(|line| *line == SEPARATOR);
    let documents = documents.map(|document| {
        let template = document.iter().position(|line| *line == "  template:");
        match template.filter(|_| document.contains(&"kind: DevMachineTemplate")) {
            Some(at) => [&document[..=at], &WAITS, &document[at + 1..]].concat(),
            None => document.to_vec(),
        }
    });
    documents.collect::<Vec<_>>().join(&SEPARATOR)
}

/// Leaves out the definitions that patch fields of the backend, and patches that have no definition then.
fn without_docker_patches<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut position = 0;
    while let Some(line) = lines.get(position) {
        position += 1;
        let first_key = line.trim().strip_prefix("- ");
        if first_key.unwrap_or(line.trim()) != "definitions:" {
            kept.push(*line);
            continue;
        }
        let keys = indent(line) + if first_key.is_some() { 2 } else { 0 };
        let (definitions, end) = items(lines, position, keys);
        position = end;
        let others: Vec<_> = definitions
            .into_iter()
            .filter(|item| !item.iter().any(|line| line.contains(DOCKER_FIELDS)))
            .collect();
        if others.is_empty() {
            if first_key.is_none() {
                leave_out_beginning(&mut kept, keys);
            }
            position += block(lines.get(position..).unwrap_or_default(), keys - 1);
            continue;
        }
        kept.push(*line);
        kept.extend(others.into_iter().flatten());
    }
    kept
}

/// Leaves out the last item of a list whose keys have this indentation.
fn leave_out_beginning(kept: &mut Vec<&str>, keys: usize) {
    while let Some(line) = kept.pop() {
        if line.trim_start().starts_with("- ") && indent(line) < keys {
            break;
        }
    }
}

/// Returns the items of the list that begins at `position` below a key with this indentation, and where it ends.
fn items<'a>(lines: &[&'a str], position: usize, key: usize) -> (Vec<Vec<&'a str>>, usize) {
    let mut items: Vec<Vec<&str>> = Vec::new();
    let mut end = position;
    let mut bullets = None;
    for line in lines.get(position..).unwrap_or_default() {
        let bullet = line.trim_start().starts_with("- ") && indent(line) >= key;
        if bullet && bullets.is_none_or(|bullets| bullets == indent(line)) {
            bullets = Some(indent(line));
            items.push(Vec::new());
        } else if !line.trim().is_empty() && bullets.is_none_or(|bullets| indent(line) <= bullets) {
            break;
        }
        end += 1;
        if let Some(item) = items.last_mut() {
            item.push(line);
        }
    }
    (items, end)
}

/// Returns how many of the lines belong to a key with this indentation.
fn block(lines: &[&str], key: usize) -> usize {
    lines.iter().take_while(|line| line.trim().is_empty() || indent(line) > key).count()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
