//! Replaces what identifies the host of a bundle: host, domain, cluster and user names, addresses,
//! serial numbers and UUIDs. Within one bundle the same name gets the same replacement everywhere.
//!
//! Replacements are numbered: `host1`, `user2`, `serial3`, consecutive addresses of 10.0.0.0/8 and
//! `fd00::/8`, UUIDs that end in a number. A number reveals nothing about the name, even to someone
//! who guesses it; the salt only determines the order of numbering, so that not even the
//! alphabetical order is revealed. Replacements contain no hyphens, since LVM and systemd escape
//! hyphens in names in their own ways.
//!
//! There are two passes: the first gathers names whose position or form shows what they are, the
//! second replaces them as whole words, longest first.

mod gather;
mod token;
mod words;

use crate::command::DriveTool;
use crate::source::{Answers, Recording};
use crate::unread::Unread;
use gather::{
    Gathered, is_host_name_file, is_serial_file, may_hold_addresses, name_at, split_disk_id,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};
use token::{LVM_PARTS, Pattern, Token, UUID_PARTS, UuidShape, token_len};

/// Longer than any host name (RFC 1035: 253) and NVMe name (223).
const WORD_BYTES_MAX: usize = 256;
/// Maximum number of atoms in a name that is replaced as a whole.
const WORD_ATOMS_MAX: usize = 32;
/// Shorter names are replaced only where they form a whole token.
const PART_CHARS_MIN: usize = 3;

/// Returns the recording with its names replaced. `salt` is random for each bundle.
pub fn anonymise(recording: Recording, salt: &[u8; 16]) -> Recording {
    Anonymiser::new(&recording, salt).recording(recording)
}

/// The replacements for one recording.
pub struct Anonymiser {
    /// Replacements by word.
    words: HashMap<String, Word>,
    /// The first atoms of all words, to skip most atoms quickly.
    first_atoms: HashSet<String>,
    /// Number of atoms in the longest word.
    atoms_max: usize,
    serials: Numbers<String>,
    disk_ids: Numbers<String>,
    uuids: Numbers<String>,
    lvm_uuids: Numbers<String>,
    macs: Numbers<String>,
    ipv4: Numbers<Ipv4Addr>,
    ipv6: Numbers<Ipv6Addr>,
    hosts: Numbers<String>,
}

/// What to replace in a text.
#[derive(Clone, Copy)]
struct Replace {
    /// Gathered names; otherwise only identifiers recognized by their form.
    words: bool,
    /// Dotted quads; not where they are versions.
    ipv4: bool,
}

impl Replace {
    const ALL: Self = Self {
        words: true,
        ipv4: true,
    };
}

struct Word {
    replacement: String,
    /// Replaced only as a whole token.
    alone: bool,
}

/// Numbers from 1, in an order determined by the salt. Anything not gathered has number 0, which no
/// name gets.
struct Numbers<T>(HashMap<T, u32>);

impl<T: Hash + Eq + Ord> Numbers<T> {
    fn new(names: BTreeSet<T>, salt: &[u8; 16], taken: u32) -> Self {
        let mut names: Vec<(u64, T)> = names
            .into_iter()
            .map(|name| {
                // Not a secret in itself, see the module documentation.
                let mut hasher = DefaultHasher::new();
                salt.hash(&mut hasher);
                name.hash(&mut hasher);
                (hasher.finish(), name)
            })
            .collect();
        names.sort();
        Self(
            names
                .into_iter()
                .zip(taken + 1..)
                .map(|((_, name), number)| (name, number))
                .collect(),
        )
    }

    /// Sorted by name, so that the order of two equal words does not depend on chance.
    fn sorted(&self) -> Vec<(&T, u32)> {
        let mut sorted: Vec<(&T, u32)> = self
            .0
            .iter()
            .map(|(name, &number)| (name, number))
            .collect();
        sorted.sort();
        sorted
    }

    fn of<Q: Hash + Eq + ?Sized>(&self, name: &Q) -> u32
    where
        T: std::borrow::Borrow<Q>,
    {
        self.0.get(name).copied().unwrap_or(0)
    }
}

