//! LVM's configuration files: lvm.conf(5), and the grammar in LVM2's `libdm/libdm-config.c`.
//!
//! Sections nest, a section may occur several times, `devices/issue_discards = 1` means the same as
//! the key inside its section, `#` starts a comment outside of strings, and the last value of a
//! repeated key wins.

use facts::InputError;
use std::collections::BTreeMap;

/// Path without the leading slash.
pub const PATH: &str = "etc/lvm/lvm.conf";
/// Host-specific settings, which override those in [`PATH`].
pub const LOCAL_PATH: &str = "etc/lvm/lvmlocal.conf";
/// Whether `lvremove` and `lvreduce` discard the space they free; LVM's default is 0.
pub const ISSUE_DISCARDS: &str = "devices/issue_discards";

/// Deeper than any LVM section.
const DEPTH_MAX: usize = 16;

/// A parsed configuration: values by full path (`devices/issue_discards`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    values: BTreeMap<String, Value>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer; values out of range are clamped, as by `strtoll`.
    Int(i64),
    /// A number with a decimal point.
    Float(f64),
    /// A string, without quotes and escapes.
    Text(String),
    /// An array; arrays do not nest.
    Array(Vec<Value>),
}

impl Config {
    /// Returns the value at a full path.
    pub fn get(&self, path: &str) -> Option<&Value> {
        self.values.get(path)
    }

    /// Returns [`ISSUE_DISCARDS`] if it is set: a value that is not a boolean overrides the other
    /// file and means the default, as in LVM.
    pub(crate) fn issue_discards(&self) -> Option<bool> {
        self.get(ISSUE_DISCARDS)?;
        Some(self.boolean(ISSUE_DISCARDS).unwrap_or(false))
    }

    /// Returns the value at a full path as a boolean, with LVM's rules: a number is true unless it
    /// is 0; `y`, `yes`, `on`, `true` and their opposites are recognized in any case; of an array
    /// the first element counts. `None` if there is no value or it is not a boolean: then LVM's
    /// default applies.
    pub fn boolean(&self, path: &str) -> Option<bool> {
        let value = match self.get(path)? {
            Value::Array(values) => values.first()?,
            value => value,
        };
        match value {
            Value::Int(number) => Some(*number != 0),
            Value::Text(text) => match text.to_ascii_lowercase().as_str() {
                "y" | "yes" | "on" | "true" => Some(true),
                "n" | "no" | "off" | "false" => Some(false),
                _ => None,
            },
            Value::Float(_) | Value::Array(_) => None,
        }
    }
}

/// Parses a configuration.
///
/// # Errors
/// At the first syntax error; LVM itself rejects such a file.
pub fn parse(path: &str, text: &str) -> Result<Config, InputError> {
    // LVM treats a NUL as the end of the file.
    let text = text.split('\0').next().unwrap_or_default();
    let mut tokens = Tokens {
        path,
        rest: text,
        line: 1,
    };
    let mut config = Config::default();
    let mut sections: Vec<String> = Vec::new();
    loop {
        let line = tokens.skip_blank();
        let token = tokens.next(false)?;
        let name = match token {
            Token::End if sections.is_empty() => return Ok(config),
            Token::Symbol('}') if !sections.is_empty() => {
                sections.pop();
                continue;
            }
            Token::Word(name) => name.to_owned(),
            Token::Text(name) => name,
            other => {
                let expected = if sections.is_empty() {
                    "a section or a key"
                } else {
                    "a key, a section or `}`"
                };
                return Err(tokens.error(line, expected, &other));
            }
        };
        let name = name
            .split('/')
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/");
        if name.is_empty() {
            return Err(tokens.error(line, "a name of a section or a key", &Token::Word("")));
        }
        let line = tokens.skip_blank();
        match tokens.next(false)? {
            Token::Symbol('{') if sections.len() >= DEPTH_MAX => {
                let expected = format!("at most {DEPTH_MAX} nested sections");
                return Err(tokens.error(line, &expected, &Token::Symbol('{')));
            }
            Token::Symbol('{') => sections.push(name),
            Token::Symbol('=') => {
                let value = tokens.value()?;
                sections.push(name);
                config.values.insert(sections.join("/"), value);
                sections.pop();
            }
            other => return Err(tokens.error(line, "`{` or `=`", &other)),
        }
    }
}

#[derive(Debug, PartialEq)]
enum Token<'t> {
    End,
    /// One of `{ } [ ] , =`.
    Symbol(char),
    /// A quoted string, without quotes and escapes.
    Text(String),
    /// Anything else: an identifier, a number, a bare string.
    Word(&'t str),
}

struct Tokens<'t> {
    path: &'t str,
    rest: &'t str,
    line: usize,
}

impl<'t> Tokens<'t> {
    fn error(&self, line: usize, expected: &str, found: &Token<'_>) -> InputError {
        let found = match found {
            Token::End => "the end of the file".to_owned(),
            Token::Symbol(symbol) => symbol.to_string(),
            Token::Text(_) => "a string".to_owned(),
            Token::Word(word) => (*word).to_owned(),
        };
        InputError::new(self.path, expected, &found).at_line(line)
    }

