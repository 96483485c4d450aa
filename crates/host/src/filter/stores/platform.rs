/// DMI attributes that identify a product but not a machine: no serial numbers, no UUIDs.
const DMI: [&str; 8] = [
    "sys_vendor",
    "product_name",
    "product_version",
    "bios_vendor",
    "bios_version",
    "board_vendor",
    "chassis_vendor",
    "product_family",
];

/// Asset tags that clouds set; any other could be a company's inventory number.
const ASSET_TAGS: [&str; 5] = [
    "7783-7084-3265-9085-8269-3286-77",
    "Amazon EC2",
    "OracleCloud.com",
    "OpenTelekomCloud",
    "HUAWEICLOUD",
];

/// Filters the files of the platform.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    if let Some(attribute) = path.strip_prefix("sys/class/dmi/id/") {
        if attribute == "chassis_asset_tag" {
            return Some(keep_if(bytes, |tag| ASSET_TAGS.contains(&tag)));
        }
        return DMI.contains(&attribute).then(|| bytes.to_vec());
    }
    match path {
        "proc/sys/kernel/hostname"
        | "proc/sys/kernel/osrelease"
        | "proc/uptime"
        | "sys/hypervisor/type"
        | "proc/xen/capabilities"
        | "etc/centos-release"
        | "etc/redhat-release" => Some(bytes.to_vec()),
        // A leading `ec2` identifies the cloud; the rest identifies the machine.
        "sys/hypervisor/uuid" => Some(bytes.iter().take(3).copied().collect()),
        "proc/cpuinfo" => Some(keep_hypervisor_flag(bytes)),
        "etc/os-release" | "usr/lib/os-release" => {
            Some(keep_lines(bytes, &["ID=", "VERSION_ID=", "PRETTY_NAME="]))
        }
        "run/systemd/container" | "run/host/container-manager" => Some(keep_if(bytes, is_word)),
        "etc/timezone" => Some(keep_if(bytes, crate::parse::time_zone::is_time_zone)),
        _ => None,
    }
}

/// Keeps one word if it may be kept.
pub(super) fn keep_if(bytes: &[u8], is_kept: impl Fn(&str) -> bool) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    if is_kept(text.trim()) {
        format!("{}\n", text.trim()).into_bytes()
    } else {
        Vec::new()
    }
}

fn is_word(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
}

/// Keeps the flag that every hypervisor sets (CPUID leaf 1, ECX bit 31), of the first processor.
fn keep_hypervisor_flag(bytes: &[u8]) -> Vec<u8> {
    let flags = bytes
        .split(|&b| b == b'\n')
        .find(|line| line.starts_with(b"flags"));
    let has_flag = flags.is_some_and(|line| {
        line.split(u8::is_ascii_whitespace)
            .any(|flag| flag == b"hypervisor")
    });
    match flags {
        Some(_) if has_flag => b"flags\t\t: hypervisor\n".to_vec(),
        Some(_) => b"flags\t\t:\n".to_vec(),
        None => Vec::new(),
    }
}

/// Keeps the lines that start in one of these ways.
pub(super) fn keep_lines(bytes: &[u8], starts: &[&str]) -> Vec<u8> {
    let lines = bytes.split(|&b| b == b'\n');
    let kept = lines.filter(|line| {
        starts
            .iter()
            .any(|start| line.starts_with(start.as_bytes()))
    });
    kept.flat_map(|line| [line, &b"\n"[..]].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kept;
    use super::*;

    #[test]
    fn machines_are_not_named() {
        assert_eq!(keep("sys/class/dmi/id/product_uuid", b"ec2s3cret"), None);
        assert_eq!(keep("sys/class/dmi/id/product_serial", b"s3cret"), None);
        assert_eq!(
            kept("sys/class/dmi/id/chassis_asset_tag", "INV-s3cret\n"),
            ""
        );
        assert_eq!(kept("sys/hypervisor/uuid", "ec2e1916-9099\n"), "ec2");
        assert_eq!(kept("run/systemd/container", "docker\n"), "docker\n");
        assert_eq!(kept("run/systemd/container", "a s3cret\n"), "");
        assert_eq!(kept("etc/timezone", "../s3cret\n"), "");
        assert_eq!(
            kept(
                "etc/os-release",
                "NAME=x\nID=debian\nHOME_URL=\"https://s3cret\"\n"
            ),
            "ID=debian\n"
        );
    }

    #[test]
    fn only_the_hypervisor_flag_of_cpuinfo_is_kept() {
        let cpu = "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu hypervisor avx\n";
        assert_eq!(kept("proc/cpuinfo", cpu), "flags\t\t: hypervisor\n");
        assert_eq!(kept("proc/cpuinfo", "flags\t\t: fpu avx\n"), "flags\t\t:\n");
        assert_eq!(kept("proc/cpuinfo", "Features\t: fp asimd\n"), "");
    }
}