impl Anonymiser {
    /// Gathers what is to be replaced. `salt` is random for each bundle.
    pub fn new(recording: &Recording, salt: &[u8; 16]) -> Self {
        let found = Gathered::of(recording);
        let taken = found.taken;
        let hosts = Numbers::new(found.hosts, salt, taken);
        let domains = Numbers::new(found.domains, salt, taken);
        let clusters = Numbers::new(found.clusters, salt, taken);
        let users = Numbers::new(found.users, salt, taken);
        let serials = Numbers::new(found.serials, salt, taken);
        let volume_ids = Numbers::new(found.volume_ids, salt, 0);
        let mut made = Self {
            words: HashMap::new(),
            first_atoms: HashSet::new(),
            atoms_max: 0,
            serials: Numbers(HashMap::new()),
            disk_ids: Numbers::new(found.disk_ids, salt, taken),
            uuids: Numbers::new(found.uuids, salt, 0),
            lvm_uuids: Numbers::new(found.lvm_uuids, salt, 0),
            macs: Numbers::new(found.macs, salt, 0),
            ipv4: Numbers::new(found.ipv4, salt, 0),
            ipv6: Numbers::new(found.ipv6, salt, 0),
            hosts: Numbers(HashMap::new()),
        };
        // A name of two kinds is treated as the kind that comes first here.
        for host in &found.host_forms {
            let number = hosts.of(&host.to_ascii_lowercase());
            made.add_word(host, &format!("host{number}"), &found.composing);
        }
        for (host, domain) in &found.full_hosts {
            let number = hosts.of(&host.to_ascii_lowercase());
            let domain_name = match domains.of(domain) {
                0 => domain.clone(),
                number => format!("domain{number}"),
            };
            let replacement = format!("host{number}.{domain_name}");
            made.add_word(&format!("{host}.{domain}"), &replacement, &found.composing);
        }
        for (word, names) in [
            ("domain", &domains),
            ("cluster", &clusters),
            ("user", &users),
        ] {
            for (name, number) in names.sorted() {
                made.add_word(name, &format!("{word}{number}"), &found.composing);
            }
        }
        for (name, number) in volume_ids.sorted() {
            made.add_word(name, &in_shape(name, number), &found.composing);
        }
        for (name, number) in serials.sorted() {
            let is_distinct = name.len() > PART_CHARS_MIN
                && !found.kept.contains(name)
                && !words::is_common(name);
            if is_distinct {
                made.add_word(name, &format!("serial{number}"), &found.composing);
            }
        }
        made.hosts = hosts;
        made.serials = serials;
        made
    }

    fn add_word(&mut self, name: &str, replacement: &str, composing: &HashSet<String>) {
        // Digits alone are plain numbers in most places.
        if name.len() > WORD_BYTES_MAX
            || name.bytes().all(|b| b.is_ascii_digit())
            || token_len(name.as_bytes()) != name.len()
        {
            return;
        }
        let alone = name.chars().count() < PART_CHARS_MIN || composing.contains(name);
        for name in [
            name.to_owned(),
            name.to_ascii_lowercase(),
            name.to_ascii_uppercase(),
        ] {
            let token = Token::new(name.as_bytes());
            let count = token.atoms.len();
            if count == 0 || count > WORD_ATOMS_MAX {
                return;
            }
            // Normalized as in lookups: from the first atom to the last.
            let (Some(first), Some(key)) = (token.span(0, 1), token.span(0, count)) else {
                return;
            };
            self.first_atoms.insert(first);
            self.atoms_max = self.atoms_max.max(count);
            self.words.entry(key).or_insert_with(|| Word {
                replacement: replacement.to_owned(),
                alone,
            });
        }
    }

