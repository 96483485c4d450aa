use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The platform that the host runs on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Platform {
    /// Host name.
    pub host_name: Option<String>,
    /// `ID` of os-release: `debian`, `centos`, `ubuntu`.
    pub distribution: Option<String>,
    /// `VERSION_ID` of os-release.
    pub distribution_version: Option<String>,
    /// `PRETTY_NAME` of os-release.
    pub distribution_name: Option<String>,
    /// Kernel release: `6.1.0-56-amd64`.
    pub kernel_release: Option<String>,
    /// DMI system vendor.
    pub dmi_vendor: Option<String>,
    /// DMI product name.
    pub dmi_product: Option<String>,
    /// Cloud provider, if DMI or a drive identifies one.
    pub cloud: Option<Cloud>,
    /// Hypervisor: `kvm`, `xen`, `vmware`, `hyperv`, `qemu`; `None` on bare metal or if unknown.
    pub hypervisor: Option<String>,
    /// `docker`, `podman`, `lxc`, ...: this process runs in a container and does not see the host.
    pub container: Option<String>,
    /// Evidence that this is an Elastic Cloud Enterprise host.
    pub elastic_cloud_enterprise: Option<String>,
    /// Seconds since boot.
    pub uptime_s: Option<f64>,
    /// Whether systemd is the init system.
    pub systemd: Option<bool>,
}

impl Platform {
    /// Returns the kernel version as (major, minor), for comparisons: `(6, 1)`.
    pub fn kernel_version(&self) -> Option<(u32, u32)> {
        let release = self.kernel_release.as_deref()?;
        let mut numbers = release.split(|c: char| !c.is_ascii_digit());
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some((major, minor))
    }
}

/// A cloud provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cloud {
    /// Amazon EC2.
    Aws,
    /// Google Compute Engine.
    Gcp,
    /// Microsoft Azure.
    Azure,
    /// Alibaba Cloud.
    Alibaba,
    /// Another provider identified by DMI.
    Other,
}
