use facts::host::Platform;

/// `CentOS release 6.10 (Final)`, `CentOS Linux release 7.9.2009 (Core)`.
pub(crate) fn read_release(release: &str, platform: &mut Platform) {
    let Some((name, version)) = release.split_once(" release ") else {
        return;
    };
    platform.distribution_name = Some(release.to_owned());
    if platform.distribution.is_none() {
        let id = if name.starts_with("CentOS") {
            "centos"
        } else {
            "rhel"
        };
        platform.distribution = Some(id.to_owned());
    }
    if platform.distribution_version.is_none() {
        platform.distribution_version = version.split_whitespace().next().map(str::to_owned);
    }
}

/// Returns the value of a variable; of several the last, as in a shell.
pub(crate) fn value(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='))
        .next_back()
        .map(unquote)
        .filter(|value| !value.is_empty())
}

/// Removes shell quoting, as far as os-release(5) allows it.
fn unquote(text: &str) -> String {
    let text = text.trim_end();
    if let Some(inner) = text.strip_prefix('\'') {
        return inner.strip_suffix('\'').unwrap_or(inner).to_owned();
    }
    let inner = text
        .strip_prefix('"')
        .map_or(text, |inner| inner.strip_suffix('"').unwrap_or(inner));
    let mut value = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => value.extend(characters.next()),
            _ => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_removed() {
        let text = "NAME=x\nID=debian\nPRETTY_NAME=\"A \\\"B\\\" \\$C\"\nVERSION_ID='12'\n";
        assert_eq!(value(text, "ID").as_deref(), Some("debian"));
        assert_eq!(value(text, "PRETTY_NAME").as_deref(), Some("A \"B\" $C"));
        assert_eq!(value(text, "VERSION_ID").as_deref(), Some("12"));
        assert_eq!(value(text, "VERSION"), None);
        assert_eq!(value("ID=a\nID=b\n", "ID").as_deref(), Some("b"));
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_read_back(plain in "[^\"'$`\\\\\\s\\pC]([^\"'$`\\\\\\pC]{0,20}[^\"'$`\\\\\\s\\pC])?") {
            let text = format!("ID=\"{plain}\"");
            prop_assert_eq!(value(&text, "ID"), Some(plain));
        }

        #[test]
        fn any_value_is_unquoted(text in "\\PC{0,20}") {
            let _ = unquote(&text);
        }
    }
}