    /// Anonymizes a whole recording.
    pub fn recording(&self, recording: Recording) -> Recording {
        let list = |path: &str, names: Vec<String>| {
            let in_disk_ids = path.ends_with("/by-id");
            let replaced = names.iter().map(|name| match self.disk_id(name) {
                Some(replacement) if in_disk_ids => replacement,
                _ if path.starts_with("sys/") => self.patterns(name),
                _ => self.text(name),
            });
            let mut replaced: Vec<String> = replaced.collect();
            replaced.sort_unstable();
            replaced
        };
        let link = |path: &str, link: String| {
            if path.starts_with("sys/") {
                self.patterns(&link)
            } else {
                self.text(&link)
            }
        };
        // The filter leaves only fixed keys and numbers: a host with the same name as a key must not
        // break them.
        let is_numbers = |name: &str| {
            let prefixes = DriveTool::ALL.map(|tool| format!("{}_", tool.file_prefix()));
            prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        let commands = recording.commands.into_iter().map(|(name, answer)| {
            let replaced = match answer {
                Ok(bytes) if is_numbers(&name) => Ok(bytes),
                Ok(bytes) => Ok(self.bytes(&bytes, Replace::ALL)),
                Err(unread) => Err(self.unread(unread)),
            };
            (name, replaced)
        });
        Recording {
            files: self.answers(recording.files, |path, bytes| self.file(path, &bytes)),
            lists: self.answers(recording.lists, list),
            links: self.answers(recording.links, link),
            stats: self.answers(recording.stats, |_, stat| stat),
            commands: commands.collect(),
            data_paths: recording
                .data_paths
                .iter()
                .map(|path| self.text(path))
                .collect(),
        }
    }

    fn answers<T>(&self, answers: Answers<T>, replace: impl Fn(&str, T) -> T) -> Answers<T> {
        let replaced = answers.into_iter().map(|(path, answer)| {
            let answer = match answer {
                Ok(answer) => Ok(replace(&path, answer)),
                Err(unread) => Err(self.unread(unread)),
            };
            (self.path(&path), answer)
        });
        replaced.collect()
    }

    /// Anonymizes any text: a path, a name, a message.
    pub fn text(&self, text: &str) -> String {
        // Only whole words are replaced, and with ASCII.
        String::from_utf8_lossy(&self.bytes(text.as_bytes(), Replace::ALL)).into_owned()
    }

    /// Anonymizes a path in a recording: names in /sys and /proc are chosen by the kernel.
    fn path(&self, path: &str) -> String {
        if path.starts_with("sys/") {
            return self.patterns(path);
        }
        if path.starts_with("proc/") {
            return match path.split_once("/root/") {
                Some((process, path)) => format!("{process}/root/{}", self.text(path)),
                None => path.to_owned(),
            };
        }
        self.text(path)
    }

    /// Replaces only identifiers that are recognized by their form.
    fn patterns(&self, text: &str) -> String {
        let what = Replace {
            words: false,
            ..Replace::ALL
        };
        String::from_utf8_lossy(&self.bytes(text.as_bytes(), what)).into_owned()
    }

    fn unread(&self, unread: Unread) -> Unread {
        match unread {
            Unread::Malformed(why) => Unread::Malformed(self.text(&why)),
            Unread::Failed(why) => Unread::Failed(self.text(&why)),
            other => other,
        }
    }

    fn file(&self, path: &str, bytes: &[u8]) -> Vec<u8> {
        // Where the path determines what the content is, short and unusual names are replaced as
        // well.
        if is_serial_file(path) || is_host_name_file(path) {
            let text = String::from_utf8_lossy(bytes);
            let value = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
            let replacement = if is_serial_file(path) {
                self.serial(value)
            } else {
                let short = value.split('.').next().unwrap_or(value);
                let number = self.hosts.of(short);
                let tells_nothing = value.is_empty() || value == "(none)" || short == "localhost";
                match number {
                    // A word with other meanings elsewhere (`db`, `node`): replaced only here.
                    0 if !tells_nothing => Some("host0".to_owned()),
                    0 => None,
                    _ => (!value.contains('.')).then(|| format!("host{number}")),
                }
            };
            if let Some(replacement) = replacement {
                return format!("{replacement}\n").into_bytes();
            }
        }
        let what = Replace {
            ipv4: may_hold_addresses(path),
            ..Replace::ALL
        };
        self.bytes(bytes, what)
    }

    /// Replaces a serial number that is the only content of a file, keeping the prefix that shows
    /// its kind.
    fn serial(&self, value: &str) -> Option<String> {
        let number = self.serials.0.get(value)?;
        let kind = match value.split_once(['.', ':']) {
            Some((kind @ ("naa" | "eui" | "t10" | "uuid" | "nvme"), _)) => format!("{kind}."),
            _ if value.starts_with("nqn.") => "nqn.2014-08.org.nvmexpress:".to_owned(),
            _ => String::new(),
        };
        Some(format!("{kind}serial{number}"))
    }

    /// Replaces a name below `by-id`; `None` if its parts are replaced individually.
    fn disk_id(&self, name: &str) -> Option<String> {
        let (kind, id, part) = split_disk_id(name)?;
        Some(format!("{kind}-serial{}{part}", self.disk_ids.of(id)))
    }

    fn bytes(&self, text: &[u8], what: Replace) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        while at < text.len() {
            if out.ends_with(b"by-id/")
                && let Some((replacement, len)) = self.disk_id_at(&text[at..])
            {
                out.extend_from_slice(replacement.as_bytes());
                at += len;
                continue;
            }
            match token_len(&text[at..]) {
                0 => {
                    out.push(text[at]);
                    at += 1;
                }
                len => {
                    self.token(&Token::new(&text[at..at + len]), what, &mut out);
                    at += len;
                }
            }
        }
        out
    }

