//! The JSONPath of printer columns: fields, indices, slices, wildcards and filters.

use std::cmp::Ordering;

use serde_json::Value;

use crate::limits::{MAX_PATH_FILTERS, MAX_PATH_VALUES};

/// A parsed JSONPath.
#[derive(Debug, Clone, PartialEq)]
pub struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Slice {
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    },
    Every,
    /// Recursive descent, as in `..name`: the value itself and all values below it, parents before children.
    Below,
    /// The values of several steps in order, as in `[0,2]`.
    Union(Vec<Step>),
    Filter(Filter),
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    /// The comparison, or `None` if the left side only has to exist.
    comparison: Option<(Operator, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Path(Path),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Path {
    /// Parses a path such as `.status.conditions[?(@.type=="Ready")].status`. The error is a message.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_below(text, 0)
    }

    /// Parses a path inside of `filters` nested filters.
    fn parse_below(text: &str, filters: usize) -> Result<Self, String> {
        if filters > MAX_PATH_FILTERS {
            return Err(format!("more than {MAX_PATH_FILTERS} filters are nested"));
        }
        let mut steps = Vec::new();
        let mut rest = text.trim();
        rest = rest.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(rest);
        rest = rest.strip_prefix(['$', '@']).unwrap_or(rest);
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                let end = closing(inner).ok_or_else(|| format!("unterminated array in path {text:?}"))?;
                match dictionary_key(&inner[..end]) {
                    Some(key) => steps.extend(Self::parse_below(&format!(".{key}"), filters)?.0),
                    None => steps.push(brackets(&inner[..end], filters).map_err(|why| match filters {
                        0 => format!("{why} in path {text:?}"),
                        _ => why,
                    })?),
                }
                rest = &inner[end + 1..];
                continue;
            }
            let (name, after) = field(rest.strip_prefix('.').unwrap_or(rest));
            match name.as_str() {
                "" if after.starts_with('.') => steps.push(Step::Below),
                "" if after.starts_with('[') => {}
                "" => return Err(format!("a field name is missing in path {text:?}")),
                "*" => steps.push(Step::Every),
                _ => steps.push(Step::Field(name)),
            }
            rest = after;
        }
        Ok(Self(steps))
    }

    /// Returns the values at the path in order, at most the first [`MAX_PATH_VALUES`] for each step.
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![object];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.values(value)).take(MAX_PATH_VALUES).collect();
        }
        found
    }

    /// Returns the first value at the path.
    pub fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        self.find(object).into_iter().next()
    }
}

/// Splits off a field name, in which `\.` stands for a dot, and returns it with the rest of the text.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut escaped = false;
    for (position, character) in text.char_indices() {
        match character {
            _ if escaped => {
                name.push(character);
                escaped = false;
            }
            '\\' => escaped = true,
            '.' | '[' => return (name, &text[position..]),
            _ => name.push(character),
        }
    }
    (name, "")
}

/// Returns the offset in `text` of the bracket that closes one opened before `text`.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (position, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(position),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn quoted(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// Returns the key in `['a']`. It is parsed like a field name, so its dots must be escaped: `['example\.com/a']`.
fn dictionary_key(text: &str) -> Option<&str> {
    let key = text.trim().strip_prefix('\'')?.strip_suffix('\'')?;
    (!key.contains('\'') && !key.is_empty()).then_some(key)
}

fn brackets(text: &str, filters: usize) -> Result<Step, String> {
    let text = text.trim();
    if text == "*" {
        return Ok(Step::Every);
    }
    if let Some(expression) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return Ok(Step::Filter(Filter::parse(expression, filters + 1)?));
    }
    if text.contains(',') {
        let parts = text.split(',').map(|one| match dictionary_key(one) {
            Some(key) => Ok(Step::Field(field(key).0)),
            None => brackets(one, filters),
        });
        return parts.collect::<Result<_, _>>().map(Step::Union);
    }
    let number = |part: &str| -> Result<Option<i64>, String> {
        let part = part.trim();
        if part.is_empty() {
            return Ok(None);
        }
        part.parse().map(Some).map_err(|_| format!("invalid array index {part}"))
    };
    match text.split(':').collect::<Vec<_>>()[..] {
        [index] => number(index)?.map(Step::Index).ok_or_else(|| "an array index is missing".to_owned()),
        [start, end] => Ok(Step::Slice { start: number(start)?, end: number(end)?, step: 1 }),
        [start, end, step] => match number(step)?.unwrap_or(1) {
            step if step > 0 => Ok(Step::Slice { start: number(start)?, end: number(end)?, step }),
            _ => Err("step must be > 0".to_owned()),
        },
        _ => Err(format!("invalid array index {text}")),
    }
}

