//! Prose in which the only markup is code between two backticks.

/// Renders text: what is between two backticks by `code`, the rest by `plain`.
pub(crate) fn rendered(
    text: &str,
    plain: impl Fn(&str) -> String,
    code: impl Fn(&str) -> String,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('`')
        && let Some((inner, after)) = behind.split_once('`')
    {
        out += &plain(before);
        out += &code(inner);
        rest = after;
    }
    out + &plain(rest)
}
