//! Texts with `{{name}}` in them.

/// A text split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    /// Text before each placeholder, and the index of the placeholder's parameter.
    parts: Vec<(String, usize)>,
    end: String,
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TemplateError {
    /// A `{{` without its `}}`.
    Open,
    /// A placeholder that no parameter has the name of.
    Unknown(String),
}

impl Template {
    /// Splits a text; `index` finds a parameter by its name. Also used with other names than a track's.
    pub(super) fn parse(
        text: &str,
        index: impl Fn(&str) -> Option<usize>,
    ) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
            let parameter =
                index(name.trim()).ok_or_else(|| TemplateError::Unknown(name.trim().to_owned()))?;
            parts.push((before.to_owned(), parameter));
            rest = after;
        }
        Ok(Self {
            parts,
            end: rest.to_owned(),
        })
    }

    /// Whether it has no placeholder.
    pub(crate) fn is_plain(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether it has a placeholder of this parameter.
    pub(super) fn uses(&self, parameter: usize) -> bool {
        self.parts.iter().any(|(_, index)| *index == parameter)
    }

    /// Appends the text with these values.
    pub(crate) fn render(&self, values: &[impl AsRef<[u8]>], out: &mut Vec<u8>) {
        for (before, parameter) in &self.parts {
            out.extend_from_slice(before.as_bytes());
            out.extend_from_slice(values[*parameter].as_ref());
        }
        out.extend_from_slice(self.end.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn index(name: &str) -> Option<usize> {
        ["from", "to"].iter().position(|known| *known == name)
    }

    #[test]
    fn placeholders_are_replaced() {
        let template =
            Template::parse(r#"{"a":{{from}},"b":{{ to }},"c":{{from}}}"#, index).unwrap();
        let mut out = Vec::new();
        template.render(&["1", "2"], &mut out);
        assert_eq!(out, br#"{"a":1,"b":2,"c":1}"#);
        assert!(template.uses(0) && template.uses(1) && !template.is_plain());
    }

    #[test]
    fn unknown_and_open_placeholders_are_errors() {
        assert_eq!(
            Template::parse("{{size}}", index),
            Err(TemplateError::Unknown("size".to_owned()))
        );
        assert_eq!(Template::parse("{{from", index), Err(TemplateError::Open));
    }

    proptest! {
        #[test]
        fn a_text_without_braces_stays(text in "[^{]*") {
            let mut out = Vec::new();
            let template = Template::parse(&text, index).unwrap();
            template.render(&[""; 2], &mut out);
            prop_assert!(template.is_plain());
            prop_assert_eq!(out, text.into_bytes());
        }

        #[test]
        fn any_text_is_handled_without_panic(text in ".*") {
            let _ = Template::parse(&text, |_| Some(0));
        }
    }
}
