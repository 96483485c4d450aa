//! How an answer is given: as every other, and as comma-separated values.

use super::args::SsdFormat;
use crate::answer::{Medium, OutputArgs, format_of, resolve_format};
use crate::error::CommandError;
use page::Page;

/// An answer's way out.
#[derive(Debug)]
pub struct Delivery<'a> {
    output: &'a OutputArgs,
    format: SsdFormat,
}

impl<'a> Delivery<'a> {
    /// What the flags ask for, and the configuration where they do not say.
    ///
    /// # Errors
    /// When the form and the name of the file disagree.
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

    /// Renders the answer and writes it where it was asked for.
    ///
    /// # Errors
    /// When it cannot be written.
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
