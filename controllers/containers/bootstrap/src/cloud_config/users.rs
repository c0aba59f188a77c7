//! The section `users`.

use super::document::{Entry, User, UserFields, is_true};
use crate::error::Error;
use crate::steps::Step;
use crate::users;

/// Returns one step for each user.
pub fn steps(entries: Vec<User>, warnings: &mut Vec<String>) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for (index, entry) in entries.into_iter().enumerate() {
        let fields = match entry {
            User::Nothing => continue,
            User::Name(name) if name == "default" => {
                warnings.push(format!("users[{index}]: not applied, a node has no default user"));
                continue;
            }
            User::Name(name) => UserFields { name: Some(name), ..UserFields::default() },
            User::Fields(fields) => *fields,
        };
        steps.push(users::step(&user(fields), &format!("users[{index}]"))?);
    }
    Ok(steps)
}

fn user(fields: UserFields) -> users::User {
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
    let options = [
        ("--comment", fields.gecos),
        ("--home", fields.homedir),
        ("--shell", fields.shell),
        ("--uid", fields.uid),
        ("--inactive", fields.inactive),
        ("--expiredate", fields.expiredate),
    ];
    let sudo = words(fields.sudo, None);
    users::User {
        name: fields.name.unwrap_or_default(),
        options: options.into_iter().map(|(option, value)| (option, value.unwrap_or_default())).collect(),
        groups: words(fields.groups, Some(',')),
        primary_group: fields.primary_group.unwrap_or_default(),
        password_hash: filled(fields.hashed_passwd).or_else(|| filled(fields.passwd)),
        password: filled(fields.plain_text_passwd),
        locked: fields.lock_passwd.as_deref().is_none_or(is_true),
        sudo: if sudo == ["false"] { Vec::new() } else { sudo },
        ssh_authorized_keys: words(fields.ssh_authorized_keys, None),
        system: fields.system,
        no_create_home: fields.no_create_home,
        no_user_group: fields.no_user_group,
    }
}

/// Returns the words of an entry; a text may hold several.
fn words(entry: Entry, separator: Option<char>) -> Vec<String> {
    let texts = match entry {
        Entry::Nothing => Vec::new(),
        Entry::Text(text) => vec![text],
        Entry::Words(words) => words,
    };
    let split = |text: &String| match separator {
        Some(separator) => text.split(separator).map(|part| part.trim().to_owned()).collect(),
        None => vec![text.trim().to_owned()],
    };
    texts.iter().flat_map(split).filter(|word| !word.is_empty()).collect()
}
