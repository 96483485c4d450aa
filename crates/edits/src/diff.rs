//! What a change does to a file, line by line, for people.

use crate::change::Change;
use crate::entry::Entry;

/// Lines shown of a file as a whole.
const LINES_MAX: usize = 200;

/// Returns the lines of a change: `-` before what goes, `+` before what comes.
pub fn diff(change: &Change) -> Vec<String> {
    let (before, after) = (text(change.before.as_ref()), text(change.after.as_ref()));
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.lines().collect(), after.lines().collect());
    let mut lines = Vec::new();
    if let (Some(Entry::File(before)), Some(Entry::File(after))) = (&change.before, &change.after)
        && before.mode != after.mode
    {
        lines.push(format!("- mode {:o}", before.mode));
        lines.push(format!("+ mode {:o}", after.mode));
    }
    let alike = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let from = before.iter().zip(&after).take_while(alike).count();
    let (before, after) = (&before[from..], &after[from..]);
    let until = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take_while(alike)
        .count();
    let gone = &before[..before.len() - until];
    let come = &after[..after.len() - until];
    // In between, lines that are in both stay; what is replaced are single lines.
    if gone.len() == come.len() {
        for (old, new) in gone.iter().zip(come).filter(|(old, new)| old != new) {
            lines.push(format!("- {old}"));
            lines.push(format!("+ {new}"));
        }
    } else {
        lines.extend(gone.iter().map(|line| format!("- {line}")));
        lines.extend(come.iter().map(|line| format!("+ {line}")));
    }
    if lines.len() > LINES_MAX {
        let more = lines.len() - LINES_MAX;
        lines.truncate(LINES_MAX);
        lines.push(format!("  and {more} more lines"));
    }
    lines
}

fn text(entry: Option<&Entry>) -> String {
    match entry {
        None => String::new(),
        Some(Entry::Link(target)) => format!("a link to {target}"),
        Some(Entry::File(contents)) => String::from_utf8_lossy(&contents.bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Contents;

    #[test]
    fn only_what_differs_is_shown() {
        let file = |text: &str| Some(Entry::File(Contents::own(text)));
        let shown = |before: Option<Entry>, after: Option<Entry>| {
            diff(&Change {
                name: String::new(),
                what: String::new(),
                before,
                after,
            })
            .join("\n")
        };
        assert_eq!(shown(None, file("a\nb\n")), "+ a\n+ b");
        assert_eq!(shown(file("a\nb\nc\n"), file("a\nb,x\nc\n")), "- b\n+ b,x");
        assert_eq!(
            shown(file("a\nb\nc\nd"), file("#a\nb\n#c\nd")),
            "- a\n+ #a\n- c\n+ #c"
        );
        assert_eq!(shown(file("a\n"), file("a\nb\n")), "+ b");
        assert_eq!(
            shown(None, Some(Entry::Link("/dev/null".to_owned()))),
            "+ a link to /dev/null"
        );
        assert_eq!(shown(file("a"), None), "- a");
        let mut unexecutable = Contents::own("x");
        unexecutable.mode = 0o755;
        assert_eq!(
            shown(Some(Entry::File(unexecutable)), file("x")),
            "- mode 755\n+ mode 644"
        );
    }
}
