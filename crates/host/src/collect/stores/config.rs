//! Reads the configuration files of stores.

use crate::collect::view::View;
use crate::parse::store_config::{current_setting, is_legacy_format, read_legacy_settings};
use crate::parse::yaml;
use crate::source::Reader;
use crate::unread::Unread;
use facts::Skipped;

/// A parsed configuration file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// Its path, for evidence.
    pub(crate) file: String,
    /// Flat settings in file order, without those that no rule needs.
    pub(crate) settings: Vec<(String, String)>,
}

/// Reads the configuration file at an absolute path of a view. Settings in mongod's old format are
/// renamed to the new names.
///
/// # Errors
/// If it could not be read.
pub(crate) fn read(
    reader: &Reader<'_>,
    view: &View,
    path: &str,
    skipped: &mut Vec<Skipped>,
) -> Result<Config, Unread> {
    let file = view.regular_file(reader, path)?;
    let text = reader.text(&file)?;
    let settings = if is_legacy_format(&file, &text) {
        read_legacy_settings(&file, &text)
            .map(|settings| settings.into_iter().filter_map(current_setting).collect())
    } else {
        yaml::read(&file, &text).map(|document| {
            if let Some(line) = document.second_document_line {
                let why = format!("line {line} starts a second document, which no server reads");
                skipped.push(Skipped::new(&file, why, None));
            }
            document.pairs
        })
    };
    settings
        .map(|settings| Config { file, settings })
        .map_err(|error| Unread::Malformed(error.to_string()))
}