impl Filter {
    fn parse(text: &str, filters: usize) -> Result<Self, String> {
        let operators = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let mut quote = None;
        for (position, character) in text.char_indices() {
            match (quote, character) {
                (Some(open), _) if open == character => quote = None,
                (Some(_), _) => continue,
                (None, '"' | '\'') => quote = Some(character),
                _ => {}
            }
            let found = operators.iter().find(|(operator, _)| text[position..].starts_with(operator));
            if let Some((operator, meaning)) = found {
                let right = &text[position + operator.len()..];
                let comparison = Some((*meaning, Operand::parse(right, filters)?));
                return Ok(Self { left: Operand::parse(&text[..position], filters)?, comparison });
            }
        }
        Ok(Self { left: Operand::parse(text, filters)?, comparison: None })
    }

    fn holds(&self, item: &Value) -> bool {
        let Some(left) = self.left.value(item) else { return false };
        let Some((operator, right)) = &self.comparison else { return true };
        let Some(right) = right.value(item) else { return false };
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().unwrap_or_default().partial_cmp(&right.as_f64().unwrap_or_default())
            }
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        match operator {
            Operator::Equal => order == Some(Ordering::Equal),
            Operator::NotEqual => order != Some(Ordering::Equal),
            Operator::Less => order == Some(Ordering::Less),
            Operator::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Operator::Greater => order == Some(Ordering::Greater),
            Operator::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

impl Operand {
    fn parse(text: &str, filters: usize) -> Result<Self, String> {
        let text = text.trim();
        if let Some(literal) = quoted(text) {
            return Ok(Self::Literal(literal.into()));
        }
        if text.starts_with('@') || text.starts_with('$') {
            return Ok(Self::Path(Path::parse_below(text, filters)?));
        }
        serde_json::from_str(text)
            .map(Self::Literal)
            .map_err(|_| format!("unrecognized value {text} in a filter"))
    }

    fn value<'a>(&'a self, item: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Path(path) => path.first(item),
            Self::Literal(value) => Some(value),
        }
    }
}

impl Step {
    fn values<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
            (Self::Every, Value::Object(map)) => map.values().collect(),
            (Self::Every, Value::Array(items)) => items.iter().collect(),
            (Self::Below, value) => {
                let mut found = Vec::new();
                below(value, &mut found);
                found
            }
            (Self::Union(steps), value) => steps.iter().flat_map(|step| step.values(value)).collect(),
            (Self::Index(index), Value::Array(items)) => {
                position(*index, items.len()).and_then(|at| items.get(at)).into_iter().collect()
            }
            (Self::Slice { start, end, step }, Value::Array(items)) => {
                let bound = |index: i64| position(index, items.len()).unwrap_or(0).min(items.len());
                let (start, end) = (bound(start.unwrap_or(0)), end.map_or(items.len(), bound));
                let step = usize::try_from(*step).unwrap_or(1);
                items.iter().take(end).skip(start).step_by(step).collect()
            }
            (Self::Filter(filter), Value::Array(items)) => {
                items.iter().filter(|item| filter.holds(item)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Collects `value` and the lists and objects below it that are not empty.
fn below<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let items: Vec<&'a Value> = match value {
        Value::Object(map) => map.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return,
    };
    if !items.is_empty() {
        found.push(value);
        items.into_iter().for_each(|item| below(item, found));
    }
}

/// Returns the position of an index, which counts from the end if it is negative.
fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { index + length } else { index }).ok()
}
