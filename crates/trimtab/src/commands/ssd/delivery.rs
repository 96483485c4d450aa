//! Output of `ssd` commands: the usual formats plus CSV.

use super::args::SsdFormat;
use crate::answer::{Medium, OutputArgs, format_of, resolve_format};
use crate::error::CommandError;
use page::Page;

/// Renders a result in the chosen format and writes it to its destination.
#[derive(Debug)]
pub struct Delivery<'a> {
    output: &'a OutputArgs,
    format: SsdFormat,
}

impl<'a> Delivery<'a> {
    /// Uses the flags, falling back to the configuration.
    ///
    /// # Errors
    /// When the format and the file name disagree.
    pub fn of(
        format: Option<SsdFormat>,
        output: &'a OutputArgs,
        configured: Option<SsdFormat>,
    ) -> Result<Self, CommandError> {
        let format = resolve_format(format, output.file(), configured, of_name)?;
        Ok(Self {
            output,
            format: format.unwrap_or_default(),
        })
    }

    /// Renders the result and writes it to its destination.
    ///
    /// # Errors
    /// When writing fails.
    pub fn give<T>(
        &self,
        answer: T,
        page: impl FnOnce(&T, Medium) -> Page,
        csv: impl FnOnce(&T) -> String,
        json: impl FnOnce(T) -> Result<String, CommandError>,
    ) -> Result<(), CommandError> {
        let page = |medium| page(&answer, medium);
        let text = match self.format {
            SsdFormat::Text => page::terminal(&page(Medium::Terminal), &self.output.terminal()),
            SsdFormat::Markdown => page::markdown(&page(Medium::Document)),
            SsdFormat::Html => page::html(&page(Medium::Document)),
            SsdFormat::Csv => csv(&answer),
            SsdFormat::Json => json(answer)?,
        };
        self.output.write(&text)
    }
}

fn of_name(extension: &str) -> Option<SsdFormat> {
    if extension == "csv" {
        return Some(SsdFormat::Csv);
    }
    format_of(extension).map(SsdFormat::from)
}
