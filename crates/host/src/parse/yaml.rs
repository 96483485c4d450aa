//! YAML configuration files as flat key-value pairs.

use facts::InputError;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Larger than any hand-written configuration file.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Deeper than any store setting is nested.
const DEPTH_MAX: usize = 32;
/// Maximum length of a flat key in bytes; together with [`PAIRS_MAX`] it bounds memory use.
const KEY_BYTES_MAX: usize = 1024;
/// What is said of a repeated key. Never the key itself: a file that only root may read may have been named
/// by another user, and the filter would not keep most keys.
const REPEATED: &str = "one again";
/// More pairs than any configuration file has.
const PAIRS_MAX: usize = 10_000;

/// The first document of a YAML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Flat keys and their values as text, in file order: `path.data[0]` and `/srv/a`. Null values
    /// are omitted.
    pub pairs: Vec<(String, String)>,
    /// 1-based line at which a second document starts; servers read only the first, and so does
    /// this parser.
    pub second_document_line: Option<usize>,
}

/// Returns the flat pairs of a file's first document, see [`read`].
///
/// # Errors
/// Same as [`read`].
pub fn flatten(source: &str, text: &str) -> Result<Vec<(String, String)>, InputError> {
    read(source, text).map(|document| document.pairs)
}

/// Parses the first document of a YAML text. Nested keys are joined with dots as Elasticsearch and
/// mongod do, sequence items are numbered from 0.
///
/// What server configurations do not need and what can make a small file expand enormously is
/// rejected: anchors, aliases, tags, merge keys, keys that are not plain words, duplicate keys,
/// nesting deeper than 32. An empty document has no pairs.
///
/// # Errors
/// If the text is not such YAML, with line and column. Values are never part of the message, since
/// they may be secret.
pub fn read(source: &str, text: &str) -> Result<Document, InputError> {
    if text.len() > TEXT_BYTES_MAX {
        let found = format!("{} bytes", text.len());
        let expected = format!("at most {TEXT_BYTES_MAX} bytes of YAML");
        return Err(InputError::new(source, expected, &found));
    }
    // The scanner treats a NUL as the end of the text.
    if let Some(before) = text.split('\0').next()
        && before.len() < text.len()
    {
        let line = before.matches('\n').count() + 1;
        return Err(InputError::new(source, "text", "a NUL byte").at_line(line));
    }
    let mut flattener = Flattener::new(source);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            at(
                InputError::new(source, "valid YAML", error.info()),
                *error.marker(),
            )
        })?;
        if !flattener.handle(&event, span)? {
            break;
        }
    }
    Ok(Document {
        pairs: flattener.pairs,
        second_document_line: flattener.second_document_line,
    })
}

/// Formats a pair as a line of YAML that [`read`] parses to the same pair.
pub fn write_pair(key: &str, value: &str) -> String {
    format!("{}: {}\n", quote(key), quote(value))
}

fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            // Characters that YAML 1.2 considers printable and not line breaks need no escape.
            ' '..='~'
            | '\u{a0}'..='\u{2027}'
            | '\u{202a}'..='\u{d7ff}'
            | '\u{e000}'..='\u{fefe}' => {
                quoted.push(c);
            }
            _ => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(c));
            }
        }
    }
    quoted.push('"');
    quoted
}

fn at(error: InputError, marker: Marker) -> InputError {
    error.at_line(marker.line()).at_column(marker.col() + 1)
}

/// An open mapping or sequence.
struct Open {
    /// Length of the container's own flat key.
    prefix_len: usize,
    inside: Inside,
}

enum Inside {
    Mapping {
        /// Keys seen so far.
        keys: HashSet<String>,
        /// Whether a key was read and its value comes next.
        has_key: bool,
    },
    Sequence {
        /// Number of the next item.
        next: usize,
    },
}

struct Flattener<'s> {
    source: &'s str,
    open: Vec<Open>,
    /// Flat key of the current position.
    key: String,
    pairs: Vec<(String, String)>,
    seen: HashSet<String>,
    documents: usize,
    second_document_line: Option<usize>,
}

