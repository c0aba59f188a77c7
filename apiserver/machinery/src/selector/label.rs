//! Label selectors such as `a=b,c!=d,e in (f,g),h,!i,j>1`, and their object form.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::limits::MAX_SELECTOR_TERMS;
use crate::names::{label_value, qualified_name};

/// A parsed label selector. Labels match if all requirements hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Greater,
    Less,
}

impl LabelSelector {
    /// Parses a selector such as `a=b,c!=d,e in (f,g),h,!i,j>1`. The error is a message of kube-apiserver.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: scan(text), position: 0 };
        let mut requirements = Vec::new();
        loop {
            match parser.peek() {
                Token::End => break,
                Token::Word(_) | Token::Symbol("!") => {
                    let requirement = parser.requirement();
                    requirements
                        .push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
                    check_count(requirements.len())?;
                    if parser.separator()? {
                        break;
                    }
                }
                other => {
                    return Err(format!("found '{other}', expected: !, identifier, or 'end of string'"));
                }
            }
        }
        Ok(Self { requirements })
    }

    /// Parses a `metav1.LabelSelector` object (`matchLabels`, `matchExpressions`). An empty one selects everything. The
    /// error is a message.
    pub fn from_object(selector: &Value) -> Result<Self, String> {
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let values = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
            requirements.push(Requirement::new(key, Operator::In, values)?);
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
            let operator = match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(format!("{other:?} is not a valid label selector operator")),
            };
            let values = expression.get("values").and_then(Value::as_array);
            let values = values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            requirements.push(Requirement::new(key, operator, values)?);
        }
        check_count(requirements.len())?;
        Ok(Self { requirements })
    }

    /// Returns whether the selector selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether the labels in `metadata.labels` match. `None` means no labels.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.selects(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
    }

    /// Returns whether labels match. `value` returns the value of a label, or `None` if there is no such label.
    pub fn selects<'v>(&self, value: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(value(&requirement.key)))
    }

    /// Returns the number of requirements.
    pub fn len(&self) -> usize {
        self.requirements.len()
    }
}

impl std::fmt::Display for LabelSelector {
    /// Formats the selector for [`Self::parse`], sorted by keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut sorted: Vec<&Requirement> = self.requirements.iter().collect();
        sorted.sort_by(|a, b| a.key.cmp(&b.key));
        for (index, Requirement { key, operator, values }) in sorted.into_iter().enumerate() {
            f.write_str(if index > 0 { "," } else { "" })?;
            let list = values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
            match operator {
                Operator::In if values.len() == 1 => write!(f, "{key}={list}")?,
                Operator::In => write!(f, "{key} in ({list})")?,
                Operator::NotIn => write!(f, "{key} notin ({list})")?,
                Operator::Exists => f.write_str(key)?,
                Operator::DoesNotExist => write!(f, "!{key}")?,
                Operator::Greater => write!(f, "{key}>{list}")?,
                Operator::Less => write!(f, "{key}<{list}")?,
            }
        }
        Ok(())
    }
}

/// Formats a selector of an object, either a `metav1.LabelSelector` or a plain map of labels. Returns an empty text if
/// it is invalid.
pub fn show_object(selector: &Value) -> String {
    let structured = ["matchLabels", "matchExpressions"].iter().any(|field| selector.get(field).is_some());
    let parsed = if structured {
        LabelSelector::from_object(selector)
    } else {
        LabelSelector::from_object(&serde_json::json!({"matchLabels": selector}))
    };
    parsed.map(|selector| selector.to_string()).unwrap_or_default()
}

impl Requirement {
    fn new(key: &str, operator: Operator, values: BTreeSet<String>) -> Result<Self, String> {
        let mut errors = Vec::new();
        errors.extend(check_key(key, "key").err());
        let shown = || {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("[{}]", values.join(","))
        };
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => errors.push(format!(
                "values: Invalid value: {}: for 'in', 'notin' operators, values set can't be empty",
                shown()
            )),
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => errors.push(format!(
                "values: Invalid value: {}: values set must be empty for exists and does not exist",
                shown()
            )),
            Operator::Greater | Operator::Less => {
                for (index, value) in
                    values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err())
                {
                    errors.push(format!(
                        "values[{index}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
                    ));
                }
            }
            _ => {}
        }
        for (index, value) in values.iter().enumerate() {
            let wrong = label_value(value);
            if !wrong.is_empty() {
                errors
                    .push(format!("values[{index}][{key}]: Invalid value: {value:?}: {}", wrong.join("; ")));
            }
        }
        match errors.as_slice() {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    fn matches(&self, value: Option<&str>) -> bool {
        let ordered = |compare: fn(&i64, &i64) -> bool| {
            let bound = self.values.first().and_then(|bound| bound.parse::<i64>().ok());
            let value = value.and_then(|value| value.parse::<i64>().ok());
            matches!((value, bound), (Some(value), Some(bound)) if compare(&value, &bound))
        };
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Greater => ordered(i64::gt),
            Operator::Less => ordered(i64::lt),
        }
    }
}

