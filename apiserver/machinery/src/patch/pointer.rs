//! JSON pointers (RFC 6901) as `evanphx/json-patch` reads them, and what JSON patches do at the place that one names.
//!
//! A negative index counts from the end of a list. Errors are sentences that say which token does not fit.

use serde_json::Value;

/// What does not fit.
pub type Result<T> = std::result::Result<T, String>;

/// An unescaped JSON pointer. The empty one is the whole document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

impl Pointer {
    /// Parses a pointer. The text before the first slash is ignored; a text without a slash is `None`, if it is not
    /// empty.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self(Vec::new()));
        }
        let tokens = text.split_once('/')?.1.split('/');
        Some(Self(tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// Returns the tokens, from the outermost on.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// Returns whether this is the whole document.
    pub fn is_whole(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the value at `path`.
///
/// # Errors
/// The path names no value.
pub fn get<'a>(object: &'a Value, path: &Pointer) -> Result<&'a Value> {
    path.0.iter().try_fold(object, |value, token| child(value, token))
}

/// Returns the value at `path`, or `None` if the object that would contain it lacks it.
///
/// # Errors
/// The path names no place: its object or list is missing, or its index is out of range.
pub fn member<'a>(object: &'a Value, path: &Pointer) -> Result<Option<&'a Value>> {
    let Some((last, above)) = path.0.split_last() else { return Ok(Some(object)) };
    match above.iter().try_fold(object, |value, token| child(value, token))? {
        Value::Object(fields) => Ok(fields.get(last)),
        other => child(other, last).map(Some),
    }
}

/// Adds a value, in the place of one that is there. In a list it is inserted; `-` is the end of the list.
///
/// # Errors
/// What contains the place is missing, or is neither an object nor a list.
pub fn add(object: &mut Value, path: &Pointer, value: Value) -> Result<()> {
    let Some((parent, last)) = parent(object, path)? else {
        *object = value;
        return Ok(());
    };
    match parent {
        Value::Object(fields) => drop(fields.insert(last.to_owned(), value)),
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let position = position(last, items.len() + 1)?;
            items.insert(position, value);
        }
        _ => {
            return Err(format!(
                "{last:?} cannot be added: what is above it is neither an object nor a list"
            ));
        }
    }
    Ok(())
}

/// Replaces the value at `path`.
///
/// # Errors
/// The path names no value.
pub fn replace(object: &mut Value, path: &Pointer, value: Value) -> Result<()> {
    let place = match parent(object, path)? {
        None => object,
        Some((parent, last)) => child_mut(parent, last)?,
    };
    *place = value;
    Ok(())
}

/// Removes the value at `path`, and returns it.
///
/// # Errors
/// The path names no value, or the whole document.
pub fn remove(object: &mut Value, path: &Pointer) -> Result<Value> {
    let (parent, last) = parent(object, path)?.ok_or("the path must name a field")?;
    match parent {
        Value::Object(fields) => fields.remove(last).ok_or_else(|| not_there(last)),
        Value::Array(items) => {
            let position = position(last, items.len())?;
            Ok(items.remove(position))
        }
        _ => Err(not_there(last)),
    }
}

/// Returns the object or list that a path ends in, and the last token. `None` for the whole document.
fn parent<'a, 'p>(object: &'a mut Value, path: &'p Pointer) -> Result<Option<(&'a mut Value, &'p str)>> {
    let Some((last, above)) = path.0.split_last() else { return Ok(None) };
    let parent = above.iter().try_fold(object, |value, token| child_mut(value, token))?;
    Ok(Some((parent, last)))
}

fn child<'a>(value: &'a Value, token: &str) -> Result<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(token).ok_or_else(|| not_there(token)),
        Value::Array(items) => Ok(&items[position(token, items.len())?]),
        _ => Err(not_there(token)),
    }
}

fn child_mut<'a>(value: &'a mut Value, token: &str) -> Result<&'a mut Value> {
    match value {
        Value::Object(fields) => fields.get_mut(token).ok_or_else(|| not_there(token)),
        Value::Array(items) => {
            let position = position(token, items.len())?;
            Ok(&mut items[position])
        }
        _ => Err(not_there(token)),
    }
}

fn not_there(token: &str) -> String {
    format!("there is no {token:?}")
}

/// Returns the position that a token means in a list; positions are below `length`.
fn position(token: &str, length: usize) -> Result<usize> {
    let number: i64 = token.parse().map_err(|_| format!("{token:?} is not an index of a list"))?;
    let length_signed = i64::try_from(length).unwrap_or(i64::MAX);
    let position = if number < 0 { number.saturating_add(length_signed) } else { number };
    let position = usize::try_from(position).ok().filter(|position| *position < length);
    position.ok_or_else(|| format!("the list has no index {token}"))
}
