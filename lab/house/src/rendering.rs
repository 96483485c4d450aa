//! Finds code that renders output: aligned columns, charts, markup, colors. Only `page` and
//! `report` may.
//!
//! Signs, in shipped code:
//! - **markup**: a string with an HTML or SVG tag (`<svg`, `<td>`, `</div`);
//! - **escape**: a string that starts an ANSI sequence (`ESC [`);
//! - **drawing**: a string or character in Unicode's box, block or Braille ranges;
//! - **columns**: a format string with padding (`{name:<20}`, `{:>width$}`); leading zeros and a
//!   number's precision do not count;
//! - **bar**: a string of punctuation or blanks repeated (`"#".repeat(n)`);
//! - **layout**: a call of a function that wraps lines or escapes HTML (`wrap`, `wrapped`,
//!   `escape_html`), or a path into `textwrap`, `comfy_table` or `anstyle`;
//! - **envelope**: a separate struct with the fields `schema` and `result`, like the JSON document
//!   of a result.
//!
//! Strings that are only searched for (`text.contains("<html")`) do not count, because they parse.
//! Neither do attributes, such as help texts. [`LIVE_LINES`] lists the file that draws progress.

use crate::source::SourceFile;
use crate::test_code::{
    impl_item_attributes, is_test_only, item_attributes, trait_item_attributes,
};
use crate::tokens::{Found, name_of, scan};
use proc_macro2::Span;
use std::path::PathBuf;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Expr, ExprCall, ExprMethodCall, Fields, ImplItem, Item, ItemStruct, Lit, Macro,
    Path, TraitItem,
};

/// Crates that may render output.
pub const RENDERING_CRATES: &[&str] = &["page", "report"];

/// Files that draw while a command is running: crate and path. A progress line that is redrawn on
/// the terminal has no other form, is not part of a page rendered once, and is not part of a
/// result. It is confined to one file, so that there is a single kind of progress line.
pub const LIVE_LINES: &[(&str, &str)] = &[("trimtab", "src/progress.rs")];

/// A place that renders output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the crate's directory.
    pub path: PathBuf,
    /// Line number, from 1.
    pub line: usize,
    /// Name of the sign, see above.
    pub sign: &'static str,
    /// What was found, truncated to 40 characters.
    pub text: String,
}

/// The places in a file that render output, in order.
pub(crate) fn places(file: &SourceFile) -> Vec<Place> {
    let mut visitor = Visitor {
        file,
        places: Vec::new(),
    };
    visitor.visit_file(&file.syntax);
    visitor.places.sort_by_key(|place| place.line);
    visitor
        .places
        .dedup_by(|a, b| (a.line, a.sign, &a.text) == (b.line, b.sign, &b.text));
    visitor.places
}

/// Tags that are unlikely to be names of placeholders.
const TAGS: &[&str] = &[
    "!doctype", "div", "h1", "h2", "h3", "li", "p", "polyline", "rect", "span", "svg", "tbody",
    "td", "th", "thead", "tr", "ul",
];

/// Tags that may also be placeholders (`<path>`): they count only with an attribute, or as end
/// tags.
const AMBIGUOUS_TAGS: &[&str] = &[
    "body", "figure", "head", "html", "line", "main", "path", "script", "section", "style",
    "table", "text", "title",
];

/// Methods whose argument or receiver is only searched for.
const SEARCHES: &[&str] = &[
    "contains",
    "ends_with",
    "find",
    "matches",
    "rfind",
    "rsplit",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_matches",
    "trim_start_matches",
];

/// Functions for text layout.
const LAYOUT_FUNCTIONS: &[&str] = &["escape_html", "wrap", "wrapped"];

/// Crates for text layout.
const LAYOUT_CRATES: &[&str] = &["anstyle", "comfy_table", "textwrap"];

struct Visitor<'file> {
    file: &'file SourceFile,
    places: Vec<Place>,
}

