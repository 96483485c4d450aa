//! `trimtab plan --volumes`: slots for the volumes of a Kubernetes cluster, and the objects that trim them.

use crate::support::{stderr, stdout, trimtab};
use serde_json::{Value, json};
use std::process::Output;

/// A bound volume.
fn volume(claim: (&str, &str), name: &str, source: Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "claimRef": {"namespace": claim.0, "name": claim.1},
        "volumeMode": "Filesystem"
    });
    let Value::Object(source) = source else {
        unreachable!()
    };
    spec.as_object_mut().unwrap().extend(source);
    json!({"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec, "status": {"phase": "Bound"}})
}

fn csi(driver: &str, handle: &str) -> Value {
    json!({"csi": {"driver": driver, "volumeHandle": handle}})
}

fn local(node: &str) -> Value {
    json!({"local": {"path": "/mnt/disks/ssd1"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}})
}

/// Three of Ceph, two of Longhorn, one of a node, two that cannot be planned.
fn cluster() -> Vec<Value> {
    let ceph = "rook-ceph.rbd.csi.ceph.com";
    vec![
        volume(("search", "data-es-0"), "pvc-a0", csi(ceph, "0001-a0")),
        volume(("search", "data-es-1"), "pvc-a1", csi(ceph, "0001-a1")),
        volume(("search", "data-es-2"), "pvc-a2", csi(ceph, "0001-a2")),
        volume(
            ("logs", "data-os-0"),
            "pvc-b0",
            csi("driver.longhorn.io", "pvc-b0"),
        ),
        volume(
            ("logs", "data-os-1"),
            "pvc-b1",
            csi("driver.longhorn.io", "pvc-b1"),
        ),
        volume(("mongo", "data-m-0"), "local-pv-c0", local("worker-1")),
        volume(
            ("web", "uploads"),
            "nfs-1",
            json!({"nfs": {"server": "nas", "path": "/x"}}),
        ),
        volume(("web", "db"), "ebs-1", csi("ebs.csi.aws.com", "vol-1")),
    ]
}

/// Runs it on Sunday 2026-11-29, 05:00 UTC.
fn output(items: &[Value], arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("pv.json");
    std::fs::write(&list, json!({"kind": "List", "items": items}).to_string()).unwrap();
    let command = trimtab()
        .current_dir(directory.path())
        .env("SOURCE_DATE_EPOCH", "1795928400")
        .args(["plan", "--volumes", "pv.json"])
        .args(arguments)
        .output();
    command.expect("the binary starts")
}

fn plan(items: &[Value], arguments: &[&str]) -> String {
    let output = output(items, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn refusal(items: &[Value], arguments: &[&str]) -> String {
    let output = output(items, arguments);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert_eq!(stdout(&output), "");
    stderr(&output)
}

fn golden(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn volumes_of_all_kinds_have_objects_of_their_own() {
    let image = ["--image", "example/trimtab:1"];
    golden("plan-volumes.text", &plan(&cluster(), &image));
    let yaml = plan(&cluster(), &[image[0], image[1], "--format", "kubernetes"]);
    golden("plan-volumes.yaml", &yaml);
    let document: Value = serde_json::from_str(&plan(&cluster(), &["--format", "json"])).unwrap();
    let result = &document["result"];
    assert_eq!(result["kind"], "volumes");
    assert_eq!(result["volumes"].as_array().unwrap().len(), 5);
    assert_eq!(result["volumes"][4]["by"], "csi-addons");
    assert_eq!(result["left"].as_array().unwrap().len(), 3);
    let overlap = result["overlap_with_stagger"].as_f64().unwrap();
    // 1 - (1 - 2 x 20 / 120)^3
    assert!((overlap - 19.0 / 27.0).abs() < 1e-9, "{overlap}");
}

#[test]
fn without_shifts_slots_are_short_and_a_zone_is_kept() {
    let yaml = plan(
        &cluster()[..3],
        &[
            "--stagger",
            "0",
            "--tz",
            "Europe/Berlin",
            "--days",
            "tue",
            "--format",
            "kubernetes",
        ],
    );
    for schedule in ["0 1 * * 2", "25 1 * * 2", "50 1 * * 2"] {
        let line = format!("  schedule: \"CRON_TZ=Europe/Berlin {schedule}\"\n");
        assert!(yaml.contains(&line), "{yaml}");
    }
    assert!(yaml.contains("`cronjob-stagger-window: \"0\"`"), "{yaml}");
    let staggered = refusal(&cluster()[..3], &["--days", "tue"]);
    assert!(
        staggered.contains("3 slots of 2 h 25 min do not fit"),
        "{staggered}"
    );
    assert!(staggered.contains("--stagger 0s"), "{staggered}");
    // One way out: neither Longhorn nor csi-addons goes on where it ended.
    assert_eq!(staggered.matches("hint:").count(), 1, "{staggered}");
}

/// Longhorn's job gives a trim up after a minute and takes the next volume, while the trim goes on.
#[test]
fn each_of_longhorns_volumes_has_a_job_of_its_own() {
    let volumes: Vec<Value> = (0..3)
        .map(|index| {
            let name = format!("pvc-0b9f4c1e-7a52-4d0e-9c1b-3f2a1d0e0a1{index}");
            let claim = format!("data-{index}");
            volume(("logs", &claim), &name, csi("driver.longhorn.io", &name))
        })
        .collect();
    // Over midnight, and two of them on one day.
    let calls = [
        "--days",
        "tue,wed",
        "--window",
        "23:40-01:00",
        "--format",
        "kubernetes",
    ];
    let left = plan(&volumes, &calls[..4]).replace("\n  ", " ");
    // Names end at 40 characters: these are the same.
    assert!(
        left.contains("logs/data-1: its job would have a name that is too long"),
        "{left}"
    );
    let volumes: Vec<Value> = (0..3)
        .map(|index| {
            let name = format!("pvc-{index}b9f4c1e-7a52-4d0e-9c1b-3f2a1d0e0a11");
            let claim = format!("data-{index}");
            volume(("logs", &claim), &name, csi("driver.longhorn.io", &name))
        })
        .collect();
    let yaml = plan(&volumes, &calls);
    for (index, cron) in ["40 23 * * 2", "40 23 * * 3", "10 0 * * 3"]
        .iter()
        .enumerate()
    {
        let name = format!("trimtab-pvc-{index}b9f4c1e-7a52-4d0e-9c1b-3f2a");
        let job = format!(
            "# logs/data-{index}\napiVersion: longhorn.io/v1beta2\nkind: RecurringJob\nmetadata:\n  name: {name}\n"
        );
        assert!(yaml.contains(&job), "{yaml}");
        assert!(
            yaml.contains(&format!("  cron: \"{cron}\"\n  concurrency: 1\n")),
            "{yaml}"
        );
        let label = format!(
            "#   kubectl -n longhorn-system label volumes.longhorn.io pvc-{index}b9f4c1e-7a52-4d0e-9c1b-3f2a1d0e0a11 \\\n\
             #     recurring-job.longhorn.io/{name}=enabled\n"
        );
        assert!(yaml.contains(&label), "{yaml}");
    }
    let long = refusal(&volumes, &["--pass", "90min"]);
    assert!(long.contains("which ends a trim after an hour"), "{long}");
}

#[test]
fn labels_go_where_longhorn_keeps_them() {
    let pv = volume(
        ("logs", "data"),
        "pvc-1",
        csi("driver.longhorn.io", "pvc-1"),
    );
    let unknown = plan(std::slice::from_ref(&pv), &[]).replace('\n', " ");
    assert!(unknown.contains("The list has no claims."), "{unknown}");
    let claim = |labels: Value| json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "logs", "labels": labels}});
    let of_volume = plan(&[pv.clone(), claim(json!({}))], &[]);
    assert!(
        of_volume.contains("kubectl -n longhorn-system label volumes.longhorn.io pvc-1 \\\n"),
        "{of_volume}"
    );
    assert!(!of_volume.contains("has no claims"), "{of_volume}");
    let source = json!({"recurring-job.longhorn.io/source": "enabled"});
    let of_claim = plan(&[pv, claim(source)], &[]);
    assert!(
        of_claim.contains(
            "kubectl -n logs label pvc data recurring-job.longhorn.io/trimtab-pvc-1=enabled"
        ),
        "{of_claim}"
    );
}

#[test]
fn jobs_that_trim_already_are_told() {
    let mut items = cluster();
    for (name, claim) in [
        ("data-es-0-1642663516", "data-es-0"),
        ("trimtab-data-es-1", "data-es-1"),
    ] {
        items.push(json!({"kind": "ReclaimSpaceCronJob", "metadata": {"name": name, "namespace": "search"},
            "spec": {"schedule": "@weekly", "jobTemplate": {"spec": {"target": {"persistentVolumeClaim": claim}}}}}));
    }
    // Of an earlier call, for another namespace: its slots are the same.
    items.push(json!({"kind": "RecurringJob", "metadata": {"name": "trimtab-pvc-z", "namespace": "longhorn-system"},
        "spec": {"task": "filesystem-trim", "cron": "0 1 * * 2"}}));
    let text = plan(&items, &[]);
    let joined = text.replace("\n  ", " ");
    assert!(
        joined.contains(
            "- ReclaimSpaceCronJob search/data-es-0-1642663516 (@weekly) trims data-es-0"
        ),
        "{text}"
    );
    for command in [
        "  kubectl -n search patch reclaimspacecronjobs data-es-0-1642663516 --type=merge -p '{\"spec\":{\"suspend\":true}}'\n",
        "  kubectl -n longhorn-system delete recurringjobs.longhorn.io trimtab-pvc-z\n",
    ] {
        assert!(text.contains(command), "{text}");
    }
    assert!(
        !text.contains("trims data-es-1") && !text.contains("trims these volumes already was"),
        "{text}"
    );
}

/// The printed call is the call.
#[test]
fn the_command_that_is_printed_gives_the_same_objects() {
    let arguments = [
        "--stagger",
        "0",
        "--pass",
        "90500ms",
        "--namespace",
        "search",
        "--format",
        "kubernetes",
    ];
    let yaml = plan(&cluster(), &arguments);
    let first = yaml.lines().next().unwrap();
    let start = first.find("--pass").unwrap();
    let call = &first[start..first.find("`. Slots").unwrap()];
    assert_eq!(
        call,
        "--pass 1m30s500ms --volumes pv.json --namespace search --stagger 0s"
    );
    let again = plan(
        &cluster(),
        &[
            "--pass",
            "1m30s500ms",
            "--namespace",
            "search",
            "--stagger",
            "0s",
            "--format",
            "kubernetes",
        ],
    );
    assert_eq!(yaml, again);
    assert!(yaml.contains("      timeout: 91\n"), "{yaml}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |arguments: &[&str], expected: &str| {
        let message = refusal(&cluster(), arguments).replace("\n  ", " ");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    };
    refused(
        &["--tz", "Europe/Berlin"],
        "logs/data-os-0 is trimmed by Longhorn, whose schedules have no time zone",
    );
    refused(
        &["--namespace", "search", "--require-green", "http://es:9200"],
        "neither Longhorn nor csi-addons asks a cluster",
    );
    refused(
        &["--namespace", "serach"],
        "no volume is claimed there; found logs, mongo, search and web",
    );
    refused(
        &["--namespace", "web", "--format", "kubernetes"],
        "no volume to plan: web/uploads: served by nfs: only the server can trim it; 1 other is left out as well",
    );
    refused(&["--format", "ansible"], "expected --peers");
    let message = stderr(
        &trimtab()
            .args(["plan", "--format", "kubernetes"])
            .output()
            .unwrap(),
    );
    assert!(
        message.contains("expected --volumes, the list of kubectl"),
        "{message}"
    );
    assert!(
        message.contains("kubectl get pv,pvc -A -o json | trimtab plan --volumes -"),
        "{message}"
    );
}

#[test]
fn a_node_asks_the_cluster_before_its_pass() {
    let yaml = plan(
        &cluster(),
        &[
            "--namespace",
            "mongo",
            "--image",
            "t:1",
            "--require-green",
            "http://es:9200",
            "--format",
            "kubernetes",
        ],
    );
    let asked = "                - \"--require-green\"\n                - \"http://es:9200\"\n";
    assert!(yaml.contains(asked), "{yaml}");
}

#[test]
fn names_that_yaml_takes_for_numbers_stay_names() {
    let ceph = "rbd.csi.ceph.com";
    let items = [
        volume(("123", "456"), "pv-1", csi(ceph, "h1")),
        volume(("true", "null"), "pv-2", csi(ceph, "h2")),
    ];
    let yaml = plan(&items, &["--format", "kubernetes"]);
    for line in [
        "  namespace: \"123\"\n",
        "persistentVolumeClaim: \"456\"\n",
        "persistentVolumeClaim: \"null\"\n",
    ] {
        assert!(yaml.contains(line), "{yaml}");
    }
}

#[test]
fn what_a_pod_could_not_do_is_refused_or_left_out() {
    let local_at = |path: &str| json!({"local": {"path": path}, "nodeAffinity": local("worker-1")["nodeAffinity"]});
    let twice = [
        volume(("m", "a"), "pv-1", local_at("/mnt/x")),
        volume(("m", "b"), "pv-2", local_at("/mnt/x/")),
    ];
    let text = plan(&twice, &["--image", "t:1"]);
    assert!(
        text.contains("- m/b: /mnt/x of its node is planned already"),
        "{text}"
    );
    for (arguments, expected) in [
        (&["--image", "a b"][..], "expected the name of an image"),
        (
            &["--image", "t:1", "--require-green", "http://u:p@es:9200"],
            "--require-green",
        ),
        (&["--image", "t:1", "--node", "x"], "cannot be used with"),
    ] {
        let message = refusal(&twice, arguments);
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("u:p"), "{message}");
    }
    let none = refusal(&[], &[]);
    assert!(
        none.contains("no PersistentVolume is in the list"),
        "{none}"
    );
}

/// `-o FILE` and `--format` agree.
#[test]
fn a_yaml_file_holds_objects_of_kubernetes() {
    for format in [&[][..], &["--format", "kubernetes"]] {
        let output = output(&cluster(), &[&["-o", "x.yaml"], format].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}