/// Limits the number of requirements, because a list request checks each object against each of them.
fn check_count(count: usize) -> Result<(), String> {
    if count > MAX_SELECTOR_TERMS {
        return Err(format!("unable to parse requirement: there are more than {MAX_SELECTOR_TERMS}"));
    }
    Ok(())
}

fn check_key(key: &str, path: &str) -> Result<(), String> {
    let wrong = qualified_name(key);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{path}: Invalid value: {key:?}: {}", wrong.join("; ")))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    Unknown(String),
    End,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(text) | Self::Unknown(text) => f.write_str(text),
            Self::Symbol(text) => f.write_str(text),
            Self::End => Ok(()),
        }
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn scan(text: &str) -> Vec<Token> {
    let special = |c: char| "=!(),><".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if special(first) {
            let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
            tokens.push(symbol.map_or_else(|| Token::Unknown(first.to_string()), Token::Symbol));
            symbol.map_or(first.len_utf8(), str::len)
        } else {
            let end = rest.find(|c: char| special(c) || c.is_whitespace()).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        };
        rest = rest[length..].trim_start();
    }
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.position).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.position += 1;
        token
    }

    /// Consumes the separator after a requirement. Returns whether the selector ends.
    fn separator(&mut self) -> Result<bool, String> {
        match self.next() {
            Token::End => Ok(true),
            Token::Symbol(",") => match self.peek() {
                Token::Word(_) | Token::Symbol("!") => Ok(false),
                other => Err(format!("found '{other}', expected: identifier after ','")),
            },
            other => Err(format!("found '{other}', expected: ',' or 'end of string'")),
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        let Token::Word(key) = token else { return Err(format!("found '{token}', expected: identifier")) };
        check_key(&key, "<nil>")?;
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            let operator = if negated { Operator::DoesNotExist } else { Operator::Exists };
            return Requirement::new(&key, operator, BTreeSet::new());
        }
        if negated {
            return Requirement::new(&key, Operator::DoesNotExist, BTreeSet::new());
        }
        let (operator, set) = match self.next() {
            Token::Symbol("=" | "==") => (Operator::In, false),
            Token::Symbol("!=") => (Operator::NotIn, false),
            Token::Symbol(">") => (Operator::Greater, false),
            Token::Symbol("<") => (Operator::Less, false),
            Token::Word(word) if word == "in" => (Operator::In, true),
            Token::Word(word) if word == "notin" => (Operator::NotIn, true),
            other => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        let values = if set { self.values()? } else { BTreeSet::from([self.exact_value()?]) };
        Requirement::new(&key, operator, values)
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(String::new()),
            Token::Word(word) => {
                self.position += 1;
                Ok(word)
            }
            other => Err(format!("found '{other}', expected: identifier")),
        }
    }

    /// Parses `(a,b)`. A redundant comma and empty parentheses stand for the empty value.
    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{other}' expected: '('")),
        }
        let mut values = BTreeSet::new();
        let mut expect_value = true;
        loop {
            match self.next() {
                Token::Word(word) if expect_value => {
                    values.insert(word);
                    expect_value = false;
                }
                Token::Symbol(",") => {
                    if expect_value {
                        values.insert(String::new());
                    }
                    expect_value = true;
                }
                Token::Symbol(")") => {
                    if expect_value {
                        values.insert(String::new());
                    }
                    return Ok(values);
                }
                other if expect_value => {
                    return Err(format!("found '{other}', expected: ',', ')' or identifier"));
                }
                other => return Err(format!("found '{other}', expected: ',' or ')'")),
            }
        }
    }
}
