//! Detects from `proc/PID/cgroup` whether a process runs in a container.

/// The parts of cgroup paths created by container runtimes, as kept in bundles, and the runtimes.
/// Container ids are not kept.
const RUNTIMES: [(&str, &str); 8] = [
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod-", "podman"),
    ("crio-", "cri-o"),
    ("cri-containerd-", "containerd"),
    ("lxc", "lxc"),
    ("systemd-nspawn@", "systemd-nspawn"),
    ("garden", "garden"),
];

/// Returns the runtime's marker in the contents of `proc/PID/cgroup`; `None` outside of containers,
/// and inside one with its own cgroup namespace.
pub(crate) fn marker(cgroup: &str) -> Option<&'static str> {
    let has = |mark: &str| {
        cgroup
            .lines()
            .filter_map(|line| line.splitn(3, ':').nth(2))
            .flat_map(|path| path.split('/'))
            .any(|name| match mark {
                // `kubepods.slice`, `kubepods-burstable.slice`.
                "kubepods" | "libpod-" | "crio-" | "cri-containerd-" | "systemd-nspawn@" => {
                    name.starts_with(mark)
                }
                // `docker/ID` and `docker-ID.scope`; the daemon itself is in `docker.service`.
                "docker" => {
                    name == mark || (name.starts_with("docker-") && name.contains(".scope"))
                }
                // `lxc/NAME` and `lxc.payload.NAME`.
                "lxc" => name == mark || name.starts_with("lxc.payload"),
                _ => name == mark,
            })
    };
    RUNTIMES
        .iter()
        .map(|(mark, _)| *mark)
        .find(|mark| has(mark))
}

/// Returns the runtime for a marker.
pub(crate) fn runtime(marker: &str) -> &'static str {
    RUNTIMES
        .iter()
        .find(|(mark, _)| *mark == marker)
        .map_or("other", |(_, runtime)| runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_are_detected_by_their_cgroups() {
        let of = |cgroup| marker(cgroup).map(runtime);
        assert_eq!(of("4:memory:/docker/0123abcd\n"), Some("docker"));
        assert_eq!(
            of("0::/system.slice/docker-0123abcd.scope\n"),
            Some("docker")
        );
        assert_eq!(
            of("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-01.scope\n"),
            Some("kubernetes")
        );
        assert_eq!(
            of("0::/machine.slice/libpod-01.scope/container\n"),
            Some("podman")
        );
        assert_eq!(of("0::/lxc.payload.web/system.slice\n"), Some("lxc"));
    }

    #[test]
    fn services_of_the_host_are_not_in_a_container() {
        for path in [
            "/system.slice/docker.service",
            "/system.slice/elasticsearch.service",
            "/",
            "/system.slice/system-lxc\\x2dnet.slice",
        ] {
            assert_eq!(marker(&format!("0::{path}\n")), None, "{path}");
        }
        assert_eq!(marker(""), None);
    }

    #[test]
    fn markers_are_idempotent() {
        for (mark, _) in RUNTIMES {
            assert_eq!(marker(&format!("0::/{mark}\n")), Some(mark));
        }
    }
}
