//! The entries of a server in the user's own kubeconfig: who owns them, and that everything else in the file keeps its bytes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use server::data_directory::DataDirectory;
use server::merge_kubeconfig::{merge, unmerge};
use tempfile::TempDir;

/// A data directory with the kubeconfig of its server, beside a kubeconfig of the user.
struct Place {
    _folder: TempDir,
    directory: DataDirectory,
    ours: PathBuf,
    theirs: PathBuf,
}

impl Place {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let directory = DataDirectory::locate(Some(&folder.path().join("data"))).unwrap();
        directory.create().unwrap();
        let (ours, theirs) = (directory.kubeconfig(), folder.path().join("deep/config"));
        let place = Self { _folder: folder, directory, ours, theirs };
        place.serve_as(name, "https://127.0.0.1:1");
        place
    }

    fn serve_as(&self, name: &str, server: &str) {
        let entry = |kind: &str, content: Value| json!([{"name": name, kind: content}]);
        let config = json!({
            "current-context": name,
            "clusters": entry("cluster", json!({"server": server})),
            "users": entry("user", json!({"client-key-data": "a2V5".repeat(60)})),
            "contexts": entry("context", json!({"cluster": name, "user": name})),
        });
        std::fs::write(&self.ours, config.to_string()).unwrap();
    }

    fn have(&self, text: &str) {
        std::fs::create_dir_all(self.theirs.parent().unwrap()).unwrap();
        std::fs::write(&self.theirs, text).unwrap();
    }

    fn merge(&self) -> Result<String, String> {
        merge(&self.directory, &self.ours, &self.theirs, true).map_err(|error| format!("{error:#}"))
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.theirs).unwrap()
    }

    fn value(&self) -> Value {
        serde_saphyr::from_str(&self.text()).unwrap()
    }
}

