use crate::source::Reader;
use facts::host::{Cloud, Platform};

/// The asset tag of Azure virtual machines (from cloud-init's `ds-identify`).
const AZURE_ASSET_TAG: &str = "7783-7084-3265-9085-8269-3286-77";

/// DMI fields. Missing fields are empty.
#[derive(Debug, Default)]
struct Dmi {
    vendor: String,
    product: String,
    product_version: String,
    bios_vendor: String,
    bios_version: String,
    board_vendor: String,
    asset_tag: String,
}

impl Dmi {
    fn read(reader: &Reader<'_>) -> Self {
        let attribute = |name: &str| {
            reader
                .attribute(&format!("sys/class/dmi/id/{name}"))
                .unwrap_or_default()
        };
        Self {
            vendor: attribute("sys_vendor"),
            product: attribute("product_name"),
            product_version: attribute("product_version"),
            bios_vendor: attribute("bios_vendor"),
            bios_version: attribute("bios_version"),
            board_vendor: attribute("board_vendor"),
            asset_tag: attribute("chassis_asset_tag"),
        }
    }
}

/// Reads DMI and derives cloud and hypervisor.
pub(super) fn read(reader: &Reader<'_>, platform: &mut Platform) {
    let dmi = Dmi::read(reader);
    platform.cloud = cloud(reader, &dmi);
    platform.hypervisor = hypervisor(reader, &dmi).map(str::to_owned);
    platform.dmi_vendor = Some(dmi.vendor).filter(|vendor| !vendor.is_empty());
    platform.dmi_product = Some(dmi.product).filter(|product| !product.is_empty());
}

/// System vendors of clouds that are not distinguished.
const OTHER_VENDORS: [&str; 16] = [
    "Akamai",
    "CloudSigma",
    "DigitalOcean",
    "Exoscale",
    "e24cloud",
    "Hetzner",
    "Huawei Cloud",
    "Linode",
    "OpenStack Foundation",
    "OVHcloud",
    "Scaleway",
    "Tencent Cloud",
    "UpCloud",
    "Vultr",
    "Yandex",
    "ZStack",
];

/// Detects the cloud by the same signs as cloud-init's ds-identify.
fn cloud(reader: &Reader<'_>, dmi: &Dmi) -> Option<Cloud> {
    let is_xen_of_amazon = || {
        [&dmi.bios_version, &dmi.product_version]
            .iter()
            .any(|version| version.to_ascii_lowercase().contains("amazon"))
    };
    if dmi.vendor == "Amazon EC2" || dmi.bios_vendor == "Amazon EC2" || is_xen_of_amazon() {
        return Some(Cloud::Aws);
    }
    // Google also makes laptops.
    if dmi.vendor == "Google" && dmi.product.starts_with("Google") {
        return Some(Cloud::Gcp);
    }
    if dmi.asset_tag == AZURE_ASSET_TAG {
        return Some(Cloud::Azure);
    }
    if dmi.vendor.starts_with("Alibaba Cloud") || dmi.product.starts_with("Alibaba Cloud") {
        return Some(Cloud::Alibaba);
    }
    let is_other = OTHER_VENDORS
        .iter()
        .any(|vendor| dmi.vendor.starts_with(vendor))
        || dmi.product.starts_with("OpenStack ")
        || matches!(
            dmi.asset_tag.as_str(),
            "OracleCloud.com" | "OpenTelekomCloud" | "HUAWEICLOUD"
        );
    if is_other {
        return Some(Cloud::Other);
    }
    // Paravirtualized Xen guests have no DMI.
    let uuid = reader.attribute("sys/hypervisor/uuid")?;
    uuid.to_ascii_lowercase()
        .starts_with("ec2")
        .then_some(Cloud::Aws)
}

/// DMI strings of hypervisors and their names, in the order of systemd's `detect_vm_dmi_vendor`
/// (src/basic/virt.c).
const HYPERVISORS: [(&str, &str); 15] = [
    ("KVM", "kvm"),
    ("OpenStack", "kvm"),
    ("KubeVirt", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "hyperv"),
    ("Apple Virtualization", "apple"),
    ("Google Compute Engine", "kvm"),
];

fn hypervisor(reader: &Reader<'_>, dmi: &Dmi) -> Option<&'static str> {
    if dmi.vendor == "Amazon EC2" {
        // `m5.metal`, `c5.metal-24xl`.
        let is_metal = dmi
            .product
            .split_once(".metal")
            .is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with('-'));
        return (!is_metal).then_some("kvm");
    }
    // Surface laptops have the same vendor.
    if dmi.vendor == "Microsoft Corporation" && dmi.product == "Virtual Machine" {
        return Some("hyperv");
    }
    let by_dmi = [
        &dmi.product,
        &dmi.vendor,
        &dmi.board_vendor,
        &dmi.bios_vendor,
        &dmi.product_version,
    ]
    .into_iter()
    .find_map(|text| {
        HYPERVISORS
            .iter()
            .find(|(start, _)| text.starts_with(start))
            .map(|(_, name)| *name)
    });
    if by_dmi.is_some() {
        return by_dmi;
    }
    if reader.attribute("sys/hypervisor/type").as_deref() == Some("xen") {
        // Dom0 runs on the hardware itself.
        let capabilities = reader
            .attribute("proc/xen/capabilities")
            .unwrap_or_default();
        return (!capabilities.contains("control_d")).then_some("xen");
    }
    let flags = reader.attribute("proc/cpuinfo")?;
    flags.contains("hypervisor").then_some("other")
}
