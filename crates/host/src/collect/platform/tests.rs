use super::*;
use crate::Options;
use crate::source::MemorySource;
use facts::host::{Cloud, Platform};
use jiff::Timestamp;

fn host(source: &MemorySource) -> Host {
    let reader = Reader::new(source);
    let mut host = Host::default();
    read(&reader, &mut host);
    host
}

fn platform(source: &MemorySource) -> Platform {
    host(source).platform
}

fn dmi(source: MemorySource, attributes: &[(&str, &str)]) -> MemorySource {
    attributes.iter().fold(source, |source, (name, value)| {
        source.file(&format!("sys/class/dmi/id/{name}"), format!("{value}\n"))
    })
}

const XENIAL: &str = "\
NAME=\"Ubuntu\"
VERSION=\"16.04.7 LTS (Xenial Xerus)\"
ID=ubuntu
ID_LIKE=debian
PRETTY_NAME=\"Ubuntu 16.04.7 LTS\"
VERSION_ID=\"16.04\"
HOME_URL=\"http://www.ubuntu.com/\"
";

#[test]
fn ubuntu_on_xen_of_amazon() {
    let source = MemorySource::new()
        .file("proc/sys/kernel/hostname", "ip-10-0-0-7\n")
        .file("proc/sys/kernel/osrelease", "4.4.0-1128-aws\n")
        .file("proc/uptime", "12345.67 45678.90\n")
        .file("etc/os-release", XENIAL)
        .file("etc/timezone", "Etc/UTC\n")
        .file("sys/hypervisor/type", "xen\n")
        .file(
            "sys/hypervisor/uuid",
            "ec2e1916-9099-7caf-fd21-012345abcdef\n",
        )
        .directory("run/systemd/system");
    let source = dmi(
        source,
        &[
            ("sys_vendor", "Xen"),
            ("product_name", "HVM domU"),
            ("product_version", "4.2.amazon"),
            ("bios_vendor", "Xen"),
            ("bios_version", "4.2.amazon"),
        ],
    );
    let host = host(&source);
    let platform = host.platform;
    assert_eq!(platform.host_name.as_deref(), Some("ip-10-0-0-7"));
    assert_eq!(platform.distribution.as_deref(), Some("ubuntu"));
    assert_eq!(platform.distribution_version.as_deref(), Some("16.04"));
    assert_eq!(
        platform.distribution_name.as_deref(),
        Some("Ubuntu 16.04.7 LTS")
    );
    assert_eq!(platform.kernel_version(), Some((4, 4)));
    assert_eq!(platform.cloud, Some(Cloud::Aws));
    assert_eq!(platform.hypervisor.as_deref(), Some("xen"));
    assert_eq!(platform.container, None);
    assert_eq!(platform.uptime_s, Some(12345.67));
    assert_eq!(platform.systemd, Some(true));
    assert_eq!(host.time_zone.as_deref(), Some("Etc/UTC"));
}

#[test]
fn nitro_and_metal_of_amazon() {
    let nitro = |product: &str| {
        platform(&dmi(
            MemorySource::new(),
            &[("sys_vendor", "Amazon EC2"), ("product_name", product)],
        ))
    };
    assert_eq!(nitro("i3en.2xlarge").cloud, Some(Cloud::Aws));
    assert_eq!(nitro("i3en.2xlarge").hypervisor.as_deref(), Some("kvm"));
    assert_eq!(nitro("i3.metal").cloud, Some(Cloud::Aws));
    assert_eq!(nitro("i3.metal").hypervisor, None);
    assert_eq!(nitro("c5.metal-24xl").hypervisor, None);
}

#[test]
fn a_paravirtualised_guest_of_amazon_without_dmi() {
    let source = MemorySource::new()
        .file("sys/hypervisor/type", "xen\n")
        .file("sys/hypervisor/uuid", "EC2E1916-9099\n");
    let platform = platform(&source);
    assert_eq!(platform.cloud, Some(Cloud::Aws));
    assert_eq!(platform.hypervisor.as_deref(), Some("xen"));
}

