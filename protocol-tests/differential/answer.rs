//! An answer as text: read from its `Debug` form, so that no API needs code of its own, then written one field a line.
//!
//! `None` is `null`, strings are quoted, error codes have their names, record sets are taken apart. A struct of a list that
//! fits is written in one line. Not here: what differs from run to run (`names`).

use bytes::Bytes;
use kafka_protocol::error::ResponseError;
use std::fmt::{Debug, Write};

use crate::batch;

/// Columns up to which a struct of a list stays in one line.
const LINE_MAX: usize = 110;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    /// A number, a boolean, a topic id.
    Plain(String),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Struct(Vec<(String, Value)>),
}

impl Value {
    /// What `message` prints as, without its empty sections of unknown tagged fields.
    pub fn of(message: &dyn Debug) -> Value {
        let text = format!("{message:?}");
        let mut parser = Parser { left: &text };
        let value = parser.value();
        assert_eq!(parser.left, "", "unread in {text}");
        value
    }

    /// Every list in a field of this name, at any depth.
    pub fn lists(&mut self, name: &str, found: &mut dyn FnMut(&mut Vec<Value>)) {
        match self {
            Value::Struct(fields) => {
                for (field, value) in fields {
                    match value {
                        Value::List(list) if field == name => found(list),
                        _ => value.lists(name, found),
                    }
                }
            }
            Value::List(list) => list.iter_mut().for_each(|value| value.lists(name, found)),
            _ => {}
        }
    }

    /// Lines, each indented by `depth` steps and ended.
    pub fn print(&self, depth: usize, out: &mut String) {
        match self {
            Value::Struct(fields) => {
                for (name, value) in fields {
                    indent(depth, out);
                    value.print_field(name, depth, out);
                }
            }
            _ => {
                indent(depth, out);
                out.push_str(&self.inline());
                out.push('\n');
            }
        }
    }

    /// From the field's name to the end of its last line.
    fn print_field(&self, name: &str, depth: usize, out: &mut String) {
        match self {
            Value::Struct(_) => {
                let _ = writeln!(out, "{name}:");
                self.print(depth + 1, out);
            }
            Value::List(list) if list.iter().any(|it| matches!(it, Value::Struct(_))) => {
                let _ = writeln!(out, "{name}:");
                list.iter().for_each(|element| element.print_element(depth + 1, out));
            }
            _ => {
                let _ = writeln!(out, "{name}: {}", self.inline());
            }
        }
    }

    fn print_element(&self, depth: usize, out: &mut String) {
        indent(depth, out);
        out.push_str("- ");
        match self {
            Value::Struct(fields) if fields.iter().any(|(_, it)| !it.is_flat()) => {
                for (at, (name, value)) in fields.iter().enumerate() {
                    if at > 0 {
                        indent(depth + 1, out);
                    }
                    value.print_field(name, depth + 1, out);
                }
            }
            Value::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, it)| format!("{name}: {}", it.inline())).collect();
                let line = fields.join(", ");
                let room = LINE_MAX.saturating_sub(2 * depth);
                let mut separator = "\n".to_owned();
                indent(depth + 1, &mut separator);
                let text = if line.len() <= room { line } else { fields.join(&separator) };
                let _ = writeln!(out, "{text}");
            }
            _ => {
                let _ = writeln!(out, "{}", self.inline());
            }
        }
    }

    fn is_flat(&self) -> bool {
        match self {
            Value::Struct(_) => false,
            Value::List(list) => list.iter().all(|it| !matches!(it, Value::Struct(_))),
            _ => true,
        }
    }

    fn inline(&self) -> String {
        match self {
            Value::Null => "null".to_owned(),
            Value::Plain(text) => text.clone(),
            Value::Text(text) => format!("{text:?}"),
            Value::Bytes(bytes) => format!("b\"{}\"", bytes.escape_ascii()),
            Value::List(list) => {
                let elements: Vec<String> = list.iter().map(Value::inline).collect();
                format!("[{}]", elements.join(", "))
            }
            Value::Struct(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, it)| format!("{name}: {}", it.inline())).collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    (0..depth).for_each(|_| out.push_str("  "));
}