    fn disk_id_at(&self, text: &[u8]) -> Option<(String, usize)> {
        // Names below by-id are short; a hostile file may be one long line.
        let text = &text[..text.len().min(256)];
        let valid = match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&text[..error.valid_up_to()]).ok()?,
        };
        let name = name_at(valid);
        Some((self.disk_id(name)?, name.len()))
    }

    fn token(&self, token: &Token<'_>, what: Replace, out: &mut Vec<u8>) {
        if let Some(address) = token.ipv6() {
            out.extend_from_slice(self.pattern(&Pattern::Ipv6(address)).as_bytes());
            return;
        }
        let mut done = 0;
        let mut index = 0;
        while index < token.atoms.len() {
            let found = token
                .pattern_at(index, what.ipv4)
                .map(|(pattern, count)| (self.pattern(&pattern), count))
                .or_else(|| what.words.then(|| self.word_at(token, index)).flatten());
            let Some((replacement, count)) = found else {
                index += 1;
                continue;
            };
            let start = token.atoms[index].start;
            let end = token.atoms[index + count - 1].end;
            out.extend_from_slice(&token.bytes[done..start]);
            out.extend_from_slice(&hyphens_as_in(&token.bytes[start..end], &replacement));
            done = end;
            index += count;
        }
        out.extend_from_slice(&token.bytes[done..]);
    }

    /// Returns the longest word that starts at an atom.
    fn word_at(&self, token: &Token<'_>, first: usize) -> Option<(String, usize)> {
        let atom = std::str::from_utf8(token.atom(first)).ok()?;
        if !self.first_atoms.contains(atom) {
            return None;
        }
        let most = self.atoms_max.min(token.atoms.len() - first);
        (1..=most).rev().find_map(|count| {
            let word = self.words.get(&token.span(first, count)?)?;
            let is_alone = count == token.atoms.len();
            (is_alone || !word.alone).then(|| (word.replacement.clone(), count))
        })
    }

    fn pattern(&self, pattern: &Pattern) -> String {
        match pattern {
            Pattern::Uuid(digits, shape) => {
                let made = format!("00000000000040008000{:012x}", self.uuids.of(digits));
                // This prefix of a machine's UUID on Xen shows that it is one of Amazon's.
                let made = if digits.starts_with("ec2") {
                    format!("ec2{}", &made[3..])
                } else {
                    made
                };
                match shape {
                    UuidShape::Hyphens => divide(&made, &UUID_PARTS, '-'),
                    UuidShape::Compact => made,
                    UuidShape::Colons => divide(&made, &[8; 4], ':'),
                }
            }
            Pattern::Lvm(ids, divided) => {
                let made = ids
                    .iter()
                    .map(|id| format!("{:032}", self.lvm_uuids.of(id)));
                if *divided {
                    made.map(|id| divide(&id, &LVM_PARTS, '-')).collect()
                } else {
                    made.collect()
                }
            }
            Pattern::Mac(address) => {
                // Locally administered (IEEE 802, second bit of the first byte).
                let number = self.macs.of(address);
                let bytes = address.len().div_ceil(3);
                let mut made = "02".to_owned();
                for position in (0..bytes - 1).rev() {
                    let byte = number.checked_shr(8 * u32::try_from(position).unwrap_or(4));
                    let _ = write!(made, ":{:02x}", byte.unwrap_or(0) & 0xff);
                }
                made
            }
            Pattern::Ipv4(address) => {
                let number = self.ipv4.of(address) & 0x00ff_ffff;
                Ipv4Addr::from(0x0a00_0000 | number).to_string()
            }
            Pattern::Ipv6(address) => {
                let number = u128::from(self.ipv6.of(address));
                Ipv6Addr::from((0xfd00_u128 << 112) | number).to_string()
            }
        }
    }
}

/// Writes the hyphens of the replacement in the same way as in the text that it replaces.
fn hyphens_as_in(text: &[u8], replacement: &str) -> Vec<u8> {
    let holds = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    if holds(b"\\x2d") {
        replacement.replace('-', "\\x2d").into_bytes()
    } else if holds(b"--") {
        replacement.replace('-', "--").into_bytes()
    } else {
        replacement.as_bytes().to_vec()
    }
}

/// Splits a text into parts of these lengths.
fn divide(text: &str, parts: &[usize], between: char) -> String {
    let mut divided = String::with_capacity(text.len() + parts.len());
    let mut rest = text;
    for &len in parts {
        let (part, after) = rest.split_at(len.min(rest.len()));
        if !divided.is_empty() {
            divided.push(between);
        }
        divided.push_str(part);
        rest = after;
    }
    divided
}

/// Formats a number in hexadecimal in the shape of another one: `1A2B-3C4D` becomes `0000-0001`.
fn in_shape(text: &str, number: u32) -> String {
    let digits = text.chars().filter(|c| *c != '-').count();
    let made = format!("{number:0digits$X}");
    let mut made = made.chars();
    text.chars()
        .map(|c| {
            if c == '-' {
                '-'
            } else {
                made.next().unwrap_or('0')
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