#[test]
fn centos_7_has_its_minor_release() {
    let source = MemorySource::new()
        .file("proc/sys/kernel/osrelease", "3.10.0-1160.el7.x86_64\n")
        .file(
            "etc/os-release",
            "NAME=\"CentOS Linux\"\nVERSION=\"7 (Core)\"\nID=\"centos\"\nVERSION_ID=\"7\"\n\
             PRETTY_NAME=\"CentOS Linux 7 (Core)\"\n",
        )
        .file(
            "etc/centos-release",
            "CentOS Linux release 7.9.2009 (Core)\n",
        )
        .symlink("etc/localtime", "../usr/share/zoneinfo/Europe/Berlin");
    let source = dmi(
        source,
        &[
            ("sys_vendor", "Dell Inc."),
            ("product_name", "PowerEdge R740"),
        ],
    )
    .file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme sse2\n")
    .whole();
    let host = host(&source);
    let platform = host.platform;
    assert_eq!(platform.distribution.as_deref(), Some("centos"));
    assert_eq!(platform.distribution_version.as_deref(), Some("7"));
    assert_eq!(
        platform.distribution_name.as_deref(),
        Some("CentOS Linux release 7.9.2009 (Core)")
    );
    assert_eq!(platform.kernel_version(), Some((3, 10)));
    assert_eq!((platform.cloud, platform.hypervisor), (None, None));
    assert_eq!(platform.dmi_product.as_deref(), Some("PowerEdge R740"));
    // A running host without systemd's directory.
    assert_eq!(platform.systemd, Some(false));
    assert_eq!(host.time_zone.as_deref(), Some("Europe/Berlin"));
}

#[test]
fn centos_6_has_no_os_release() {
    let platform =
        platform(&MemorySource::new().file("etc/centos-release", "CentOS release 6.10 (Final)\n"));
    assert_eq!(platform.distribution.as_deref(), Some("centos"));
    assert_eq!(platform.distribution_version.as_deref(), Some("6.10"));
}

#[test]
fn debian_12_in_qemu() {
    let source = MemorySource::new()
        .file(
            "usr/lib/os-release",
            "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n",
        )
        .symlink("etc/os-release", "../usr/lib/os-release")
        .symlink("etc/localtime", "/usr/share/zoneinfo/posix/Asia/Tokyo");
    let source = dmi(
        source,
        &[
            ("sys_vendor", "QEMU"),
            ("product_name", "Standard PC (i440FX + PIIX, 1996)"),
            ("bios_vendor", "SeaBIOS"),
        ],
    );
    let host = host(&source);
    assert_eq!(host.platform.distribution_version.as_deref(), Some("12"));
    assert_eq!(host.platform.hypervisor.as_deref(), Some("qemu"));
    assert_eq!(host.platform.cloud, None);
    // Neither /proc nor /run: it is unknown what is running.
    assert_eq!(host.platform.systemd, None);
    assert_eq!(host.time_zone.as_deref(), Some("Asia/Tokyo"));
}

#[test]
fn clouds_and_hypervisors_by_dmi() {
    let of = |attributes: &[(&str, &str)]| {
        let platform = platform(&dmi(MemorySource::new(), attributes));
        (platform.cloud, platform.hypervisor)
    };
    let kvm = Some("kvm".to_owned());
    let hyperv = Some("hyperv".to_owned());
    let google = [
        ("sys_vendor", "Google"),
        ("product_name", "Google Compute Engine"),
    ];
    assert_eq!(of(&google), (Some(Cloud::Gcp), kvm));
    assert_eq!(
        of(&[("sys_vendor", "Google"), ("product_name", "Eve")]),
        (None, None)
    );
    let microsoft = [
        ("sys_vendor", "Microsoft Corporation"),
        ("product_name", "Virtual Machine"),
    ];
    assert_eq!(of(&microsoft), (None, hyperv.clone()));
    let azure = [microsoft[0], microsoft[1], ("chassis_asset_tag", AZURE)];
    assert_eq!(of(&azure), (Some(Cloud::Azure), hyperv));
    assert_eq!(
        of(&[
            ("sys_vendor", "Alibaba Cloud"),
            ("product_name", "Alibaba Cloud ECS")
        ])
        .0,
        Some(Cloud::Alibaba)
    );
    assert_eq!(of(&[("sys_vendor", "Hetzner")]).0, Some(Cloud::Other));
    assert_eq!(
        of(&[
            ("sys_vendor", "VMware, Inc."),
            ("product_name", "VMware7,1")
        ]),
        (None, Some("vmware".to_owned()))
    );
    assert_eq!(
        of(&[
            ("sys_vendor", "Microsoft Corporation"),
            ("product_name", "Surface Pro")
        ]),
        (None, None)
    );
}

