//! A parsed source file.

use anyhow::{Context as _, Result, anyhow};
use proc_macro2::TokenStream;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its text, tokens with their positions, and syntax tree.
pub struct SourceFile {
    /// Path relative to the directory of its crate.
    pub path: PathBuf,
    /// The text, to distinguish doc comments from `doc` attributes.
    pub text: String,
    /// The tokens.
    pub tokens: TokenStream,
    /// The syntax tree.
    pub syntax: syn::File,
}

impl SourceFile {
    /// Reads and parses `path`, relative to `crate_directory`.
    ///
    /// # Errors
    /// If the file cannot be read or is not valid Rust.
    pub fn read(crate_directory: &Path, path: &Path) -> Result<Self> {
        let whole = crate_directory.join(path);
        let text = fs::read_to_string(&whole).with_context(|| whole.display().to_string())?;
        let tokens: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            let start = error.span().start();
            anyhow!("{}:{}: {error}", whole.display(), start.line)
        })?;
        let syntax = syn::parse2(tokens.clone()).map_err(|error: syn::Error| {
            let start = error.span().start();
            anyhow!("{}:{}: {error}", whole.display(), start.line)
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            tokens,
            syntax,
        })
    }
}