/// `NONE`, `UNKNOWN_TOPIC_ID`: Kafka's name.
fn error_name(code: &str) -> String {
    let code = code.parse().expect("an error code is an int16");
    let Some(error) = ResponseError::try_from_code(code) else { return "NONE".to_owned() };
    let mut name = String::new();
    for letter in format!("{error:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

/// Of what `#[derive(Debug)]` writes in one line.
struct Parser<'a> {
    left: &'a str,
}

impl Parser<'_> {
    fn value(&mut self) -> Value {
        if self.eat("b\"") {
            return Value::Bytes(self.quoted());
        }
        if self.eat("\"") {
            return Value::Text(String::from_utf8(self.quoted()).expect("a string is UTF-8"));
        }
        if self.eat("[") {
            return Value::List(self.until("]", Parser::value));
        }
        if self.eat("{") {
            return Value::Struct(self.until("}", Parser::field));
        }
        let word = self.word();
        if self.eat(" { ") {
            let mut fields = self.until(" }", Parser::field);
            fields.retain(|(name, value)| name != "unknown_tagged_fields" || !value.is_empty());
            return Value::Struct(fields);
        }
        if self.eat("(") {
            return self.until(")", Parser::value).remove(0);
        }
        if word == "None" { Value::Null } else { Value::Plain(word) }
    }

    fn field(&mut self) -> (String, Value) {
        let name = self.word();
        assert!(self.eat(": "), "a field of {}", self.left);
        let value = match self.value() {
            Value::Plain(code) if name.ends_with("error_code") => Value::Plain(error_name(&code)),
            Value::Bytes(bytes) if name == "records" => Value::of(&batch::read(Bytes::from(bytes))),
            value => value,
        };
        (name, value)
    }

    fn until<T>(&mut self, end: &str, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut all = Vec::new();
        while !self.eat(end) {
            all.push(one(self));
            self.eat(", ");
        }
        all
    }

    fn word(&mut self) -> String {
        let is_part = |c: char| c.is_alphanumeric() || ['_', '-', '.'].contains(&c);
        let end = self.left.find(|c| !is_part(c)).unwrap_or(self.left.len());
        let (word, left) = self.left.split_at(end);
        self.left = left;
        word.to_owned()
    }

    /// Behind the opening quote, to the closing one.
    fn quoted(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        loop {
            let c = self.next();
            match c {
                '"' => return bytes,
                '\\' => self.escaped(&mut bytes),
                _ => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
    }

    fn escaped(&mut self, bytes: &mut Vec<u8>) {
        match self.next() {
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            '0' => bytes.push(0),
            'x' => {
                let (digits, left) = self.left.split_at(2);
                self.left = left;
                bytes.push(u8::from_str_radix(digits, 16).expect("two hexadecimal digits"));
            }
            'u' => {
                let (digits, left) = self.left[1..].split_once('}').expect("an escape ends");
                self.left = left;
                let code = u32::from_str_radix(digits, 16).expect("hexadecimal digits");
                let c = char::from_u32(code).expect("a character");
                bytes.extend(c.encode_utf8(&mut [0; 4]).bytes());
            }
            c => bytes.push(c as u8),
        }
    }

    fn next(&mut self) -> char {
        let mut chars = self.left.chars();
        let c = chars.next().expect("what was opened is closed");
        self.left = chars.as_str();
        c
    }

    fn eat(&mut self, text: &str) -> bool {
        let left = self.left.strip_prefix(text);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }
}

impl Value {
    fn is_empty(&self) -> bool {
        match self {
            Value::Struct(fields) => fields.is_empty(),
            Value::List(list) => list.is_empty(),
            _ => false,
        }
    }
}