const AZURE: &str = "7783-7084-3265-9085-8269-3286-77";

#[test]
fn an_unknown_hypervisor_is_detected_by_the_cpu_flag() {
    let source = MemorySource::new().file("proc/cpuinfo", "flags\t\t: fpu hypervisor\n");
    assert_eq!(platform(&source).hypervisor.as_deref(), Some("other"));
}

#[test]
fn xens_first_domain_is_the_host() {
    let source = MemorySource::new()
        .file("sys/hypervisor/type", "xen\n")
        .file("proc/xen/capabilities", "control_d\n");
    assert_eq!(platform(&source).hypervisor, None);
}

#[test]
fn containers_are_recognized() {
    let of = |source: MemorySource| platform(&source).container;
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(
        of(MemorySource::new().file(".dockerenv", "")),
        name("docker")
    );
    assert_eq!(
        of(MemorySource::new().file("proc/1/cgroup", "4:memory:/docker/0123\n")),
        name("docker")
    );
    assert_eq!(
        of(MemorySource::new()
            .file(
                "run/.containerenv",
                "engine=\"podman-4\"\nname=\"s3cret\"\n"
            )
            .file(".dockerenv", "")),
        name("podman")
    );
    assert_eq!(
        of(MemorySource::new().file("run/systemd/container", "lxc")),
        name("lxc")
    );
    assert_eq!(
        of(MemorySource::new().file("run/systemd/container", "oci")),
        name("other")
    );
    assert_eq!(
        of(MemorySource::new().file(
            "proc/sys/kernel/osrelease",
            "5.15.153.1-microsoft-standard-WSL2\n"
        )),
        name("wsl")
    );
    assert_eq!(
        of(MemorySource::new().file("proc/1/cgroup", "0::/init.scope\n")),
        None
    );
}

#[test]
fn a_time_zone_is_a_name() {
    let zone = |target: &str| host(&MemorySource::new().symlink("etc/localtime", target)).time_zone;
    assert_eq!(zone("/etc/s3cret"), None);
    assert_eq!(zone("/usr/share/zoneinfo/../../../s3cret"), None);
    assert_eq!(
        zone("/usr/share/zoneinfo/America/Argentina/Buenos_Aires").as_deref(),
        Some("America/Argentina/Buenos_Aires")
    );
}

#[test]
fn elastic_cloud_enterprise_by_its_storage() {
    let of = |source: MemorySource| {
        let reader = Reader::new(&source);
        let mut host = Host::default();
        crate::collect::stores::read(&reader, &Options::default(), &mut host);
        host.platform.elastic_cloud_enterprise
    };
    assert_eq!(
        of(MemorySource::new().file("mnt/data/elastic/bootstrap-state/x.json", "")),
        Some("mnt/data/elastic/bootstrap-state".to_owned())
    );
    assert_eq!(
        of(MemorySource::new().directory("mnt/data/elastic/172.16.0.10/services/runners/x")),
        Some("mnt/data/elastic/172.16.0.10/services/runners".to_owned())
    );
    // A common path for the volumes of a plain Elasticsearch in Docker.
    assert_eq!(
        of(MemorySource::new().directory("mnt/data/elastic/es-data/nodes")),
        None
    );
    assert_eq!(of(MemorySource::new()), None);
}

#[test]
fn nothing_is_known_of_an_empty_tree() {
    let host = crate::read_host(
        &Reader::new(&MemorySource::new()),
        &Options::default(),
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!(host.platform, Platform::default());
    assert_eq!(host.time_zone, None);
}
