//! What units start, and what of theirs is there already.

use super::args::Plan;
use crate::error::CommandError;
use edits::{Entry, Root};
use linux::folder::{Folder, OthersWrite};
use rules::{Blocked, OtherDropIn, PACKAGED_PROGRAM, PLAN_DROP_IN, TIMER_TEMPLATE};
use rustix::fs::Mode;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Where templates of units are looked for.
const UNIT_FOLDERS: [&str; 4] = [
    "etc/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// What units start, and where their template is.
pub struct Program {
    /// Path of the program for units of its own; `None` if the package's are there.
    pub program: Option<String>,
    /// The template of the timer.
    pub template: String,
}

/// Finds out what units start.
///
/// # Errors
/// When this program is where others could put another one in its place.
pub fn program(
    arguments: &Plan,
    root: &Root,
    cautions: &mut Vec<String>,
) -> Result<Program, CommandError> {
    let is_there = |path: &str| root.exists(path).unwrap_or(false);
    let has_package = is_there(&PACKAGED_PROGRAM[1..]);
    let template = UNIT_FOLDERS
        .iter()
        .map(|folder| format!("{folder}/{TIMER_TEMPLATE}"))
        .find(|path| is_there(path));
    let program = match &arguments.root {
        Some(_) => {
            if !has_package {
                cautions.push(format!(
                    "trimtab has to be installed there as {PACKAGED_PROGRAM}"
                ));
            }
            PACKAGED_PROGRAM.to_owned()
        }
        None => own_path()?,
    };
    if let (Some(template), false) = (&template, has_package)
        && arguments.root.is_none()
    {
        let message = format!("/{template} runs {PACKAGED_PROGRAM}, which is not there");
        return Err(CommandError::refused(message).hint(format!(
            "install it: sudo install -m 755 {program} {PACKAGED_PROGRAM}"
        )));
    }
    Ok(match template {
        Some(template) => Program {
            program: None,
            template: format!("/{template}"),
        },
        None => Program {
            program: Some(program),
            template: format!("/etc/systemd/system/{TIMER_TEMPLATE}"),
        },
    })
}

/// The path of this program, which root will start every week: nobody else may be able to put another in its place.
fn own_path() -> Result<String, CommandError> {
    let failed = |why: String| {
        CommandError::refused(why)
            .hint("install it first: sudo install -m 755 trimtab /usr/bin/trimtab")
    };
    let path =
        std::env::current_exe().map_err(|error| failed(format!("this program's path: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    Folder::open_protected(folder, OthersWrite::Refused)
        .map_err(|error| failed(format!("{} {error}", folder.display())))?;
    let stat =
        std::fs::metadata(&path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
    let others = Mode::WGRP | Mode::WOTH;
    if stat.uid() != rustix::process::geteuid().as_raw() || stat.mode() & others.bits() != 0 {
        let path = path.display();
        return Err(failed(format!(
            "{path} belongs to another user, or can be written by others: they could have root run what they want"
        )));
    }
    let text = path.to_str().filter(|path| {
        path.chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
    });
    let text = text.ok_or_else(|| failed(format!("units cannot name {}", path.display())))?;
    Ok(text.to_owned())
}

/// What keeps the units of a mount point from doing what the plan says: masks, and drop-ins that sort after the plan's.
/// Other drop-ins' options of a pass are added to `options`.
pub fn obstacles(root: &Root, timer: &str, options: &mut Vec<String>) -> Vec<Blocked> {
    let mut blocked = Vec::new();
    let instance = timer.strip_suffix(".timer").unwrap_or(timer);
    for unit in [
        TIMER_TEMPLATE.to_owned(),
        timer.to_owned(),
        format!("{instance}.service"),
    ] {
        let path = format!("etc/systemd/system/{unit}");
        if matches!(root.read(&path), Ok(Some(Entry::Link(target))) if target == "/dev/null") {
            blocked.push(Blocked {
                why: format!("{unit} is masked, and would not run"),
                hint: format!("systemctl unmask '{unit}'"),
            });
        }
    }
    for (kind, base) in [
        ("timer", "trimtab-trim@".to_owned()),
        ("timer", instance.to_owned()),
        ("service", "trimtab-trim@".to_owned()),
        ("service", instance.to_owned()),
    ] {
        let folder = format!("etc/systemd/system/{base}.{kind}.d");
        for name in root.names(&folder).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            let is_other =
                name != PLAN_DROP_IN && Path::new(&name).extension() == Some(OsStr::new("conf"));
            let Ok(Some(Entry::File(contents))) = root.read(&path) else {
                continue;
            };
            let text = String::from_utf8_lossy(&contents.bytes);
            match rules::other_drop_in(&name, &text) {
                _ if !is_other => {}
                OtherDropIn::Overrides => blocked.push(Blocked {
                    why: format!("/{path} sorts after the plan's drop-in and overrides it"),
                    hint: format!("rename it, so that it sorts before {PLAN_DROP_IN}, or take those lines out of it"),
                }),
                OtherDropIn::Options(new) => {
                    for option in new {
                        if !options.contains(&option) {
                            options.push(option);
                        }
                    }
                }
                OtherDropIn::Unrelated => {}
            }
        }
    }
    blocked
}
