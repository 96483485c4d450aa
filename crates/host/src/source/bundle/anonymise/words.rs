//! Names that identify nobody.

/// Words that replacements are made of, each followed by a number.
pub(super) const NUMBERED: [&str; 5] = ["host", "domain", "cluster", "user", "serial"];
/// Users created by packages and images on hosts everywhere.
const USERS: &str = "\
    _apt _chrony abrt adm admin almalinux anacron apache arangodb avahi azureuser backup bin \
    cassandra centos ceph chrony cinder clickhouse cloud-user cockroach colord consul core couchdb \
    cron daemon dbus debian dnsmasq docker ec2-user elastic elasticsearch etcd fedora ftp \
    fwupd-refresh games geoclue git gnats grafana halt haproxy hdfs influxdb irc jenkins kafka \
    kibana landscape libstoragemgmt libvirt-qemu list log logstash lp lxd mail man mariadb \
    memcached messagebus minio mongo mongod mongodb munin mysql nagios named neo4j news nfsnobody \
    nginx nobody node_exporter nogroup nrpe ntp opc opensearch opensearch-dashboards operator \
    oracle pcp pgbouncer polkitd pollinate postfix postgres prometheus proxy rabbitmq redis riak \
    rocky root rpc rpcuser rtkit scylla setroubleshoot shutdown snmp solr sshd sssd statd stunnel4 \
    sync sys syslog systemd-bus-proxy systemd-coredump systemd-journal systemd-network systemd-oom \
    systemd-resolve systemd-timesync tcpdump telegraf tomcat tss ubuntu unbound unscd usbmux uucp \
    uuidd vagrant victoriametrics wazuh wheel www-data zabbix zookeeper";

/// Words with a meaning in the files of a bundle. A host or user with such a name keeps it: the
/// name does not identify its owner, and replacing it everywhere would change what the files mean.
const TERMS: &str = "\
    aarch64 active all amazon amd64 arm64 aws azure backup backups bcache bin bind block boot \
    btrfs bus check cifs class cluster codec command compress conf config container cpu cron \
    crontabs crypt daily data db dbpath default defaults dev device devices discard disk disks dm \
    dump enabled engine etc example exec export ext ext2 ext3 ext4 f2fs false fedora fs fstrim \
    fuse gcp gentoo google hold home host hourly hyperv ignore index indices job jobs journal \
    kernel kvm lib linear linux local localdomain localhost log logs loop luks lv lvm lxc lzo \
    mapper master md media mirror mnt module monthly mount multipath name net network nfs nfs4 no \
    node nodes none null nvme off on opt oracle overlay partition path paths pci podman pool \
    primary proc prod production pv qemu queue quota raid raid0 raid1 raid10 raid5 raid6 reboot \
    relatime replica replication rhel ro rs rs0 run rw sata sbin scrub scsi sd search security \
    self server service settings shard shards share slaves snap spool srv ssd staging storage \
    stripe striped subvol suse swap system systemd target test thin timer tmp tmpfs trim true unit \
    unknown usb user users usr var vda vdo version vg virtio virtual vm vmware volume volumes \
    weekly wiredtiger x86 xen xfs yearly yes zfs zlib zram zstd";

/// Placeholders that firmware reports if no serial number was set.
const PLACEHOLDER_SERIALS: &[&str] = &[
    "0",
    "default string",
    "n/a",
    "na",
    "none",
    "not applicable",
    "not available",
    "not specified",
    "no asset information",
    "no asset tag",
    "system serial number",
    "to be filled by o.e.m.",
    "unknown",
    "amazon ec2",
    "google",
    "oraclecloud.com",
    "digitalocean",
    "openstack foundation",
    "huaweicloud",
    // Azure's asset tag, the same on all machines.
    "7783-7084-3265-9085-8269-3286-77",
];

/// Whether a user, group, host or cluster name is too common to identify anyone.
pub(super) fn is_common(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    let is_in = |words: &str| words.split_ascii_whitespace().any(|word| word == name);
    is_in(USERS) || is_in(TERMS) || name.starts_with("systemd-")
}

/// Whether a serial number is only a placeholder.
pub(super) fn is_placeholder_serial(serial: &str) -> bool {
    PLACEHOLDER_SERIALS.contains(&serial.trim().to_ascii_lowercase().as_str())
}