fn names(config: &Value, list: &str) -> Vec<String> {
    let entries = config[list].as_array().cloned().unwrap_or_default();
    entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

/// A file that does not exist yet is remembered as it will be found later, whatever leads to it.
#[test]
fn a_new_file_behind_a_link_is_the_same_file_next_time() {
    let place = Place::new("firstlight-data");
    let (real, link) =
        (place.theirs.parent().unwrap(), place.theirs.parent().unwrap().with_extension("link"));
    std::fs::create_dir_all(real).unwrap();
    std::os::unix::fs::symlink(real, &link).unwrap();
    for make_current in [true, false] {
        merge(&place.directory, &place.ours, &link.join("config"), make_current).unwrap();
        assert_eq!(place.value()["current-context"], "firstlight-data", "{make_current}");
    }
    assert_eq!(unmerge(&place.directory).unwrap(), Some(real.canonicalize().unwrap().join("config")));
    assert!(!place.theirs.exists());
}

/// As kind writes it, with what people add by hand.
const KIND: &str = "\
# my clusters
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMvakNDQWVhZ0F3SUJBZ0lCQURBTkJna3Foa2lHOXcwQkFRc0ZBREFWTVJNd0VRWURWUVFERXdwcmRXSmwKY201bGRHVnpNQjRY
    server: https://127.0.0.1:40001   # kind
  name: kind-one
# the company's
- name: 'prod'
  cluster: {server: \"https://prod.example.com\"}
contexts:
- context: {cluster: prod, user: prod}
  name: prod
current-context: prod # careful
kind: Config
preferences: {}
users:
- name: prod
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: login
      args:
      - |
        several
        lines
";

#[test]
fn merging_and_unmerging_leave_every_other_byte() {
    let indented = KIND.replace("\n- ", "\n  - ").replace("\n  name: ", "\n    name: ");
    let indented =
        indented.replace("    certificate", "      certificate").replace("    server", "      server");
    let indented =
        indented.replace("\n  cluster: {", "\n    cluster: {").replace("\n  user:\n", "\n    user:\n");
    let indented = indented.split("users:").next().unwrap().to_owned() + "users: [{name: prod, user: {}}]\n";
    let json = json!({
        "kind": "Config", "current-context": "prod", "clusters": [{"name": "prod", "cluster": {}}],
        "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "prod"}}],
        "users": [{"name": "prod", "user": {}}],
    });
    for text in
        [KIND.to_owned(), KIND.replace('\n', "\r\n"), indented, format!("{json:#}\n"), json.to_string()]
    {
        let place = Place::new("firstlight-one");
        place.have(&text);
        assert_eq!(place.merge().unwrap(), "firstlight-one", "{text}");
        let merged = place.text();
        let config = place.value();
        assert_eq!(config["current-context"], "firstlight-one", "{merged}");
        for list in ["clusters", "users", "contexts"] {
            assert!(names(&config, list).contains(&"firstlight-one".to_owned()), "{list}: {merged}");
            assert!(names(&config, list).contains(&"prod".to_owned()), "{list}: {merged}");
        }
        for line in text.lines().filter(|line| line.starts_with('#') || line.contains("LS0tLS1")) {
            assert!(merged.lines().any(|merged| merged == line), "{line:?} is in {merged}");
        }
        // Another start of the server, at another port, and the renewal of its certificate.
        place.serve_as("firstlight-one", "https://127.0.0.1:2");
        place.merge().unwrap();
        assert!(
            place.text().contains("https://127.0.0.1:2") && !place.text().contains("https://127.0.0.1:1\"")
        );
        assert_eq!(unmerge(&place.directory).unwrap(), Some(place.theirs.canonicalize().unwrap()));
        assert_eq!(place.text(), text);
        assert_eq!(unmerge(&place.directory).unwrap(), None, "there is nothing left to take out");
    }
}

#[test]
fn each_value_stands_on_one_line() {
    let place = Place::new("firstlight-one");
    place.have(KIND);
    place.merge().unwrap();
    let key = "a2V5".repeat(60);
    let found = place.text().lines().any(|line| line.trim() == format!("client-key-data: {key}"));
    assert!(found, "{}", place.text());
}

/// Whoever stops last leaves the user's own context, or no file if there was none.
#[test]
fn servers_that_stop_in_any_order_go_back_to_the_context_of_the_user() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (order, has_own) in orders.into_iter().flat_map(|order| [(order, true), (order, false)]) {
        let places = ["firstlight-one", "firstlight-two", "firstlight-three"].map(Place::new);
        let theirs = &places[0].theirs;
        if has_own {
            places[0]
                .have("current-context: mine\ncontexts:\n- name: mine\n  context: {cluster: c, user: u}\n");
        }
        for place in &places {
            merge(&place.directory, &place.ours, theirs, true).unwrap();
        }
        let mut left = vec!["firstlight-one", "firstlight-two", "firstlight-three"];
        for stopped in order {
            unmerge(&places[stopped].directory).unwrap();
            left.retain(|name| *name != ["firstlight-one", "firstlight-two", "firstlight-three"][stopped]);
            if let (Some(last), true) = (left.last(), theirs.exists()) {
                assert_eq!(places[0].value()["current-context"], **last, "{order:?}");
            }
        }
        match has_own {
            true => assert_eq!(places[0].value()["current-context"], "mine", "{order:?}"),
            false => assert!(!theirs.exists(), "{order:?}"),
        }
    }
}

/// As when a machine starts several servers.
#[test]
fn servers_that_start_and_stop_at_once_take_turns() {
    let places: Vec<Place> = (0..8).map(|number| Place::new(&format!("firstlight-{number}"))).collect();
    places[0].have("current-context: mine\ncontexts:\n- name: mine\n  context: {cluster: c, user: u}\n");
    let theirs = &places[0].theirs;
    let at_once = |act: &(dyn Fn(&Place) + Sync)| {
        std::thread::scope(|scope| {
            for place in &places {
                scope.spawn(|| act(place));
            }
        });
    };
    for _ in 0..5 {
        at_once(&|place| drop(merge(&place.directory, &place.ours, theirs, true).unwrap()));
        assert_eq!(names(&places[0].value(), "contexts").len(), 1 + places.len());
        at_once(&|place| drop(unmerge(&place.directory).unwrap().unwrap()));
        assert_eq!(names(&places[0].value(), "contexts"), ["mine"]);
        assert_eq!(places[0].value()["current-context"], "mine");
    }
}

#[test]
fn a_link_to_a_file_that_is_not_there_stays() {
    let place = Place::new("firstlight-data");
    let link = place.theirs.with_file_name("link");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("config", &link).unwrap();
    merge(&place.directory, &place.ours, &link, true).unwrap();
    assert!(link.is_symlink() && !place.theirs.is_symlink());
    assert_eq!(place.value()["current-context"], "firstlight-data");
    assert!(unmerge(&place.directory).unwrap().is_some());
    assert!(link.is_symlink() && !place.theirs.exists());
    let round = place.theirs.with_file_name("round");
    std::os::unix::fs::symlink("round", &round).unwrap();
    merge(&place.directory, &place.ours, &round, true).unwrap_err();
}

#[test]
fn a_data_directory_that_was_moved_keeps_its_entries_and_a_copy_has_none() {
    let place = Place::new("firstlight-data");
    place.have("current-context: mine\ncontexts:\n- name: mine\n  context: {cluster: c, user: u}\n");
    place.merge().unwrap();
    let at = |name: &str| DataDirectory::locate(Some(&place.directory.path().with_file_name(name))).unwrap();
    let copy = at("copy");
    copy.create().unwrap();
    for file in ["merged.json", "kubeconfig"] {
        std::fs::copy(place.directory.path().join(file), copy.path().join(file)).unwrap();
    }
    assert_eq!(unmerge(&copy).unwrap(), None);
    assert_eq!(place.value()["current-context"], "firstlight-data");
    let moved = at("moved");
    std::fs::rename(place.directory.path(), moved.path()).unwrap();
    merge(&moved, &moved.kubeconfig(), &place.theirs, true).unwrap();
    assert_eq!(names(&place.value(), "contexts"), ["mine", "firstlight-data"]);
    assert!(place.text().contains(moved.path().to_str().unwrap()));
    let again = at("again");
    std::fs::rename(moved.path(), again.path()).unwrap();
    assert!(unmerge(&again).unwrap().is_some());
    assert_eq!(names(&place.value(), "contexts"), ["mine"]);
    assert_eq!(place.value()["current-context"], "mine");
}

#[test]
fn a_server_goes_back_to_the_new_name_of_another() {
    let (one, two) = (Place::new("firstlight-one"), Place::new("firstlight-two"));
    one.merge().unwrap();
    merge(&two.directory, &two.ours, &one.theirs, true).unwrap();
    one.serve_as("firstlight-first", "https://127.0.0.1:1");
    merge(&one.directory, &one.ours, &one.theirs, false).unwrap();
    assert_eq!(one.value()["current-context"], "firstlight-two");
    unmerge(&two.directory).unwrap();
    assert_eq!(one.value()["current-context"], "firstlight-first");
}

#[test]
fn a_file_that_was_made_for_the_entries_goes_with_them() {
    let place = Place::new("firstlight-one");
    place.merge().unwrap();
    assert_eq!(std::fs::metadata(&place.theirs).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.value()["kind"], "Config");
    unmerge(&place.directory).unwrap();
    assert!(!place.theirs.exists());
    let files: Vec<_> = std::fs::read_dir(place.theirs.parent().unwrap()).unwrap().flatten().collect();
    assert!(files.is_empty(), "the lock is gone: {files:?}");
}

#[test]
fn lists_that_are_missing_or_empty_begin() {
    for text in [
        "",
        "# nothing yet\n",
        "kind: Config",
        "clusters: []\nusers: null # none\ncontexts:\ncurrent-context: \"\"\n",
        "clusters:\nusers:\ncontexts:\ncurrent-context:\n",
        "{}\n",
        "{\"clusters\": [], \"users\": null}\n",
    ] {
        let place = Place::new("firstlight-one");
        place.have(text);
        place.merge().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(names(&place.value(), "contexts"), ["firstlight-one"], "{}", place.text());
        unmerge(&place.directory).unwrap();
        assert_eq!(names(&place.value(), "contexts"), [""; 0], "{}", place.text());
    }
}

#[test]
fn entries_of_others_are_never_changed() {
    let (mine, other) = (Place::new("firstlight-data"), Place::new("firstlight-data"));
    other.have(
        "clusters: [{name: firstlight-data, cluster: {server: 'https://somebody-elses.example.com'}}]\n",
    );
    let before = other.text();
    let error = other.merge().unwrap_err();
    assert!(
        error.contains("has an entry firstlight-data in its clusters") && error.contains("--name"),
        "{error}"
    );
    assert_eq!(other.text(), before);
    // Two servers of one name in one file.
    mine.have(KIND);
    mine.merge().unwrap();
    let before = mine.text();
    assert!(merge(&other.directory, &other.ours, &mine.theirs, true).is_err());
    assert_eq!(mine.text(), before);
    other.serve_as("firstlight-other", "https://127.0.0.1:3");
    merge(&other.directory, &other.ours, &mine.theirs, true).unwrap();
    unmerge(&mine.directory).unwrap();
    let config = mine.value();
    assert_eq!(names(&config, "contexts"), ["prod", "firstlight-other"]);
    assert_eq!(config["current-context"], "firstlight-other", "it was not the current one");
}

#[test]
fn the_context_that_the_user_has_chosen_since_stays() {
    let place = Place::new("firstlight-one");
    place.have(KIND);
    place.merge().unwrap();
    std::fs::write(
        &place.theirs,
        place.text().replace("current-context: firstlight-one", "current-context: kind-one"),
    )
    .unwrap();
    merge(&place.directory, &place.ours, &place.theirs, false).unwrap();
    assert_eq!(place.value()["current-context"], "kind-one");
    unmerge(&place.directory).unwrap();
    assert_eq!(place.value()["current-context"], "kind-one");
}

#[test]
fn a_server_with_a_new_name_leaves_no_entry_of_the_old_one() {
    let place = Place::new("firstlight-one");
    place.have(KIND);
    place.merge().unwrap();
    place.serve_as("firstlight-two", "https://127.0.0.1:1");
    place.merge().unwrap();
    assert_eq!(names(&place.value(), "clusters"), ["kind-one", "prod", "firstlight-two"]);
    unmerge(&place.directory).unwrap();
    assert_eq!(place.text(), KIND);
}

#[test]
fn a_link_stays_a_link() {
    let place = Place::new("firstlight-one");
    let real = place.directory.path().join("real");
    std::fs::write(&real, KIND).unwrap();
    std::fs::create_dir_all(place.theirs.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&real, &place.theirs).unwrap();
    place.merge().unwrap();
    assert!(place.theirs.is_symlink());
    unmerge(&place.directory).unwrap();
    assert_eq!(std::fs::read_to_string(&real).unwrap(), KIND);
}

#[test]
fn what_cannot_be_changed_in_place_stays_as_it_is() {
    let place = Place::new("firstlight-one");
    for (text, expected) in [
        ("kind: Pod", "its kind is Pod"),
        ("secret: [", "is not a kubeconfig"),
        ("users: {secret: 1}", "users is not a list"),
        ("users: &secret [{name: a, user: {}}]\nclusters: *secret\n", "cannot be changed"),
        ("kind: Config\n---\nkind: Config\nsecret: 1\n", "config"),
    ] {
        place.have(text);
        let error = place.merge().unwrap_err();
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
        assert_eq!(place.text(), text);
    }
    place.have("");
    let lock = Path::new(&place.theirs).with_file_name("config.lock");
    std::fs::write(&lock, "").unwrap();
    let error = place.merge().unwrap_err();
    assert!(error.contains("is locked by another program"), "{error}");
    assert!(lock.exists(), "the lock of the other program stays");
}

#[test]
fn the_lock_of_a_process_that_was_killed_is_taken_over() {
    let place = Place::new("one");
    place.have("");
    let lock = Path::new(&place.theirs).with_file_name("config.lock");
    std::fs::write(&lock, "firstlight\n").unwrap();
    place.merge().unwrap();
    assert!(!lock.exists());
    assert!(place.text().contains("clusters"), "{}", place.text());
}
