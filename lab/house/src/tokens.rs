//! Extracts names and literals from the tokens of macros, which `syn` leaves unparsed.

use proc_macro2::{Ident, Literal, Spacing, TokenStream, TokenTree};

/// An element of a macro's tokens.
pub enum Found {
    /// A path, such as `a::b`.
    Path {
        /// Its segments.
        segments: Vec<String>,
        /// Whether a `!` follows, so it names a macro.
        is_macro: bool,
    },
    /// A literal.
    Literal(Literal),
}

/// The name of an identifier, without `r#`.
pub fn name_of(ident: &Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
}

/// Calls `found` with the paths and literals in order. Skips the names of fields, methods,
/// lifetimes and named arguments.
pub fn scan(tokens: TokenStream, found: &mut dyn FnMut(Found)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => scan(group.stream(), found),
            TokenTree::Literal(literal) => found(Found::Literal(literal.clone())),
            TokenTree::Ident(first) => {
                let start = at;
                let mut segments = vec![name_of(first)];
                while let (true, Some(TokenTree::Ident(next))) =
                    (is_path_separator(&tokens, at + 1), tokens.get(at + 3))
                {
                    segments.push(name_of(next));
                    at += 3;
                }
                let is_macro = is_mark(&tokens, at + 1, '!');
                if starts_path(&tokens, start) && (segments.len() > 1 || !is_label(&tokens, at)) {
                    found(Found::Path { segments, is_macro });
                }
            }
            TokenTree::Punct(_) => {}
        }
        at += 1;
    }
}

fn is_mark(tokens: &[TokenTree], at: usize, mark: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(first))
        if first.as_char() == ':' && first.spacing() == Spacing::Joint)
        && is_mark(tokens, at + 1, ':')
}

/// Whether a path of this crate may start here: not a field or method (`a.b`), a lifetime (`'a`), a
/// path of another crate (`::a`) or the rest of a path with generics (`Vec::<u8>::new`).
fn starts_path(tokens: &[TokenTree], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    if is_mark(tokens, before, '.') {
        // `..a` is a range.
        return before > 0 && is_mark(tokens, before - 1, '.');
    }
    !(is_mark(tokens, before, '\'') || (before > 0 && is_path_separator(tokens, before - 1)))
}

/// Whether the name labels a value: `field: value`, `argument = value`.
fn is_label(tokens: &[TokenTree], at: usize) -> bool {
    (is_mark(tokens, at + 1, ':') && !is_path_separator(tokens, at + 1))
        || (is_mark(tokens, at + 1, '=')
            && !is_mark(tokens, at + 2, '=')
            && !is_mark(tokens, at + 2, '>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_without_fields_methods_and_labels() {
        let tokens = "a::b(c.d, e: f, g = h, ::std::x, &'i j, k!(l), Vec::<M>::n(), 0..o, r#type)";
        let mut paths = Vec::new();
        scan(tokens.parse().unwrap(), &mut |found| {
            if let Found::Path { segments, is_macro } = found {
                paths.push(segments.join("::") + if is_macro { "!" } else { "" });
            }
        });
        assert_eq!(
            paths,
            [
                "a::b", "c", "f", "h", "j", "k!", "l", "Vec", "M", "o", "type"
            ]
        );
    }
}
