use super::*;
use serde_json::{Value, json};

fn volume(name: &str, claim: &str, source: &Value) -> Value {
    let mut spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "100Gi"},
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "search", "name": claim, "uid": "6f"},
        "persistentVolumeReclaimPolicy": "Delete",
        "volumeMode": "Filesystem"
    });
    for (key, value) in source.as_object().unwrap() {
        spec[key] = value.clone();
    }
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec,
        "status": {"phase": "Bound"}})
}

fn csi(driver: &str) -> Value {
    json!({"csi": {"driver": driver, "volumeHandle": "pvc-1", "fsType": "ext4"}})
}

fn on_node(node: &str) -> Value {
    json!({
        "local": {"path": "/mnt/disks/ssd1"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        ]}}
    })
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn only(source: &Value) -> Result<Means, Why> {
    let listed = read_volumes(&list(&[volume("pv", "data", source)])).unwrap();
    match (listed.volumes.as_slice(), listed.left.as_slice()) {
        ([volume], []) => Ok(volume.means.clone()),
        ([], [left]) => Err(left.why.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_driver_tells_what_trims_a_volume() {
    for driver in ["rbd.csi.ceph.com", "rook-ceph.rbd.csi.ceph.com"] {
        assert_eq!(only(&csi(driver)), Ok(Means::CsiAddons), "{driver}");
    }
    let other = "notrbd.csi.ceph.com";
    assert_eq!(only(&csi(other)), Err(Why::NoMeans(other.to_owned())));
    let shared = "rook-ceph.cephfs.csi.ceph.com";
    assert_eq!(only(&csi(shared)), Err(Why::Shared(shared.to_owned())));
    assert_eq!(
        only(&csi("driver.longhorn.io")),
        Ok(Means::Longhorn {
            volume: "pvc-1".to_owned(),
            is_labelled_by_claim: false
        })
    );
    assert_eq!(
        only(&on_node("worker-1")),
        Ok(Means::Local {
            path: "/mnt/disks/ssd1".to_owned(),
            node: "worker-1".to_owned()
        })
    );
    assert_eq!(
        only(
            &json!({"hostPath": {"path": "/opt/local-path-provisioner/x", "type": "DirectoryOrCreate"}})
        ),
        Err(Why::HostPath)
    );
    assert_eq!(
        only(&json!({"nfs": {"server": "nas", "path": "/x"}})),
        Err(Why::Shared("nfs".to_owned()))
    );
    assert_eq!(
        only(&json!({"awsElasticBlockStore": {"volumeID": "vol-1"}})),
        Err(Why::NoMeans("awsElasticBlockStore".to_owned()))
    );
}

#[test]
fn what_has_nothing_to_trim_or_is_trimmed_already_is_left_out() {
    let mut rbd = csi("rbd.csi.ceph.com");
    rbd["volumeMode"] = "Block".into();
    assert_eq!(only(&rbd), Err(Why::Block));
    let mut rbd = csi("rbd.csi.ceph.com");
    rbd["accessModes"] = json!(["ReadOnlyMany"]);
    assert_eq!(only(&rbd), Err(Why::ReadOnly));
    for options in [
        json!(["noatime", "discard"]),
        json!(["noatime,discard=async"]),
    ] {
        let mut rbd = csi("rbd.csi.ceph.com");
        rbd["mountOptions"] = options;
        assert_eq!(only(&rbd), Err(Why::Discard));
    }
    let mut rbd = csi("rbd.csi.ceph.com");
    rbd["mountOptions"] = json!(["nodiscard"]);
    assert_eq!(only(&rbd), Ok(Means::CsiAddons));
    let mut released = volume("pv", "data", &csi("rbd.csi.ceph.com"));
    released["status"]["phase"] = "Released".into();
    let listed = read_volumes(&list(&[released])).unwrap();
    assert_eq!(listed.left[0].why, Why::NotBound("Released".to_owned()));
    assert_eq!(listed.left[0].what, "search/data");
}

#[test]
fn names_that_kubernetes_does_not_accept_reach_no_manifest() {
    for claim in [
        "data\n- evil: true",
        "Data",
        "",
        "-data",
        "data-",
        "dat\u{e4}",
    ] {
        let listed = read_volumes(&list(&[volume("pv", claim, &csi("rbd.csi.ceph.com"))])).unwrap();
        assert_eq!(listed.left[0].why, Why::BadName, "{claim:?}");
    }
    assert_eq!(only(&on_node("worker 1")), Err(Why::BadName));
    let mut relative = on_node("worker-1");
    relative["local"]["path"] = "mnt".into();
    assert_eq!(only(&relative), Err(Why::BadName));
    let mut two = on_node("worker-1");
    two["nodeAffinity"]["required"]["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] =
        json!(["a", "b"]);
    assert_eq!(only(&two), Err(Why::NoNode));
}

#[test]
fn other_objects_of_the_list_are_told() {
    let driver = "csi.example.com";
    let node = |capability: &str| {
        json!({"kind": "CSIAddonsNode", "metadata": {"name": "n", "namespace": "storage"},
            "spec": {"driver": {"name": driver, "endpoint": "pod://x", "nodeID": "1"}},
            "status": {"capabilities": ["service.NODE_SERVICE", capability]}})
    };
    let volumes = [volume("pv", "data", &csi(driver))];
    let with = |more: Value| {
        let mut items = volumes.to_vec();
        items.push(more);
        read_volumes(&list(&items)).unwrap()
    };
    assert_eq!(
        with(node("reclaim_space.ONLINE")).volumes[0].means,
        Means::CsiAddons
    );
    assert_eq!(
        with(node("reclaim_space.OFFLINE")).left[0].why,
        Why::NoMeans(driver.to_owned())
    );
    let job = json!({"kind": "ReclaimSpaceCronJob", "metadata": {"name": "data-1642663516", "namespace": "search"},
        "spec": {"schedule": "@weekly", "jobTemplate": {"spec": {"target": {"persistentVolumeClaim": "data"}}}}});
    let listed = with(job.clone());
    assert!(listed.has_jobs);
    assert_eq!(listed.trimmers[0].claim.as_deref(), Some("data"));
    assert_eq!(listed.trimmers[0].schedule, "@weekly");
    let mut suspended = job;
    suspended["spec"]["suspend"] = true.into();
    assert!(with(suspended).trimmers.is_empty());
    let backup = json!({"kind": "RecurringJob", "metadata": {"name": "b", "namespace": "longhorn-system"},
        "spec": {"task": "backup", "cron": "0 1 * * *"}});
    assert!(with(backup).trimmers.is_empty());
}

#[test]
fn a_claim_that_names_its_jobs_keeps_doing_so() {
    let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "search",
        "labels": {"recurring-job.longhorn.io/source": "enabled", "recurring-job-group.longhorn.io/default": "enabled"}}});
    let listed = read_volumes(&list(&[
        volume("pv", "data", &csi("driver.longhorn.io")),
        claim,
    ]))
    .unwrap();
    assert!(matches!(
        &listed.volumes[0].means,
        Means::Longhorn {
            is_labelled_by_claim: true,
            ..
        }
    ));
}

#[test]
fn lists_of_all_forms_are_read() {
    let pv = volume("pv", "data", &csi("rbd.csi.ceph.com"));
    let mut bare = pv.clone();
    bare.as_object_mut().unwrap().remove("kind");
    let typed =
        json!({"apiVersion": "v1", "kind": "PersistentVolumeList", "items": [bare]}).to_string();
    for text in [
        pv.to_string(),
        typed,
        format!("{}\n{}", list(&[]), list(&[pv.clone(), pv.clone()])),
    ] {
        assert_eq!(read_volumes(&text).unwrap().volumes.len(), 1, "{text}");
    }
    for (text, expected) in [
        ("", "expected JSON, found nothing"),
        (
            "{\"items\": []}",
            "expected objects of Kubernetes, found JSON without a kind",
        ),
        (
            "{\"kind\": \"List\", \"items\": 1}",
            "expected items in a List, found something else",
        ),
        (
            "apiVersion: v1\nkind: List",
            "expected JSON, found YAML: kubectl prints JSON with -o json",
        ),
        (
            "{\"kind\": \"Status\", \"message\": \"forbidden\"}",
            "expected a list, found an error of kubectl: forbidden",
        ),
        (
            "{\"kind\": \"List\", \"items\": [1]}",
            "items[0]: expected an object",
        ),
    ] {
        assert_eq!(read_volumes(text).unwrap_err(), expected);
    }
    let broken = list(&[json!({"kind": "PersistentVolume", "metadata": {"name": 1}, "spec": {}})]);
    let error = read_volumes(&broken).unwrap_err();
    assert!(
        error.starts_with("items[0], PersistentVolume \"\": invalid type"),
        "{error}"
    );
}

/// Tools that edit lists leave nulls; what is null is as if it were not there.
#[test]
fn nulls_and_a_byte_order_mark_are_nothing() {
    let mut pv = volume("pv", "data", &csi("driver.longhorn.io"));
    for key in [
        "mountOptions",
        "nodeAffinity",
        "local",
        "volumeMode",
        "accessModes",
    ] {
        pv["spec"][key] = Value::Null;
    }
    pv["metadata"]["labels"] = Value::Null;
    let text = format!("\u{feff}{}", list(&[pv]));
    assert_eq!(read_volumes(&text).unwrap().volumes.len(), 1);
    for empty in [
        "{\"kind\": \"List\"}",
        "{\"kind\": \"List\", \"items\": null}",
    ] {
        assert!(read_volumes(empty).unwrap().volumes.is_empty());
    }
}

#[test]
fn a_local_path_is_a_mount_point_of_the_node_or_nothing_to_mount() {
    let at = |path: &str, fs_type: &str| {
        let mut source = on_node("worker-1");
        source["local"] = json!({"path": path, "fsType": fs_type});
        only(&source)
    };
    assert_eq!(
        at("/mnt/local-storage/nvme1n1", "xfs"),
        Err(Why::Device("worker-1".to_owned()))
    );
    assert_eq!(at("/dev/sdb", ""), Err(Why::Device("worker-1".to_owned())));
    for path in [
        "/",
        "//",
        "/mnt/../etc",
        "/mnt/x:ro",
        "/var/lib/trimtab",
        "/var/lib",
        "/run/trimtab/x",
        "/usr",
    ] {
        assert_eq!(at(path, ""), Err(Why::BadName), "{path}");
    }
    for path in ["/mnt/x", "/mnt/x/", "/var/lib/elasticsearch"] {
        assert!(at(path, "").is_ok(), "{path}");
    }
}

#[test]
fn a_driver_whose_sidecar_does_not_trim_and_a_volume_that_goes_are_left_out() {
    let driver = "rook-ceph.rbd.csi.ceph.com";
    let pv = volume("pv", "data", &csi(driver));
    let node = json!({"kind": "CSIAddonsNode", "metadata": {"name": "n"}, "spec": {"driver": {"name": driver}},
        "status": {"capabilities": ["network_fence.NETWORK_FENCE"]}});
    let listed = read_volumes(&list(&[pv.clone(), node])).unwrap();
    assert_eq!(listed.left[0].why, Why::NoMeans(driver.to_owned()));
    let mut goes = pv;
    goes["metadata"]["deletionTimestamp"] = "2026-11-29T00:00:00Z".into();
    let listed = read_volumes(&list(&[goes])).unwrap();
    assert_eq!(listed.left[0].why, Why::NotBound("Terminating".to_owned()));
    let mut read_only = csi(driver);
    read_only["csi"]["readOnly"] = true.into();
    assert_eq!(only(&read_only), Err(Why::ReadOnly));
}

#[test]
fn claims_are_in_the_order_of_their_numbers() {
    let driver = csi("rbd.csi.ceph.com");
    let volumes = ["data-10", "data-2", "data-0"].map(|claim| volume(claim, claim, &driver));
    let listed = read_volumes(&list(&volumes)).unwrap();
    let claims: Vec<&str> = listed
        .volumes
        .iter()
        .map(|volume| volume.claim.as_str())
        .collect();
    assert_eq!(claims, ["data-0", "data-2", "data-10"]);
}