impl Visitor<'_> {
    fn add(&mut self, span: Span, sign: &'static str, text: &str) {
        self.places.push(Place {
            path: self.file.path.clone(),
            line: span.start().line,
            sign,
            text: text.escape_debug().take(40).collect(),
        });
    }

    fn literal(&mut self, literal: &Lit, is_format: bool) {
        let text = match literal {
            Lit::Str(text) => text.value(),
            Lit::Char(mark) => mark.value().to_string(),
            Lit::ByteStr(bytes) => String::from_utf8_lossy(&bytes.value()).into_owned(),
            _ => return,
        };
        let sign = if has_markup(&text) {
            "markup"
        } else if text.contains("\u{1b}[") {
            "escape"
        } else if text.chars().any(is_drawing) {
            "drawing"
        } else if is_format && pads(&text) {
            "columns"
        } else {
            return;
        };
        self.add(literal.span(), sign, &text);
    }

    fn path(&mut self, segments: &[String], span: Span, is_call: bool) {
        let layout_function = is_call
            && segments
                .last()
                .is_some_and(|last| LAYOUT_FUNCTIONS.contains(&last.as_str()));
        let layout_crate = segments
            .first()
            .is_some_and(|first| LAYOUT_CRATES.contains(&first.as_str()));
        if layout_function || layout_crate {
            self.add(span, "layout", &segments.join("::"));
        }
    }
}

