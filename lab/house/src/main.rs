//! `cargo run -p house`: the table of this checkout. `-- PATH`: that of another checkout.
//! `-- BEFORE AFTER`: both side by side. `-- --circles CRATE [PATH]`: each dependency cycle of a
//! crate with the items that cause it. `-- --rendering CRATE [PATH]`: each place in a crate that
//! renders output.

use anyhow::{Context as _, Result, bail};
use house::table::{comparison, table};
use house::{CrateReport, crate_names, measure_crate};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const USAGE: &str =
    "usage: house [PATH | BEFORE AFTER | --circles CRATE [PATH] | --rendering CRATE [PATH]]";

fn main() -> Result<()> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match arguments.as_slice() {
        [] => print!("{}", table(&measure(&here())?)),
        [what, name, rest @ ..] if what == "--circles" || what == "--rendering" => {
            let checkout = match rest {
                [] => here(),
                [path] => PathBuf::from(path),
                _ => bail!(USAGE),
            };
            let name = name.to_str().context("the crate's name is not UTF-8")?;
            let report = measure_crate(&checkout, name)?;
            if what == "--circles" {
                print_cycles(&report);
            } else {
                print_rendering(&report);
            }
        }
        [option, ..] if option.to_string_lossy().starts_with('-') => bail!(USAGE),
        [path] => print!("{}", table(&measure(Path::new(path))?)),
        [before, after] => {
            let (before, after) = (measure(Path::new(before))?, measure(Path::new(after))?);
            print!("{}", comparison(&before, &after));
        }
        _ => bail!(USAGE),
    }
    Ok(())
}

/// The checkout this program was built from.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn measure(checkout: &Path) -> Result<Vec<CrateReport>> {
    crate_names(checkout)?
        .iter()
        .map(|name| measure_crate(checkout, name))
        .collect()
}

fn print_cycles(report: &CrateReport) {
    if report.cycles.is_empty() {
        println!("{}: no circles between {} files", report.name, report.files);
    }
    for (number, cycle) in report.cycles.iter().enumerate() {
        println!(
            "circle {} of {}: {} files",
            number + 1,
            report.name,
            cycle.files.len()
        );
        for file in &cycle.files {
            println!("  {}", file.display());
            for edge in cycle.edges.iter().filter(|edge| edge.from == *file) {
                println!("    uses {}: {}", edge.to.display(), edge.items.join(", "));
            }
        }
    }
}

fn print_rendering(report: &CrateReport) {
    for place in &report.rendering {
        println!(
            "crates/{}/{}:{}: {}: {}",
            report.name,
            place.path.display(),
            place.line,
            place.sign,
            place.text
        );
    }
    println!(
        "{}: {} places in {} files",
        report.name,
        report.rendering.len(),
        report.files_that_render()
    );
}
