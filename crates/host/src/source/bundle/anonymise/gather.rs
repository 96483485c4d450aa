//! The first pass: gathers the names, serial numbers and addresses in a recording.

use super::token::{Pattern, tokens};
use super::words::{NUMBERED, is_common, is_placeholder_serial};
use crate::source::Recording;
use std::collections::{BTreeSet, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// What was gathered. Sets are sorted, so that numbering does not depend on the order of discovery.
#[derive(Default)]
pub(super) struct Gathered {
    /// Host names without a domain, in lower case.
    pub(super) hosts: BTreeSet<String>,
    /// Host names as written.
    pub(super) host_forms: BTreeSet<String>,
    /// Hosts and their domains, as written.
    pub(super) full_hosts: BTreeSet<(String, String)>,
    /// Domains with at least two labels.
    pub(super) domains: BTreeSet<String>,
    pub(super) clusters: BTreeSet<String>,
    pub(super) users: BTreeSet<String>,
    /// Serial numbers and other names of individual hardware.
    pub(super) serials: BTreeSet<String>,
    /// Names below `dev/disk/by-id`, without `-partN`.
    pub(super) disk_ids: BTreeSet<String>,
    /// Values after `UUID=` that do not have the form of a UUID: FAT, NTFS, MBR.
    pub(super) volume_ids: BTreeSet<String>,
    pub(super) uuids: BTreeSet<String>,
    pub(super) lvm_uuids: BTreeSet<String>,
    pub(super) macs: BTreeSet<String>,
    pub(super) ipv4: BTreeSet<Ipv4Addr>,
    pub(super) ipv6: BTreeSet<Ipv6Addr>,
    /// Names that are kept although they were found: those of the host's block devices, and of
    /// settings.
    pub(super) kept: HashSet<String>,
    /// Words that attributes and settings are composed of (`discard_max_bytes`): a user `max` is
    /// replaced only as a whole token.
    pub(super) composing: HashSet<String>,
    /// The largest number already used in a name that looks like one of our replacements.
    pub(super) taken: u32,
}

/// Longer than any host, drive or file name.
const NAME_BYTES_MAX: usize = 256;

/// Settings that contain a cluster name; the last part of a key is compared.
const CLUSTER_SETTINGS: &[&str] = &["cluster.name", "replSetName", "replSet"];
/// Settings that contain host names.
const HOST_SETTINGS: &[&str] = &[
    "bindIp",
    "bind_host",
    "bind_ip",
    "configDB",
    "configdb",
    "host",
    "hosts",
    "initial_master_nodes",
    "node.name",
    "publish_host",
    "seed_hosts",
];
/// Attributes whose whole content identifies individual hardware.
const SERIAL_FILES: &[&str] = &[
    "board_asset_tag",
    "board_serial",
    "chassis_asset_tag",
    "chassis_serial",
    "eui",
    "nguid",
    "product_serial",
    "serial",
    "subsysnqn",
    "unique_id",
    "vpd_pg80",
    "vpd_pg83",
    "wwid",
    "wwn",
];
/// Prefixes of names below `by-id` that are followed by model and serial number. Others
/// (`dm-uuid-`, `lvm-pv-uuid-`, `md-name-`) contain UUIDs and names that are found separately.
const DISK_ID_KINDS: &[&str] = &[
    "ata", "google", "ieee1394", "mmc", "nvme", "scsi", "usb", "virtio", "wwn",
];
/// Directories of user crontabs.
const CRONTABS: &[&str] = &[
    "var/spool/cron/crontabs",
    "var/spool/cron/tabs",
    "var/spool/cron",
];

/// Whether the whole content of a file is a serial number.
pub(super) fn is_serial_file(path: &str) -> bool {
    path.starts_with("sys/") && SERIAL_FILES.iter().any(|name| last_part(path) == *name)
}

/// Whether the whole content of a file is the host's name.
pub(super) fn is_host_name_file(path: &str) -> bool {
    matches!(path, "proc/sys/kernel/hostname" | "etc/hostname")
}

/// Whether dotted quads in a file may be addresses. In the files listed here they are versions.
pub(super) fn may_hold_addresses(path: &str) -> bool {
    const VERSIONS: &[&str] = &[
        "firmware_rev",
        "model",
        "os-release",
        "osrelease",
        "rev",
        "status",
        "version",
    ];
    !VERSIONS.contains(&last_part(path))
}

/// Splits a name below `by-id` into prefix, serial part, and `-partN`; `None` if it is not a
/// drive's.
pub(super) fn split_disk_id(name: &str) -> Option<(&str, &str, &str)> {
    let (kind, _) = name.split_once('-')?;
    if !DISK_ID_KINDS.contains(&kind) {
        return None;
    }
    let (id, part) = match name.rsplit_once("-part") {
        Some((id, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            (id, &name[id.len()..])
        }
        _ => (name, ""),
    };
    Some((kind, id, part))
}

/// Returns the name at the start of running text; empty if it is longer than any name.
pub(super) fn name_at(text: &str) -> &str {
    let mut end = text.len().min(NAME_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    match name_end(head) {
        Some(len) => &head[..len],
        None if end == text.len() => head,
        None => "",
    }
}

fn name_end(text: &str) -> Option<usize> {
    text.find(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '/' | '"' | '\'' | ',' | ';' | ')' | '(' | '=' | '\0' | '|' | '&' | '<' | '>'
            )
    })
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Gathered {
    /// Gathers everything in a recording.
    pub(super) fn of(recording: &Recording) -> Self {
        let mut found = Self::default();
        let texts = Texts::of(recording);
        for path in texts.short.iter().filter(|path| path.starts_with("sys/")) {
            found.add_composing(path);
        }
        for (path, text) in &texts.files {
            if !path.starts_with("sys/") && last_part(path).contains('.') {
                found.add_keys(text);
            }
        }
        for (_, text) in &texts.commands {
            found.add_keys(text);
        }
        for (path, names) in &recording.lists {
            let Ok(names) = names else { continue };
            match path.as_str() {
                "sys/block" | "sys/class/block" => found.kept.extend(names.iter().cloned()),
                "home" => {
                    for name in names {
                        found.add_user(name);
                    }
                }
                _ if CRONTABS.contains(&path.as_str()) => {
                    for name in names {
                        found.add_crontab_owner(name);
                    }
                }
                _ if path.ends_with("/by-id") => {
                    for name in names {
                        found.add_disk_id(name);
                    }
                }
                _ => {}
            }
        }
        for (path, text) in &texts.files {
            found.add_file(path, text);
        }
        for (_, text) in &texts.commands {
            found.add_units(text);
        }
        for text in texts.all() {
            found.add_text(text);
        }
        for (path, text) in texts.files.iter().chain(&texts.commands) {
            found.add_patterns(text, may_hold_addresses(path));
        }
        for text in &texts.short {
            found.add_patterns(text, true);
        }
        found
    }

    fn add_composing(&mut self, text: &str) {
        for token in tokens(text.as_bytes()) {
            for index in 0..token.atoms.len() {
                self.composing.extend(token.span(index, 1));
            }
        }
    }

    /// Adds the keys before `: ` or `=` at the start of lines.
    fn add_keys(&mut self, text: &str) {
        for line in text.lines() {
            let ends = [line.find(": "), line.find('=')];
            let Some(end) = ends.into_iter().flatten().min() else {
                continue;
            };
            let key = &line[..end];
            let key = key.trim().trim_matches('"');
            if !key.contains(char::is_whitespace) {
                self.kept.insert(key.to_owned());
                self.add_composing(key);
            }
        }
    }

    fn add_file(&mut self, path: &str, text: &str) {
        if is_host_name_file(path) {
            self.add_host(text.trim());
        } else if is_serial_file(path) {
            self.add_serial(text.trim_matches(|c: char| c.is_whitespace() || c == '\0'));
        } else if path == "etc/crontab" || path.starts_with("etc/cron.d/") {
            self.add_crontab(text);
        } else if path.ends_with("/mountinfo") || path == "etc/fstab" {
            self.add_mount_sources(text);
        } else if path.ends_with("/cmdline") {
            self.add_arguments(text);
        } else if path.contains("/systemd/") {
            self.add_units(text);
        } else if last_part(path).contains('.') {
            self.add_settings(text);
        }
        if let Some((directory, owner)) = path.rsplit_once('/')
            && CRONTABS.contains(&directory)
        {
            self.add_crontab_owner(owner);
        }
    }

    fn may_replace(&self, name: &str) -> bool {
        !name.is_empty()
            && !is_common(name)
            && !self.kept.contains(name)
            // Variables, patterns, and the kernel's `(none)`.
            && !name.contains(['$', '*', '%', '{', '/', '('])
            && !name.starts_with(['_', '.'])
    }

    /// Adds a host as written: short or with its domain, with or without a port, or an address.
    fn add_host(&mut self, name: &str) {
        let name = name
            .trim_matches(['"', '\'', '[', ']'])
            .trim_end_matches('.');
        let name = match name.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => name,
        };
        if name.parse::<std::net::IpAddr>().is_ok() || !self.may_replace(name) {
            return;
        }
        match name.split_once('.') {
            None => self.add_short_host(name),
            Some((host, domain)) if self.may_replace(host) => {
                self.add_domain(domain);
                self.add_full_host(host, domain);
            }
            Some(_) => {}
        }
    }

    fn add_short_host(&mut self, host: &str) {
        self.hosts.insert(host.to_ascii_lowercase());
        self.host_forms.insert(host.to_owned());
    }

    fn add_full_host(&mut self, host: &str, domain: &str) {
        self.add_short_host(host);
        self.full_hosts.insert((host.to_owned(), domain.to_owned()));
    }

    fn add_domain(&mut self, domain: &str) {
        // EC2's own domain, the same for everybody.
        if domain.contains('.') && domain != "ec2.internal" && self.may_replace(domain) {
            self.domains.insert(domain.to_owned());
        }
    }

    fn add_user(&mut self, name: &str) {
        let is_name = name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-') || b >= 0x80);
        if is_name && self.may_replace(name) {
            self.users.insert(name.to_owned());
        }
    }

    fn add_crontab_owner(&mut self, name: &str) {
        // Other directories next to the crontabs.
        if !matches!(name, "crontabs" | "tabs" | "atjobs" | "atspool" | "lastrun") {
            self.add_user(name);
        }
    }

    fn add_serial(&mut self, serial: &str) {
        if serial.is_empty() || is_placeholder_serial(serial) {
            return;
        }
        self.serials.insert(serial.to_owned());
        // `t10.ATA     MODEL      SERIAL`: the last word.
        if let Some(last) = serial.split_whitespace().last() {
            self.serials.insert(last.to_owned());
        }
        // `naa.5002...` is `wwn-0x5002...` elsewhere.
        if let Some((kind, id)) = serial.split_once('.')
            && matches!(kind, "naa" | "eui" | "uuid")
        {
            self.serials.insert(id.to_owned());
            self.serials.insert(format!("0x{id}"));
        }
    }

    fn add_disk_id(&mut self, name: &str) {
        if let Some((_, id, _)) = split_disk_id(name) {
            self.disk_ids.insert(id.to_owned());
        }
    }

    /// Adds the users of crontabs with a user column: crontab(5).
    fn add_crontab(&mut self, text: &str) {
        for line in text.lines() {
            let mut fields = line.split_whitespace();
            match line.trim_start().as_bytes().first() {
                Some(b'@') => {
                    fields.nth(1).inspect(|user| self.add_user(user));
                }
                Some(b'*' | b'0'..=b'9') => {
                    fields.nth(5).inspect(|user| self.add_user(user));
                }
                _ => {
                    let Some(to) = line.trim_start().strip_prefix("MAILTO") else {
                        continue;
                    };
                    for address in to.split(['=', ',', ' ', '"', '\'']) {
                        let (user, domain) = address.split_once('@').unwrap_or((address, ""));
                        self.add_user(user);
                        self.add_domain(domain);
                    }
                }
            }
        }
    }

    /// Adds `User=` and `Group=` of units and of `systemctl show`.
    fn add_units(&mut self, text: &str) {
        for line in text.lines() {
            if let Some((key, value)) = line.split_once('=')
                && matches!(key.trim(), "User" | "Group")
            {
                self.add_user(value.trim());
            }
        }
    }

    /// Adds the servers of network mounts, `server:/path`, `a,b:/path` and `//server/share`,
    /// anywhere in a line.
    fn add_mount_sources(&mut self, text: &str) {
        for field in text.split_whitespace() {
            if let Some(rest) = field.strip_prefix("//") {
                self.add_host(name_at(rest));
            } else if let Some((servers, _)) = field.split_once(":/")
                && !servers.contains(['/', '='])
            {
                for server in servers.split(',') {
                    let server = match server.rsplit_once('@') {
                        Some((user, server)) => {
                            self.add_user(user);
                            server
                        }
                        None => server,
                    };
                    self.add_host(server);
                }
            }
        }
    }

    fn add_setting(&mut self, key: &str, value: &str) {
        let key = key.trim().trim_matches(['"', '\'']);
        let key = key.split('[').next().unwrap_or(key);
        let is_one_of = |known: &[&str]| {
            known.iter().any(|name| {
                key.strip_suffix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        let parts = value
            .split(|c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'' | '[' | ']'))
            .filter(|part| !part.is_empty());
        if is_one_of(CLUSTER_SETTINGS) {
            for name in parts {
                if self.may_replace(name) {
                    self.clusters.insert(name.to_owned());
                }
            }
        } else if is_one_of(HOST_SETTINGS) {
            // `rs0/a:27019,b:27019` of configDB.
            for host in parts {
                self.add_host(host.rsplit('/').next().unwrap_or(host));
            }
        }
    }

    /// Adds settings in the form `key: value` or `key = value`.
    fn add_settings(&mut self, text: &str) {
        for line in text.lines() {
            let pair = line.split_once(": ").or_else(|| line.split_once('='));
            if let Some((key, value)) = pair {
                self.add_setting(key, value);
            }
        }
    }

    /// Adds settings in the form `-Ekey=value`, `--key=value`, `--key value`.
    fn add_arguments(&mut self, text: &str) {
        let mut arguments = text.split('\0').peekable();
        while let Some(argument) = arguments.next() {
            let name = argument.trim_start_matches('-');
            let name = match argument.get(..2) {
                Some("-E" | "-D") => &name[1..],
                _ => name,
            };
            match name.split_once('=') {
                Some((key, value)) => self.add_setting(key, value),
                None if argument.starts_with("--") => {
                    if let Some(value) = arguments.peek() {
                        self.add_setting(name, value);
                    }
                }
                // `-E key=value`.
                None => {}
            }
        }
    }

    /// Adds names that are recognized by the preceding words, in any text.
    fn add_text(&mut self, text: &str) {
        for (at, _) in text.match_indices("home/") {
            if text[..at]
                .chars()
                .next_back()
                .is_none_or(|c| !c.is_alphanumeric())
            {
                let rest = &text[at + "home/".len()..];
                let name = name_at(rest);
                self.add_user(name.split(':').next().unwrap_or(name));
            }
        }
        for (at, found) in text.match_indices("by-id/") {
            let rest = &text[at + found.len()..];
            self.add_disk_id(name_at(rest));
        }
        for marker in ["UUID=", "by-uuid/", "by-partuuid/"] {
            for (at, _) in text.match_indices(marker) {
                let rest = text[at + marker.len()..].trim_start_matches('"');
                self.add_volume_id(name_at(rest));
            }
        }
        for (marker, whole) in [
            ("iqn.", true),
            ("nqn.", true),
            ("nvme.", true),
            ("mpath-", false),
        ] {
            for (at, _) in text.match_indices(marker) {
                let from = if whole { at } else { at + marker.len() };
                let rest = &text[from..];
                let name = name_at(rest);
                // Followed by a date, a vendor's number, or a world wide name.
                if name.bytes().filter(u8::is_ascii_digit).count() >= 4 {
                    self.serials.insert(name.to_owned());
                }
            }
        }
    }

    fn add_volume_id(&mut self, id: &str) {
        let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit());
        let known = match id.split_once('-') {
            // FAT.
            Some((a, b)) if a.len() == 4 && b.len() == 4 && is_hex(a) && is_hex(b) => id,
            // Partition of an MBR disk.
            Some((disk, part)) if disk.len() == 8 && part.len() == 2 && is_hex(disk) => disk,
            // NTFS.
            None if id.len() == 16 && is_hex(id) => id,
            _ => return,
        };
        self.volume_ids.insert(known.to_owned());
    }

    /// Adds identifiers recognized by their form, and hosts of the domains known by now.
    fn add_patterns(&mut self, text: &str, addresses: bool) {
        for token in tokens(text.as_bytes()) {
            if let Some(address) = token.ipv6() {
                self.ipv6.insert(address);
                continue;
            }
            self.add_host_of_known_domain(token.bytes);
            let mut index = 0;
            while index < token.atoms.len() {
                self.note_taken(token.atom(index));
                let Some((pattern, count)) = token.pattern_at(index, addresses) else {
                    index += 1;
                    continue;
                };
                match pattern {
                    Pattern::Uuid(digits, _) => {
                        self.uuids.insert(digits);
                    }
                    Pattern::Lvm(ids, _) => self.lvm_uuids.extend(ids),
                    Pattern::Mac(address) => {
                        self.macs.insert(address);
                    }
                    Pattern::Ipv4(address) => {
                        self.ipv4.insert(address);
                    }
                    Pattern::Ipv6(address) => {
                        self.ipv6.insert(address);
                    }
                }
                index += count;
            }
        }
    }

    fn add_host_of_known_domain(&mut self, token: &[u8]) {
        let Ok(token) = std::str::from_utf8(token) else {
            return;
        };
        let name = token.split(':').next().unwrap_or(token);
        if let Some((host, domain)) = name.split_once('.')
            && self.domains.contains(domain)
            && self.may_replace(host)
        {
            self.add_full_host(host, domain);
        }
    }

    /// Records the number in a word such as `host7`, so that no replacement reuses it.
    fn note_taken(&mut self, atom: &[u8]) {
        let Ok(atom) = std::str::from_utf8(atom) else {
            return;
        };
        let number = NUMBERED
            .iter()
            .find_map(|word| atom.strip_prefix(word)?.parse::<u32>().ok());
        // Replacements never get to larger numbers.
        if let Some(number) = number.filter(|&number| number < 1_000_000) {
            self.taken = self.taken.max(number);
        }
    }
}

/// The texts of a recording; parts that are not UTF-8 are left out.
struct Texts {
    files: Vec<(String, String)>,
    commands: Vec<(String, String)>,
    /// Paths, names and link targets.
    short: Vec<String>,
}

impl Texts {
    fn of(recording: &Recording) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut short = Vec::new();
        for (path, names) in &recording.lists {
            short.push(path.clone());
            short.extend(names.iter().flatten().cloned());
        }
        for (path, link) in &recording.links {
            short.push(path.clone());
            short.extend(link.iter().cloned());
        }
        short.extend(recording.stats.keys().cloned());
        short.extend(recording.files.keys().cloned());
        Self {
            files: recording
                .files
                .iter()
                .filter_map(|(path, bytes)| Some((path.clone(), text(bytes.as_ref().ok()?))))
                .collect(),
            commands: recording
                .commands
                .iter()
                .filter_map(|(name, bytes)| Some((name.clone(), text(bytes.as_ref().ok()?))))
                .collect(),
            short,
        }
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.files
            .iter()
            .chain(&self.commands)
            .map(|(_, text)| text.as_str())
            .chain(self.short.iter().map(String::as_str))
    }
}
