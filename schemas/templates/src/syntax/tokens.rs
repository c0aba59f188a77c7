//! Splits a template's text into tokens.

use super::Wrong;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Open,
    Close,
    Space,
    Assign,
    Declare,
    Pipe,
    LeftParenthesis,
    RightParenthesis,
    Quoted,
    RawQuoted,
    Character,
    Number,
    Bool,
    Dot,
    Field,
    Variable,
    Identifier,
    Keyword,
    /// Another character, of which only `,` has a meaning.
    Other,
    End,
}

/// A token with its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

const KEYWORDS: &[&str] =
    &["block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template", "with"];

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_numeric()
}

struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
    parentheses: usize,
}

/// The tokens of a template, the last of which is [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Wrong> {
    let mut lexer = Lexer { text, position: 0, line: 1, tokens: Vec::new(), parentheses: 0 };
    while lexer.position < text.len() {
        lexer.outside()?;
    }
    lexer.push(Kind::End, "end of the text");
    Ok(lexer.tokens)
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn push(&mut self, kind: Kind, text: &'a str) {
        self.tokens.push(Token { kind, text, line: self.line });
    }

    /// Goes over `length` bytes.
    fn skip(&mut self, length: usize) -> &'a str {
        let (passed, _) = self.rest().split_at(length);
        self.position += length;
        self.line += passed.matches('\n').count();
        passed
    }

    /// Makes a token of the next `length` bytes, with the line where it begins.
    fn take(&mut self, kind: Kind, length: usize) {
        let line = self.line;
        let text = self.skip(length);
        self.tokens.push(Token { kind, text, line });
    }

    fn wrong<T>(&self, message: impl Into<String>) -> Result<T, Wrong> {
        Err(Wrong { line: self.line, message: message.into() })
    }

    /// Reads text up to the next action, and the beginning of that action or all of that comment.
    fn outside(&mut self) -> Result<(), Wrong> {
        let rest = self.rest();
        let Some(start) = rest.find("{{") else {
            self.take(Kind::Text, rest.len());
            return Ok(());
        };
        let trims = trims_left(&rest[start + 2..]);
        let kept = if trims { rest[..start].trim_end_matches(is_space).len() } else { start };
        if kept > 0 {
            self.take(Kind::Text, kept);
        }
        self.skip(start - kept);
        let marker = if trims { 2 } else { 0 };
        if self.rest()[2 + marker..].starts_with("/*") {
            return self.comment(2 + marker);
        }
        self.take(Kind::Open, 2);
        self.skip(marker);
        self.parentheses = 0;
        while self.inside()? {}
        Ok(())
    }

    fn comment(&mut self, start: usize) -> Result<(), Wrong> {
        self.skip(start + 2);
        let Some(end) = self.rest().find("*/") else { return self.wrong("a comment without its end") };
        self.skip(end + 2);
        match self.closes() {
            Some(trims) => self.close(trims, false),
            None => return self.wrong("a comment must be the whole action"),
        }
        Ok(())
    }

    /// Whether the action ends here, and whether the white space after it is removed.
    fn closes(&self) -> Option<bool> {
        let rest = self.rest();
        if trims_right(rest) {
            return Some(true);
        }
        rest.starts_with("}}").then_some(false)
    }

    fn close(&mut self, trims: bool, token: bool) {
        if trims {
            self.skip(2);
        }
        if token {
            self.take(Kind::Close, 2);
        } else {
            self.skip(2);
        }
        if trims {
            let rest = self.rest();
            self.skip(rest.len() - rest.trim_start_matches(is_space).len());
        }
    }

    /// Reads a token of an action. Returns whether the action goes on.
    fn inside(&mut self) -> Result<bool, Wrong> {
        if let Some(trims) = self.closes() {
            if self.parentheses > 0 {
                return self.wrong("a parenthesis without its end");
            }
            self.close(trims, true);
            return Ok(false);
        }
        let rest = self.rest();
        let mut characters = rest.chars();
        let Some(first) = characters.next() else { return self.wrong("an action without its end") };
        let second = characters.next().unwrap_or('\0');
        match first {
            c if is_space(c) => self.space(),
            '=' => self.take(Kind::Assign, 1),
            ':' if second == '=' => self.take(Kind::Declare, 2),
            ':' => return self.wrong("expected :="),
            '|' => self.take(Kind::Pipe, 1),
            '"' => self.quoted(Kind::Quoted, '"')?,
            '\'' => self.quoted(Kind::Character, '\'')?,
            '`' => match rest[1..].find('`') {
                Some(end) => self.take(Kind::RawQuoted, end + 2),
                None => return self.wrong("a raw string without its end"),
            },
            '$' => self.named(Kind::Variable, Kind::Variable)?,
            '.' if !second.is_ascii_digit() => self.named(Kind::Field, Kind::Dot)?,
            '.' | '+' | '-' | '0'..='9' => self.number()?,
            '(' => {
                self.parentheses += 1;
                self.take(Kind::LeftParenthesis, 1);
            }
            ')' if self.parentheses == 0 => return self.wrong("a parenthesis without its beginning"),
            ')' => {
                self.parentheses -= 1;
                self.take(Kind::RightParenthesis, 1);
            }
            c if is_word(c) => self.word()?,
            c if c.is_ascii_graphic() => self.take(Kind::Other, 1),
            c => return self.wrong(format!("the character {c:?} in an action")),
        }
        Ok(true)
    }

    /// A run of white space. The last space before `-}}` belongs to the end of the action.
    fn space(&mut self) {
        let rest = self.rest();
        let mut length = rest.len() - rest.trim_start_matches(is_space).len();
        if trims_right(&rest[length - 1..]) {
            length -= 1;
        }
        if length > 0 {
            self.take(Kind::Space, length);
        }
    }

    fn quoted(&mut self, kind: Kind, quote: char) -> Result<(), Wrong> {
        let mut escaped = false;
        for (position, c) in self.rest().char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => {
                    self.take(kind, position + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.wrong("a quotation without its end")
    }

    /// A field or variable, whose first character is known, or that character alone.
    fn named(&mut self, kind: Kind, alone: Kind) -> Result<(), Wrong> {
        let rest = &self.rest()[1..];
        let length = rest.len() - rest.trim_start_matches(is_word).len();
        self.take(if length == 0 { alone } else { kind }, 1 + length);
        self.terminated()
    }

    fn word(&mut self) -> Result<(), Wrong> {
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches(is_word).len();
        let kind = match &rest[..length] {
            "true" | "false" => Kind::Bool,
            word if KEYWORDS.contains(&word) => Kind::Keyword,
            _ => Kind::Identifier,
        };
        self.take(kind, length);
        self.terminated()
    }

    /// After a name there is a space or punctuation, so that `$x+2` is an error and not two words.
    fn terminated(&self) -> Result<(), Wrong> {
        let rest = self.rest();
        match rest.chars().next() {
            None => Ok(()),
            Some(c) if is_space(c) || matches!(c, '.' | ',' | '|' | ':' | ')' | '(') => Ok(()),
            Some(_) if rest.starts_with("}}") => Ok(()),
            Some(c) => self.wrong(format!("the character {c:?} after a name")),
        }
    }

    fn number(&mut self) -> Result<(), Wrong> {
        let rest = self.rest();
        let length = crate::format::numbers::length(rest);
        let after = rest[length..].chars().next();
        if after.is_some_and(|c| is_word(c) || c == '+' || c == '-') {
            return self.wrong(format!("{:?} and what follows is no number", &rest[..length]));
        }
        self.take(Kind::Number, length);
        Ok(())
    }
}

fn trims_left(rest: &str) -> bool {
    rest.starts_with('-') && rest[1..].starts_with(is_space)
}

fn trims_right(rest: &str) -> bool {
    rest.starts_with(is_space) && rest[1..].starts_with("-}}")
}
