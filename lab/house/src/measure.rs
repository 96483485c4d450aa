//! Measures one crate of a checkout.

use crate::cycles::{Cycle, cycles};
use crate::lines::count;
use crate::rendering::{LIVE_LINES, Place, RENDERING_CRATES, places};
use crate::source::SourceFile;
use crate::tree::Tree;
use anyhow::{Context as _, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Measurements of a crate.
#[derive(Debug)]
pub struct CrateReport {
    /// The crate's name.
    pub name: String,
    /// Lines of code that ships, without comments and blank lines.
    pub code_lines: usize,
    /// The same for tests, examples and benchmarks.
    pub test_lines: usize,
    /// Number of shipped files.
    pub files: usize,
    /// Dependency cycles between them.
    pub cycles: Vec<Cycle>,
    /// Places that render output although the crate may not.
    pub rendering: Vec<Place>,
}

impl CrateReport {
    /// Number of files in cycles.
    pub fn files_in_cycles(&self) -> usize {
        self.cycles.iter().map(|cycle| cycle.files.len()).sum()
    }

    /// Number of files that render output although they may not.
    pub fn files_that_render(&self) -> usize {
        let files: BTreeSet<&Path> = self
            .rendering
            .iter()
            .map(|place| place.path.as_path())
            .collect();
        files.len()
    }
}

/// The crates of a checkout: the directories in `crates/`, sorted.
///
/// # Errors
/// If `crates/` cannot be read.
pub fn crate_names(checkout: &Path) -> Result<Vec<String>> {
    let directory = checkout.join("crates");
    let mut names = Vec::new();
    for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Measures the crate `name` of a checkout.
///
/// # Errors
/// If a file cannot be read or parsed.
pub fn measure_crate(checkout: &Path, name: &str) -> Result<CrateReport> {
    let directory = checkout.join("crates").join(name);
    let tree = Tree::read(&directory, name)?;
    let (mut code_lines, mut test_lines) = (0, 0);
    let mut rendering = Vec::new();
    for file in &tree.files {
        let lines = count(file);
        code_lines += lines.code;
        test_lines += lines.tests;
        let is_allowed = LIVE_LINES
            .iter()
            .any(|(in_crate, path)| *in_crate == name && file.path == Path::new(path));
        if !RENDERING_CRATES.contains(&name) && !is_allowed {
            rendering.extend(places(file));
        }
    }
    let shipped: BTreeSet<&Path> = tree.files.iter().map(|file| file.path.as_path()).collect();
    for path in rust_files(&directory)? {
        if !shipped.contains(path.as_path()) {
            let lines = count(&SourceFile::read(&directory, &path)?);
            test_lines += lines.code + lines.tests;
        }
    }
    Ok(CrateReport {
        name: name.to_owned(),
        code_lines,
        test_lines,
        files: tree.files.len(),
        cycles: cycles(&tree),
        rendering,
    })
}

/// All Rust files of a crate, relative to its directory, sorted.
fn rust_files(crate_directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(below) = directories.pop() {
        for entry in fs::read_dir(crate_directory.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                // A crate that is built on its own may contain a build directory.
                if entry.file_name() != "target" {
                    directories.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
