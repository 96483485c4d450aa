//! Lists of names in a sentence.

/// `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(names: &[S]) -> String {
    list_up_to(names, usize::MAX)
}

/// Lists at most `max` names and counts the rest: `a, b and 7 more`.
pub fn list_up_to<S: AsRef<str>>(names: &[S], max: usize) -> String {
    let shown: Vec<&str> = names.iter().take(max).map(AsRef::as_ref).collect();
    match (shown.as_slice(), names.len() - shown.len()) {
        ([], 0) => String::new(),
        ([], more) => crate::count(more, "name"),
        ([only], 0) => (*only).to_owned(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (all, more) => format!(
            "{} and {} more",
            all.join(", "),
            crate::count::grouped_usize(more)
        ),
    }
}

/// Capitalises the first letter.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_joined_and_shortened() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        let many: Vec<String> = (0..1006).map(|n| n.to_string()).collect();
        assert_eq!(list_up_to(&many, 3), "0, 1, 2 and 1,003 more");
        assert_eq!(list_up_to(&many[..2], 2), "0 and 1");
        assert_eq!(list_up_to(&many[..2], 0), "2 names");
        assert_eq!(capitalised("für"), "Für");
        assert_eq!(capitalised(""), "");
    }
}