impl<'s> Flattener<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            source,
            open: Vec::new(),
            key: String::new(),
            pairs: Vec::new(),
            seen: HashSet::new(),
            documents: 0,
            second_document_line: None,
        }
    }

    fn error(&self, expected: &str, found: &str, span: Span) -> InputError {
        at(InputError::new(self.source, expected, found), span.start)
    }

    /// Handles one event; returns false if the first document has ended and another begins.
    fn handle(&mut self, event: &Event<'_>, span: Span) -> Result<bool, InputError> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.second_document_line = Some(span.start.line());
                    return Ok(false);
                }
            }
            Event::Alias(_) => {
                return Err(self.error("YAML without aliases", "an alias", span));
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(*anchor, tag.is_some(), span)?;
                self.scalar(text, *style, span)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_properties(*anchor, tag.is_some(), span)?;
                let keys = HashSet::new();
                let has_key = false;
                self.enter(Inside::Mapping { keys, has_key }, span)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_properties(*anchor, tag.is_some(), span)?;
                if self.open.is_empty() {
                    let expected = "a mapping at the top of the document";
                    return Err(self.error(expected, "a sequence", span));
                }
                self.enter(Inside::Sequence { next: 0 }, span)?;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
                self.value_ends();
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(true)
    }

    fn refuse_properties(&self, anchor: usize, tag: bool, span: Span) -> Result<(), InputError> {
        if anchor != 0 {
            return Err(self.error("YAML without anchors", "an anchor", span));
        }
        if tag {
            return Err(self.error("YAML without tags", "a tag", span));
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Result<(), InputError> {
        let plain = style == ScalarStyle::Plain;
        let is_null = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        if self.awaits_key() {
            return self.key(text, plain, is_null, span);
        }
        if self.open.is_empty() {
            if is_null {
                return Ok(());
            }
            let expected = "a mapping at the top of the document";
            return Err(self.error(expected, "a single value", span));
        }
        self.value_begins(span)?;
        if !is_null {
            if self.pairs.len() >= PAIRS_MAX {
                return Err(self.error("at most 10,000 settings", "more", span));
            }
            if !self.seen.insert(self.key.clone()) {
                return Err(self.error("each key once", REPEATED, span));
            }
            self.pairs.push((self.key.clone(), text.to_owned()));
        }
        self.value_ends();
        Ok(())
    }

    fn awaits_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                inside: Inside::Mapping { has_key: false, .. },
                ..
            })
        )
    }

    fn key(
        &mut self,
        text: &str,
        plain: bool,
        is_null: bool,
        span: Span,
    ) -> Result<(), InputError> {
        if plain && text == "<<" {
            return Err(self.error("YAML without merge keys", "<<", span));
        }
        if is_null || text.is_empty() {
            return Err(self.error("a key", "nothing", span));
        }
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        self.key.truncate(open.prefix_len);
        if let Inside::Mapping { keys, has_key } = &mut open.inside {
            *has_key = true;
            if !keys.insert(text.to_owned()) {
                return Err(self.error("each key once", REPEATED, span));
            }
        }
        if !self.key.is_empty() {
            self.key.push('.');
        }
        self.key.push_str(text);
        self.check_key(span)
    }

    fn check_key(&self, span: Span) -> Result<(), InputError> {
        if self.key.len() > KEY_BYTES_MAX {
            return Err(self.error("a key of at most 1024 bytes", "a longer one", span));
        }
        Ok(())
    }

    /// Starts a value at the current position: in a sequence that is the next item.
    fn value_begins(&mut self, span: Span) -> Result<(), InputError> {
        if let Some(Open {
            prefix_len,
            inside: Inside::Sequence { next },
        }) = self.open.last_mut()
        {
            self.key.truncate(*prefix_len);
            let _ = write!(self.key, "[{next}]");
            *next += 1;
        }
        self.check_key(span)
    }

    fn enter(&mut self, inside: Inside, span: Span) -> Result<(), InputError> {
        if self.awaits_key() {
            let expected = "a key that is a single word";
            return Err(self.error(expected, "a mapping or a sequence", span));
        }
        if self.open.len() >= DEPTH_MAX {
            return Err(self.error("at most 32 levels of nesting", "more", span));
        }
        self.value_begins(span)?;
        self.open.push(Open {
            prefix_len: self.key.len(),
            inside,
        });
        Ok(())
    }

    fn value_ends(&mut self) {
        if let Some(Open {
            inside: Inside::Mapping { has_key, .. },
            ..
        }) = self.open.last_mut()
        {
            *has_key = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        flatten("x.yml", text).unwrap()
    }

    fn refused(text: &str) -> String {
        flatten("x.yml", text).unwrap_err().to_string()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn dotted_and_nested_keys_are_the_same() {
        let expected = owned(&[("path.data", "/srv/es"), ("node.name", "a")]);
        assert_eq!(pairs("path.data: /srv/es\nnode.name: a\n"), expected);
        assert_eq!(pairs("path:\n  data: /srv/es\nnode: {name: a}\n"), expected);
    }

    #[test]
    fn items_are_numbered() {
        let expected = owned(&[("path.data[0]", "/a"), ("path.data[1]", "/b")]);
        assert_eq!(pairs("path.data: [/a, \"/b\"]\n"), expected);
        assert_eq!(pairs("path:\n  data:\n  - /a\n  - '/b'\n"), expected);
        assert_eq!(
            pairs("a:\n- b: 1\n  c: 2\n- [3]\n"),
            owned(&[("a[0].b", "1"), ("a[0].c", "2"), ("a[1][0]", "3")])
        );
    }

    #[test]
    fn scalars_stay_text_and_null_is_nothing() {
        assert_eq!(
            pairs("a: 08\nb: yes\nc:\nd: ~\ne: \"\"\nf: '~'\n"),
            owned(&[("a", "08"), ("b", "yes"), ("e", ""), ("f", "~")])
        );
        assert_eq!(pairs(""), []);
        assert_eq!(pairs("# only a comment\n"), []);
        assert_eq!(pairs("---\n...\n"), []);
    }

    #[test]
    fn a_second_document_is_reported() {
        let document = read("x.yml", "a: 1\n---\nb: 2\n").unwrap();
        assert_eq!(document.pairs, owned(&[("a", "1")]));
        assert_eq!(document.second_document_line, Some(2));
        assert_eq!(read("x.yml", "a: 1\n").unwrap().second_document_line, None);
    }

    #[test]
    fn expanding_constructs_are_rejected() {
        assert!(refused("a: &x [1]\n").contains("an anchor"));
        assert!(refused("a: &x 1\nb: *x\n").contains("an anchor"));
        assert!(refused("b: *x\n").contains("x.yml:1"));
        assert!(refused("a: !!str 1\n").contains("a tag"));
        assert!(refused("a: !secret {b: 1}\n").contains("a tag"));
        assert!(refused("a: {<<: {b: 1}}\n").contains("merge"));
        let laughs = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n";
        assert!(refused(laughs).contains("an anchor"));
    }

    #[test]
    fn errors_have_a_position_and_no_values() {
        let twice = refused("a: 1\nb:\n  c: s3cret\na: 2\n");
        assert!(twice.starts_with("x.yml:4:1:"), "{twice}");
        let twice = refused("path:\n  data: /a\npath.data: /b\n");
        assert!(twice.starts_with("x.yml:3:"), "{twice}");
        for text in ["s3cret: 1\ns3cret: 2\n", "a:\n  s3cret: 1\na.s3cret: 2\n"] {
            let twice = refused(text);
            assert!(
                twice.contains("each key once") && !twice.contains("s3cret"),
                "{twice}"
            );
        }
        assert!(refused("just s3cret text").contains("a single value"));
        assert!(refused("- a\n- b\n").contains("a sequence"));
        assert!(refused("? [a, b]\n: 1\n").contains("single word"));
        assert!(refused("a: 1\n\0b: 2\n").starts_with("x.yml:2:"));
        let broken = refused("a: \"s3cret\nb: 2\n");
        assert!(!broken.contains("s3cret"), "{broken}");
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let flow = |depth| "a: ".to_owned() + &"[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(pairs(&flow(31)), []);
        assert!(refused(&flow(32)).contains("32 levels"));
        // The scanner has its own limit.
        assert!(refused(&flow(100_000)).contains("recursion limit"));
        let block = "- ".repeat(100_000);
        assert!(refused(&("a:\n".to_owned() + &block)).contains("32 levels"));
        let braces = "{a: ".repeat(100_000);
        assert!(refused(&braces).starts_with("x.yml:1:"));
        let many: String = (0..20_000).fold(String::new(), |text, n| text + &format!("k{n}: 1\n"));
        assert!(refused(&many).contains("10,000"));
        assert!(refused(&"#".repeat(TEXT_BYTES_MAX + 1)).contains("at most 1048576 bytes"));
        // Each level is allowed, but together they are too long.
        let long = format!("{{{0}: {{{0}: {{{0}: 1}}}}}}", "k".repeat(500));
        assert!(refused(&long).contains("1024 bytes"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(text in "\\PC{0,200}") {
            let _ = flatten("x", &text);
        }

        #[test]
        fn any_yaml_like_text_is_parsed_or_rejected(
            text in "([ \n\t]|[a-c<~|>]|[-:,?!&*#'\"%@`\\\\]|[\\[\\]{}]|\\.\\.\\.\n|---\n|: |- ){0,120}"
        ) {
            let _ = flatten("x", &text);
        }

        #[test]
        fn written_pairs_round_trip(
            values in proptest::collection::btree_map("[^\0]{1,20}", "[^\0]{0,40}", 0..6)
        ) {
            let text: String = values.iter().map(|(key, value)| write_pair(key, value)).collect();
            let read: Vec<(String, String)> = values.into_iter().collect();
            let expected = read;
            prop_assert_eq!(flatten("x", &text).unwrap(), expected);
        }
    }
}
