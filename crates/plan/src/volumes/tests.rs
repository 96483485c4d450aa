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
    assert_eq!(listed.left[0].why, Why::NotBound);
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
            "{\"kind\": \"List\"}",
            "expected items in a List, found none",
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
        error.starts_with("items[0], a PersistentVolume: invalid type"),
        "{error}"
    );
    assert!(
        read_volumes("apiVersion: v1")
            .unwrap_err()
            .starts_with("expected value at line 1")
    );
}
