//! Patterns of names, as users type them: `*latency*`, `nvme?n1`.

use std::str::Chars;

/// Returns whether a pattern matches a whole text: `*` matches any characters, `?` matches one. Backtracks to
/// the last `*` only, so the time is at most proportional to the product of both lengths.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
    loop {
        let before = text.clone();
        match pattern.next() {
            Some('*') => {
                retry = Some((pattern.clone(), before.clone()));
                text = before;
                continue;
            }
            Some(wanted) => {
                let found = text.next();
                if found.is_some_and(|found| wanted == '?' || wanted == found) {
                    continue;
                }
            }
            None if text.as_str().is_empty() => return true,
            None => {}
        }
        let Some((after_star, rest)) = &mut retry else {
            return false;
        };
        if rest.next().is_none() {
            return false;
        }
        (pattern, text) = (after_star.clone(), rest.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wildcards_match() {
        assert!(matches("*", ""));
        assert!(matches("await", "await"));
        assert!(!matches("await", "r_await"));
        assert!(matches("*await", "r_await"));
        assert!(matches("nvme*await", "nvme0n1 await"));
        assert!(!matches("nvme*await", "nvme0n1 await ms"));
        assert!(matches("nvme?n1 await", "nvme0n1 await"));
        assert!(!matches("nvme?n1", "nvmen1"));
        assert!(matches("a*b*c", "abbc"));
        assert!(!matches("a*b*c", "acb"));
        assert!(!matches("aa*aa", "aaa"));
        assert!(matches("ü?", "üß"));
    }

    /// Trying every split of the text over the stars would take longer than the universe is old.
    #[test]
    fn many_stars_are_fast() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(150)));
        assert!(matches(&"*a".repeat(150), &"a".repeat(200)));
    }

    proptest! {
        /// The matcher agrees with a brute-force definition.
        #[test]
        fn matches_agrees_with_brute_force(pattern in "[ab*?é]{0,6}", text in "[abé]{0,8}") {
            fn slow(pattern: &[char], text: &[char]) -> bool {
                match pattern.split_first() {
                    None => text.is_empty(),
                    Some(('*', rest)) => (0..=text.len()).any(|skip| slow(rest, &text[skip..])),
                    Some((wanted, rest)) => text.split_first().is_some_and(|(found, others)| {
                        (*wanted == '?' || wanted == found) && slow(rest, others)
                    }),
                }
            }
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(
                matches(&pattern, &text),
                slow(&chars(&pattern), &chars(&text))
            );
        }
    }
}
