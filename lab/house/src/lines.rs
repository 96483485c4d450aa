//! Counts lines of code: lines with at least one token that is not a comment.

use crate::source::SourceFile;
use crate::test_code::{
    impl_item_attributes, is_test_only, item_attributes, trait_item_attributes,
};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, TraitItem};

/// Lines of a file, split into shipped code and code that is only built for tests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Lines of shipped code.
    pub code: usize,
    /// Lines that are only built for tests.
    pub tests: usize,
}

/// Counts the lines of a file without blank lines, comments and doc comments. A multi-line string
/// counts with all its lines.
pub fn count(file: &SourceFile) -> Lines {
    let text_lines: Vec<&str> = file.text.lines().collect();
    let mut code = BTreeSet::new();
    collect(file.tokens.clone(), &text_lines, &mut code);
    let mut tests = TestRanges::default();
    tests.visit_file(&file.syntax);
    let total = code.len();
    for range in tests.ranges {
        code.retain(|line| !range.contains(line));
    }
    Lines {
        code: code.len(),
        tests: total - code.len(),
    }
}

/// Adds the lines of all tokens except doc comments to `code`.
fn collect(tokens: TokenStream, text_lines: &[&str], code: &mut BTreeSet<usize>) {
    let mut in_doc_comment = false;
    for token in tokens {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                in_doc_comment = starts_comment(mark.span(), text_lines);
                if !in_doc_comment {
                    add(mark.span(), code);
                }
            }
            // Part of an inner doc comment, `#![doc = "..."]`, whose tokens all have the same span.
            TokenTree::Punct(mark) if mark.as_char() == '!' && in_doc_comment => {}
            TokenTree::Group(group) if in_doc_comment => {
                in_doc_comment = group.delimiter() != Delimiter::Bracket;
            }
            TokenTree::Group(group) => {
                add(group.span_open(), code);
                collect(group.stream(), text_lines, code);
                add(group.span_close(), code);
            }
            other => add(other.span(), code),
        }
    }
}

/// Whether a comment starts at the token's position: `///`, `//!`, `/**` and `/*!` are tokenized as
/// an attribute.
fn starts_comment(span: Span, text_lines: &[&str]) -> bool {
    let start = span.start();
    text_lines
        .get(start.line.saturating_sub(1))
        .is_some_and(|line| {
            let rest: String = line.chars().skip(start.column).take(2).collect();
            rest == "//" || rest == "/*"
        })
}

fn add(span: Span, code: &mut BTreeSet<usize>) {
    code.extend(span.start().line..=span.end().line);
}

/// Collects the lines of items that are only built for tests.
#[derive(Default)]
struct TestRanges {
    ranges: Vec<RangeInclusive<usize>>,
}

impl TestRanges {
    fn add(&mut self, span: Span) {
        self.ranges.push(span.start().line..=span.end().line);
    }
}

impl<'ast> Visit<'ast> for TestRanges {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(item_attributes(item)) {
            self.add(item.span());
        } else {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if is_test_only(impl_item_attributes(item)) {
            self.add(item.span());
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if is_test_only(trait_item_attributes(item)) {
            self.add(item.span());
        } else {
            visit::visit_trait_item(self, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn comments_blanks_and_tests_do_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let text = "\
//! Of the file.

/// Of the item,
/// on two lines.
#[derive(Debug)] // 1
pub struct A { // 2
    // A comment.
    /** Another */ a: u8, // 3
    /* a third

       one */
} // 4

const TEXT: &str = \"5

7\"; // the blank line in the string is code

#[doc = \"8\"]
const B: u8 = 1; // 9

#[cfg(test)]
mod tests {
    #[test]
    fn a() {}
}
";
        std::fs::write(directory.path().join("a.rs"), text).unwrap();
        let file = SourceFile::read(directory.path(), Path::new("a.rs")).unwrap();
        assert_eq!(count(&file), Lines { code: 9, tests: 5 });
    }
}
