//! Lists of Kubernetes volumes.

/// As kubectl prints them.
pub(crate) const LISTS: &[&str] = &[
    "{\"kind\":\"List\",\"items\":[{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"pv-1\"},\"spec\":{\"claimRef\":{\"namespace\":\"search\",\"name\":\"data-0\"},\"csi\":{\"driver\":\"driver.longhorn.io\",\"volumeHandle\":\"pv-1\"}},\"status\":{\"phase\":\"Bound\"}}]}",
    "{\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"l\"},\"spec\":{\"claimRef\":{\"namespace\":\"a\",\"name\":\"b\"},\"local\":{\"path\":\"/mnt\"},\"nodeAffinity\":{\"required\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"kubernetes.io/hostname\",\"operator\":\"In\",\"values\":[\"w\"]}]}]}}},\"status\":{\"phase\":\"Bound\"}}",
    "{\"kind\":\"ReclaimSpaceCronJob\",\"metadata\":{\"name\":\"j\",\"namespace\":\"a\"},\"spec\":{\"schedule\":\"@weekly\",\"jobTemplate\":{\"spec\":{\"target\":{\"persistentVolumeClaim\":\"b\"}}}}}",
];

/// No name that reaches a manifest breaks a line, or out of its quotes.
pub(crate) fn lists(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Ok(listed) = plan::read_volumes(text) else {
        return;
    };
    let is_plain = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    for volume in &listed.volumes {
        assert!(is_plain(&volume.namespace) && is_plain(&volume.claim) && is_plain(&volume.name));
        match &volume.means {
            plan::Means::Longhorn { volume, .. } => assert!(is_plain(volume)),
            plan::Means::Local { path, node } => {
                assert!(
                    is_plain(node) && path.starts_with('/') && !path.contains(char::is_control)
                );
            }
            plan::Means::CsiAddons => {}
        }
    }
    for left in &listed.left {
        assert!(!left.what.contains(char::is_control));
    }
}
