//! The text form of compilation errors, as cel-go displays them.

use crate::limits::MAX_CEL_PROBLEMS_TEXT;
use crate::syntax::token::{NOWHERE, Problem};

/// Formats errors as cel-go does, each with its source line and a caret. `count` is the number of all errors, of which
/// `problems` are the first. Each error repeats its source line, so the text is truncated.
pub(super) fn display(source: &str, problems: &[Problem], count: usize) -> String {
    let mut problems = problems.to_vec();
    problems.sort_by_key(|problem| problem.at.wrapping_add(1));
    let mut text = String::new();
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            text.push('\n');
            if text.len() > MAX_CEL_PROBLEMS_TEXT {
                text.push_str(&format!("{} more errors were truncated", count - index));
                return text;
            }
        }
        text.push_str(&shown(source, problem));
    }
    if count > problems.len() {
        text.push_str(&format!("\n{} more errors were truncated", count - problems.len()));
    }
    text
}

fn shown(source: &str, problem: &Problem) -> String {
    if problem.at == NOWHERE {
        return format!("ERROR: <input>:-1:0: {}", problem.message);
    }
    let before: String = source.chars().take(problem.at).collect();
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let text = source.lines().nth(line).unwrap_or_default();
    let text = text.replace('\t', " ");
    // Below a wide character the marker must be wide, too.
    let dots: String = text.chars().take(column).map(|c| if c.len_utf8() > 1 { '．' } else { '.' }).collect();
    let mark = if text.chars().nth(column).is_some_and(|c| c.len_utf8() > 1) { '＾' } else { '^' };
    format!("ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}{mark}", line + 1, column + 1, problem.message)
}
