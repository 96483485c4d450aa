//! `trimtab check` knows a plan, is silent while it is kept, and says where it is not.

use crate::plan::{debian_12, findings, plan};
use crate::support::{report, run, stdout};
use std::fs;
use std::path::Path;

#[test]
fn each_difference_is_a_finding_and_its_remedy_ends_it() {
    let timer = "etc/systemd/system/trimtab-trim@data.timer.d/trimtab-plan.conf";
    let link = "etc/systemd/system/timers.target.wants/trimtab-trim@data.timer";
    let edit = |root: &Path| {
        let text = fs::read_to_string(root.join(timer)).unwrap();
        fs::write(root.join(timer), text.replace("01:00", "03:00")).unwrap();
    };
    let unlink = |root: &Path| fs::remove_file(root.join(link)).unwrap();
    let remove = |root: &Path| fs::remove_file(root.join(timer)).unwrap();
    for (what, change, expected) in [
        (
            "edited",
            &edit as &dyn Fn(&Path),
            "trimtab-plan.conf was changed since by somebody else.",
        ),
        (
            "disabled",
            &unlink,
            "trimtab-trim@data.timer is as it was before the plan.",
        ),
        (
            "removed",
            &remove,
            "trimtab-plan.conf is as it was before the plan.",
        ),
    ] {
        let tree = debian_12();
        let root = tree.path();
        plan(&["--root", &root, "--fstab", "--apply", "/data"]);
        assert_eq!(findings(&tree), Vec::<String>::new(), "{what}");
        change(Path::new(&root));
        let report = report(&["--root", &root, "--select", "TRIM014"]);
        let found = report["result"]["findings"].as_array().unwrap();
        let [finding] = found.as_slice() else {
            panic!("{what}: {found:?}");
        };
        let evidence = finding["evidence"].to_string();
        assert!(evidence.contains(expected), "{what}: {evidence}");
        let command = finding["remedy"][0]["command"].as_str().unwrap();
        assert_eq!(
            command,
            format!("sudo trimtab plan --apply --root {root} --fstab /data")
        );
        plan(&["--root", &root, "--fstab", "--apply", "/data"]);
        assert_eq!(findings(&tree), Vec::<String>::new(), "{what}");
    }
}

/// A tree's journal that anybody could have written is not believed, nor is it passed over.
#[test]
fn a_journal_that_cannot_be_read_is_told() {
    let tree = debian_12();
    let root = tree.path();
    plan(&["--root", &root, "--fstab", "--apply", "/data"]);
    fs::write(Path::new(&root).join("var/lib/trimtab/plan.json"), "{").unwrap();
    let text = stdout(&run(&["check", "--root", &root, "--verbose"]));
    assert!(
        text.contains("whether the trim plan is in effect"),
        "{text}"
    );
}