    /// Skips whitespace and comments; returns the line number of the next token.
    fn skip_blank(&mut self) -> usize {
        loop {
            let trimmed = self
                .rest
                .trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
            self.advance(self.rest.len() - trimmed.len());
            if !self.rest.starts_with('#') {
                return self.line;
            }
            self.advance(self.rest.find('\n').unwrap_or(self.rest.len()));
        }
    }

    fn advance(&mut self, len: usize) {
        let (passed, rest) = self.rest.split_at(len);
        self.line += passed.matches('\n').count();
        self.rest = rest;
    }

    /// Returns the next token. Where a value is allowed, a word that starts like a number ends
    /// where the number ends.
    fn next(&mut self, value: bool) -> Result<Token<'t>, InputError> {
        let line = self.skip_blank();
        let rest = self.rest;
        let Some(first) = rest.chars().next() else {
            return Ok(Token::End);
        };
        match first {
            '{' | '}' | '[' | ']' | ',' | '=' => {
                self.advance(1);
                Ok(Token::Symbol(first))
            }
            '"' | '\'' => self.quoted(first, line),
            '0'..='9' | '+' | '-' | '.' if value => {
                let mut points = u32::from(first == '.');
                let end = rest
                    .char_indices()
                    .skip(1)
                    .find(|&(_, c)| {
                        points += u32::from(c == '.');
                        !(c.is_ascii_digit() || (c == '.' && points == 1))
                    })
                    .map_or(rest.len(), |(index, _)| index);
                self.advance(end);
                Ok(Token::Word(&rest[..end]))
            }
            _ => {
                let end = rest
                    .find(|c: char| {
                        c.is_ascii_whitespace() || matches!(c, '\x0b' | '#' | '=' | '{' | '}')
                    })
                    .unwrap_or(rest.len());
                self.advance(end);
                Ok(Token::Word(&rest[..end]))
            }
        }
    }

    /// Reads a string: `'...'` literally, `"..."` with backslashes before `"` and `\`.
    fn quoted(&mut self, quote: char, line: usize) -> Result<Token<'t>, InputError> {
        let mut text = String::new();
        let mut escaped = false;
        for (index, c) in self.rest.char_indices().skip(1) {
            if escaped {
                // dm_unescape_double_quotes does not decode other escapes.
                if !matches!(c, '"' | '\\') {
                    text.push('\\');
                }
                text.push(c);
                escaped = false;
            } else if c == '\\' && quote == '"' {
                escaped = true;
            } else if c == quote {
                self.advance(index + 1);
                return Ok(Token::Text(text));
            } else {
                text.push(c);
            }
        }
        Err(self.error(line, &format!("a closing {quote}"), &Token::End))
    }

    fn value(&mut self) -> Result<Value, InputError> {
        let line = self.skip_blank();
        match self.next(true)? {
            Token::Symbol('[') => {
                let mut values = Vec::new();
                // LVM accepts one comma after each element, and does not require it.
                let mut comma_allowed = false;
                loop {
                    let line = self.skip_blank();
                    match self.next(true)? {
                        Token::Symbol(']') => return Ok(Value::Array(values)),
                        Token::Symbol(',') if comma_allowed => comma_allowed = false,
                        token => {
                            values.push(self.scalar(token, line)?);
                            comma_allowed = true;
                        }
                    }
                }
            }
            token => self.scalar(token, line),
        }
    }

    fn scalar(&self, token: Token<'_>, line: usize) -> Result<Value, InputError> {
        match token {
            Token::Text(text) => Ok(Value::Text(text)),
            Token::Word(word)
                if word
                    .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) =>
            {
                Ok(number(word))
            }
            Token::Word(word) => Ok(Value::Text(word.to_owned())),
            other => Err(self.error(line, "a value", &other)),
        }
    }
}

