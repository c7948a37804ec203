//! What every request looks like on the wire: the table that `walk` checks a body against before the crate decodes it.
//!
//! The table is `shapes.txt`, written by `Shapes.java` from Kafka's own schemas; it is parsed once, at first use. A line is
//! `key Name from-to: fields`, with these fields:
//!
//! - a number: so many bytes;
//! - `s` string with an int16 length, `c` compact string; `b` bytes with an int32 length, `d` compact bytes;
//! - `A(m: fields)` array with an int32 count, `K(m: fields)` compact array, whose elements take at most m bytes in memory;
//! - `{fields}` a struct in place; as an element or a tagged field a struct has no braces;
//! - `<tag: fields, ...>` a tagged section with its known tags (KIP-482).
//!
//! `?` behind the letter allows null; before `{` it says that a byte tells whether the struct is there.

use std::sync::OnceLock;

/// How a length or count is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Int16,
    Int32,
    /// An unsigned varint, one above the value; 0 is null.
    Compact,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    Fixed(usize),
    /// A string, or bytes, of at most `max` bytes.
    Blob {
        prefix: Prefix,
        nullable: bool,
        is_string: bool,
        max: usize,
    },
    Array {
        prefix: Prefix,
        nullable: bool,
        /// Bytes that a decoded element takes at most, what it points to not counted.
        element_memory: usize,
        element: Vec<Field>,
    },
    Struct {
        nullable: bool,
        fields: Vec<Field>,
    },
    Tags(Vec<(u32, Vec<Field>)>),
}

/// Kafka's longest string, compact ones included (`MessageGenerator`).
const STRING_MAX: usize = i16::MAX as usize;

struct Shape {
    from: i16,
    to: i16,
    fields: Vec<Field>,
}

/// The fields of a request, if Kafka 4.1 has it.
pub(super) fn request(api_key: i16, version: i16) -> Option<&'static [Field]> {
    static TABLE: OnceLock<Vec<Vec<Shape>>> = OnceLock::new();
    let shapes = TABLE
        .get_or_init(|| parse(include_str!("shapes.txt")))
        .get(usize::try_from(api_key).ok()?)?;
    let shape = shapes.iter().find(|shape| (shape.from..=shape.to).contains(&version))?;
    Some(&shape.fields)
}

/// Indexed by API key. Panics on a text that `Shapes.java` does not write.
fn parse(text: &str) -> Vec<Vec<Shape>> {
    let mut table = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (head, fields) = line.split_once(": ").expect("a head and fields");
        let mut words = head.split(' ');
        let key: usize = words.next().and_then(|word| word.parse().ok()).expect("an API key");
        let (from, to) = words.nth(1).and_then(|word| word.split_once('-')).expect("versions");
        if table.len() <= key {
            table.resize_with(key + 1, Vec::new);
        }
        let mut parser = Parser { left: fields.as_bytes() };
        let fields = parser.fields();
        assert!(parser.left.is_empty(), "unread fields in {line}");
        let number = |word: &str| word.parse().expect("a version");
        table[key].push(Shape { from: number(from), to: number(to), fields });
    }
    table
}

struct Parser<'a> {
    left: &'a [u8],
}

impl Parser<'_> {
    fn fields(&mut self) -> Vec<Field> {
        let mut fields = Vec::new();
        loop {
            while self.eat(b' ') {}
            let Some(&next) = self.left.first() else { return fields };
            match next {
                b')' | b'}' | b'>' | b',' => return fields,
                b'0'..=b'9' => {
                    let bytes = self.number();
                    match fields.last_mut() {
                        Some(Field::Fixed(before)) => *before += bytes,
                        _ => fields.push(Field::Fixed(bytes)),
                    }
                }
                _ => fields.push(self.field()),
            }
        }
    }

    fn field(&mut self) -> Field {
        let letter = self.left[0];
        self.left = &self.left[1..];
        match letter {
            b's' => self.blob(Prefix::Int16, STRING_MAX),
            b'c' => self.blob(Prefix::Compact, STRING_MAX),
            b'b' => self.blob(Prefix::Int32, i32::MAX as usize),
            b'd' => self.blob(Prefix::Compact, i32::MAX as usize),
            b'A' => self.array(Prefix::Int32),
            b'K' => self.array(Prefix::Compact),
            b'{' => Field::Struct { nullable: false, fields: self.until(b'}') },
            b'?' if self.eat(b'{') => Field::Struct { nullable: true, fields: self.until(b'}') },
            b'<' => self.tags(),
            _ => panic!("unknown field {}", letter as char),
        }
    }

    fn blob(&mut self, prefix: Prefix, max: usize) -> Field {
        Field::Blob { prefix, nullable: self.eat(b'?'), is_string: max == STRING_MAX, max }
    }

    fn array(&mut self, prefix: Prefix) -> Field {
        let nullable = self.eat(b'?');
        assert!(self.eat(b'('), "an array without elements");
        let element_memory = self.number();
        assert!(self.eat(b':'), "an array without a size");
        Field::Array { prefix, nullable, element_memory, element: self.until(b')') }
    }

    fn tags(&mut self) -> Field {
        let mut tags = Vec::new();
        while !self.eat(b'>') {
            let tag = self.number();
            assert!(self.eat(b':'), "a tag without fields");
            tags.push((u32::try_from(tag).expect("a tag"), self.fields()));
            while self.eat(b',') || self.eat(b' ') {}
        }
        Field::Tags(tags)
    }

    fn until(&mut self, end: u8) -> Vec<Field> {
        let fields = self.fields();
        assert!(self.eat(end), "no {}", end as char);
        fields
    }

    fn number(&mut self) -> usize {
        let digits = self.left.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, left) = self.left.split_at(digits);
        self.left = left;
        number.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'))
    }

    fn eat(&mut self, byte: u8) -> bool {
        let eaten = self.left.first() == Some(&byte);
        if eaten {
            self.left = &self.left[1..];
        }
        eaten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_is_where() {
        let table = parse("# a comment\n1 Thing 2-3: 4 4 s? K(16: c 2 <>) ?{8} <0: 16, 7: b>");
        assert!(table[0].is_empty());
        let shape = &table[1][0];
        assert_eq!((shape.from, shape.to), (2, 3));
        let string =
            |prefix, nullable| Field::Blob { prefix, nullable, is_string: true, max: STRING_MAX };
        let max = i32::MAX as usize;
        let bytes = Field::Blob { prefix: Prefix::Int32, nullable: false, is_string: false, max };
        let element = vec![string(Prefix::Compact, false), Field::Fixed(2), Field::Tags(vec![])];
        assert_eq!(
            shape.fields,
            [
                Field::Fixed(8),
                string(Prefix::Int16, true),
                Field::Array {
                    prefix: Prefix::Compact,
                    nullable: false,
                    element_memory: 16,
                    element
                },
                Field::Struct { nullable: true, fields: vec![Field::Fixed(8)] },
                Field::Tags(vec![(0, vec![Field::Fixed(16)]), (7, vec![bytes])]),
            ]
        );
    }

    #[test]
    fn the_table_has_every_request_of_kafka() {
        assert!(request(0, 3).is_some() && request(0, 13).is_some());
        assert!(request(0, 2).is_none() && request(0, 14).is_none());
        assert!(request(4, 0).is_none(), "removed in 4.0");
        assert!(request(92, 0).is_some());
        assert!(request(93, 0).is_none() && request(-1, 0).is_none());
    }
}