fn segments(path: &Path) -> Vec<String> {
    path.segments
        .iter()
        .map(|segment| name_of(&segment.ident))
        .collect()
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !is_test_only(impl_item_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if !is_test_only(trait_item_attributes(item)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_lit(&mut self, literal: &'ast Lit) {
        self.literal(literal, false);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        let is_format = call.path.segments.last().is_some_and(|segment| {
            let formats = [
                "format",
                "format_args",
                "write",
                "writeln",
                "print",
                "println",
                "eprint",
                "eprintln",
            ];
            formats.iter().any(|name| segment.ident == name)
        });
        let span = call
            .path
            .segments
            .first()
            .map_or_else(Span::call_site, |segment| segment.ident.span());
        let mut found_in_macro = Vec::new();
        scan(call.tokens.clone(), &mut |found| found_in_macro.push(found));
        for found in found_in_macro {
            match found {
                Found::Literal(literal) => {
                    let span = literal.span();
                    let mut literal = Lit::new(literal);
                    literal.set_span(span);
                    self.literal(&literal, is_format);
                }
                Found::Path { segments, .. } => self.path(&segments, span, true),
            }
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = name_of(&call.method);
        if method == "repeat"
            && let Expr::Lit(receiver) = &*call.receiver
            && let Lit::Str(text) = &receiver.lit
            && !text.value().is_empty()
            && !text
                .value()
                .chars()
                .any(|mark| mark.is_alphanumeric() || mark == '\n')
        {
            self.add(text.span(), "bar", &text.value());
            return;
        }
        let searches = SEARCHES.contains(&method.as_str());
        if !(searches && matches!(&*call.receiver, Expr::Lit(_))) {
            self.visit_expr(&call.receiver);
        }
        for argument in &call.args {
            if !(searches && is_searched(argument)) {
                self.visit_expr(argument);
            }
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = &*call.func {
            let segments = segments(&function.path);
            if let Some(first) = function.path.segments.first() {
                self.path(&segments, first.ident.span(), true);
            }
            for argument in &call.args {
                self.visit_expr(argument);
            }
        } else {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first() {
            self.path(&segments(path), first.ident.span(), false);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for leaf in crate::tree::leaves(&item.tree) {
            self.path(&leaf.path, item.use_token.span, false);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if let Fields::Named(fields) = &item.fields {
            let has = |wanted: &str| {
                fields
                    .named
                    .iter()
                    .any(|field| field.ident.as_ref().is_some_and(|ident| ident == wanted))
            };
            if has("schema") && has("result") {
                self.add(item.ident.span(), "envelope", &name_of(&item.ident));
            }
        }
        visit::visit_item_struct(self, item);
    }
}

/// Whether the argument is a search pattern: a literal, a list of literals, or a reference to one.
fn is_searched(argument: &Expr) -> bool {
    match argument {
        Expr::Lit(_) => true,
        Expr::Array(array) => array.elems.iter().all(is_searched),
        Expr::Reference(reference) => is_searched(&reference.expr),
        _ => false,
    }
}

/// Whether the text contains an HTML or SVG tag.
fn has_markup(text: &str) -> bool {
    text.match_indices('<').any(|(at, _)| {
        let rest = text[at + 1..].to_ascii_lowercase();
        let (name, ends) = rest
            .strip_prefix('/')
            .map_or((rest.as_str(), false), |name| (name, true));
        let found = |tags: &[&str], is_tag: &dyn Fn(&str) -> bool| {
            tags.iter()
                .any(|tag| name.strip_prefix(tag).is_some_and(is_tag))
        };
        found(TAGS, &|after| {
            after.is_empty() || after.starts_with([' ', '\n', '/', '>'])
        }) || found(AMBIGUOUS_TAGS, &|after| {
            (ends && after.starts_with('>')) || (after.starts_with(' ') && after.contains('='))
        })
    })
}

/// Whether the character is a box drawing character, block element or Braille pattern.
fn is_drawing(mark: char) -> bool {
    matches!(mark, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}')
}

/// Whether a format string pads to a width: it has an alignment whose fill is not a digit.
fn pads(text: &str) -> bool {
    let text = text.replace("{{", "").replace("}}", "");
    text.split('{').skip(1).any(|piece| {
        let Some((_, format)) = piece
            .split_once('}')
            .and_then(|(inside, _)| inside.split_once(':'))
        else {
            return false;
        };
        let is_alignment = |mark: &char| matches!(mark, '<' | '>' | '^');
        let mut marks = format.chars();
        match (marks.next(), marks.next()) {
            (Some(fill), Some(alignment)) if is_alignment(&alignment) => !fill.is_ascii_digit(),
            (Some(alignment), _) => is_alignment(&alignment),
            (None, _) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path as FilePath;

    fn signs(code: &str) -> Vec<&'static str> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a.rs"), code).unwrap();
        let file = SourceFile::read(directory.path(), FilePath::new("a.rs")).unwrap();
        places(&file).into_iter().map(|place| place.sign).collect()
    }

    #[test]
    fn rendering_code_is_found() {
        for (code, sign) in [
            (r#"const A: &str = "<svg width='3'>";"#, "markup"),
            (r#"fn a() { out.push_str("</table>"); }"#, "markup"),
            (
                r#"fn a() { let _ = write!(out, "<td>{cell}</td>"); }"#,
                "markup",
            ),
            (
                r#"fn a() -> String { format!("\u{1b}[{code}m") }"#,
                "escape",
            ),
            ("const A: &str = \"x <table class='x'>\";", "markup"),
            (r"const A: char = '█';", "drawing"),
            (
                r#"fn a() -> String { format!("{name:<20} {value}") }"#,
                "columns",
            ),
            (r#"fn a() { writeln!(out, "{:>width$}", 1); }"#, "columns"),
            (r#"fn a() { writeln!(out, "{:-^20}", 1); }"#, "columns"),
            (r##"fn a() -> String { "#".repeat(n) }"##, "bar"),
            (r#"fn a() -> String { " ".repeat(n) }"#, "bar"),
            ("fn a() { report::wrap(text, 80); }", "layout"),
            ("use textwrap::Options;", "layout"),
            ("struct A { schema: String, result: B }", "envelope"),
        ] {
            assert_eq!(signs(code), [sign], "{code}");
        }
    }

    #[test]
    fn parsing_and_messages_are_ignored() {
        for code in [
            r#"fn a() -> bool { text.contains("<html>") }"#,
            r#"fn a() { text.trim_start_matches(|c: char| " │├└─|`-".contains(c)); }"#,
            r"fn a() { text.trim_start_matches(['│', '─']); }",
            r#"fn a() -> String { format!("expected <title>, found {{:<5}} {x:?}") }"#,
            r#"fn a() -> String { format!("{fraction:0<9} {seconds:02} {share:.1} {bits:#x}") }"#,
            r#"fn a() -> String { "0".repeat(6) + &"\n".repeat(2) }"#,
            r#"#[arg(help = "<table>x")] struct A;"#,
            r#"/// Draws a <table> and ─.
               fn a() { let b = "Vec<u8>, <T as Path>, a < b"; }"#,
            r#"#[cfg(test)] mod tests { const A: &str = "<svg>x</svg>"; }"#,
            "struct A { schema: u32, manifest: B }",
        ] {
            assert_eq!(signs(code), Vec::<&str>::new(), "{code}");
        }
    }
}