fn number(word: &str) -> Value {
    if word.contains('.') {
        return Value::Float(word.parse().unwrap_or(0.0));
    }
    let value = word.parse().unwrap_or_else(|_| {
        // A lone sign is 0 to strtoll; everything else that fails is out of range.
        match (word.len(), word.starts_with('-')) {
            (1, _) => 0,
            (_, true) => i64::MIN,
            (_, false) => i64::MAX,
        }
    });
    Value::Int(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn config(text: &str) -> Config {
        parse(PATH, text).unwrap()
    }

    #[test]
    fn recorded_sections_on_one_line() {
        let config = config(
            "devices { use_devicesfile=0 obtain_device_list_from_udev=0 }\n\
             activation { udev_sync=0 monitoring=0 thin_check_executable=\"\" }\n",
        );
        assert_eq!(config.get("devices/use_devicesfile"), Some(&Value::Int(0)));
        assert_eq!(
            config.get("activation/thin_check_executable"),
            Some(&Value::Text(String::new()))
        );
        assert_eq!(config.boolean(ISSUE_DISCARDS), None);
    }

    #[test]
    fn comments_strings_and_arrays_do_not_confuse_sections() {
        // As Debian ships it, with traps: a key in a comment, `#` and `}` within a string, a key of
        // the same name in another section.
        let config = config(
            "# issue_discards = 1\n\
             config {\n\
             \tchecks = 1 # a comment with } and { in it\n\
             \tissue_discards = 1\n\
             }\n\
             devices {\n\
             \t# Configuration option devices/issue_discards.\n\
             \tdir = \"/dev\"\n\
             \tscan = [ \"/dev\", \"/mnt/#}1\" ]\n\
             \tfilter = [ \"a|.*\\\"/|\", 'r|\\|' ]\n\
             \tignore_suspended_devices = 0 issue_discards = 1\n\
             }\n\
             allocation { cache_settings { smq { x = -3 y = 1.5 } } }\n",
        );
        assert_eq!(config.boolean(ISSUE_DISCARDS), Some(true));
        assert_eq!(config.get("config/checks"), Some(&Value::Int(1)));
        assert_eq!(
            config.get("devices/scan"),
            Some(&Value::Array(vec![
                Value::Text("/dev".to_owned()),
                Value::Text("/mnt/#}1".to_owned())
            ]))
        );
        assert_eq!(
            config.get("devices/filter"),
            Some(&Value::Array(vec![
                Value::Text("a|.*\"/|".to_owned()),
                Value::Text("r|\\|".to_owned())
            ]))
        );
        assert_eq!(
            config.get("allocation/cache_settings/smq/x"),
            Some(&Value::Int(-3))
        );
        assert_eq!(
            config.get("allocation/cache_settings/smq/y"),
            Some(&Value::Float(1.5))
        );
        assert_eq!(config.get("issue_discards"), None);
    }

    #[test]
    fn paths_repeats_and_words() {
        for (text, expected) in [
            ("devices/issue_discards=1", Some(true)),
            ("/devices//issue_discards=\"YES\"", Some(true)),
            (
                "devices { issue_discards = 1 }\ndevices { issue_discards = 0 }",
                Some(false),
            ),
            ("devices { issue_discards = off }", Some(false)),
            ("devices { issue_discards = [1] }", Some(true)),
            ("devices { issue_discards = 1.0 }", None),
            ("devices { issue_discards = maybe }", None),
            (
                "devices { \"issue_discards\" = 99999999999999999999 }",
                Some(true),
            ),
        ] {
            assert_eq!(config(text).boolean(ISSUE_DISCARDS), expected, "{text}");
        }
    }

    #[test]
    fn broken_files_are_rejected_with_a_line_number() {
        for (text, line, expected) in [
            (
                "devices {\n issue_discards = 1\n",
                3,
                "a key, a section or `}`",
            ),
            ("a = 1\n}\n", 2, "a section or a key"),
            ("a = \n\n\"open", 3, "a closing \""),
            ("a\n1", 2, "`{` or `=`"),
            ("a = }", 1, "a value"),
            ("a = [ 1\n, ", 2, "a value"),
            ("a = [[1]]", 1, "a value"),
            ("a = [1,,2]", 1, "a value"),
            ("/ = 1", 1, "a name of a section or a key"),
        ] {
            let error = parse(PATH, text).unwrap_err();
            assert_eq!(
                (error.line, error.expected.as_str()),
                (Some(line), expected),
                "{text:?}"
            );
        }
        let deep = "a { ".repeat(10_000);
        assert_eq!(
            parse(PATH, &deep).unwrap_err().expected,
            "at most 16 nested sections"
        );
    }

    proptest! {
        #[test]
        fn generated_trees_round_trip(
            entries in prop::collection::btree_map(
                ("[a-z]{1,5}", "[a-z_]{1,8}"),
                prop_oneof![
                    any::<i64>().prop_map(Value::Int),
                    "[ -~äö]{0,12}".prop_map(Value::Text),
                    prop::collection::vec(any::<i64>().prop_map(Value::Int), 0..4).prop_map(Value::Array),
                ],
                0..12,
            ),
            as_path in any::<bool>(),
            comment in "[ -~]{0,20}",
        ) {
            fn show(value: &Value) -> String {
                match value {
                    Value::Int(number) => number.to_string(),
                    Value::Float(number) => number.to_string(),
                    Value::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
                    Value::Array(values) => format!("[{}]", values.iter().map(show).collect::<Vec<_>>().join(", ")),
                }
            }
            let mut text = String::new();
            for ((section, key), value) in &entries {
                let value = show(value);
                if as_path {
                    text.extend([section, "/", key, " = ", &value, " # ", &comment, "\n"]);
                } else {
                    text.extend([section, " { # ", &comment, "\n", key, "=", &value, "\n}"]);
                }
            }
            let config = parse(PATH, &text).unwrap();
            prop_assert_eq!(config.values.len(), entries.len());
            for ((section, key), value) in &entries {
                prop_assert_eq!(config.get(&format!("{section}/{key}")), Some(value));
            }
        }

        #[test]
        fn never_panics(text in any::<String>(), parts in prop::collection::vec("[a{}=\\[\\],\"'#\\\\/.0-9+\n ä]{0,4}", 0..20)) {
            let _ = (parse(PATH, &text), parse(PATH, &parts.concat()));
        }
    }
}
