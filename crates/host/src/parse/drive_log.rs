//! Drives' own write counters, in the JSON output of smartctl and nvme-cli.
//!
//! Only numbers with a documented meaning are used:
//! - NVMe, log page 0x02: `data_units_written`, in units of 1000 * 512 bytes (NVMe base
//!   specification).
//! - Datacenter NVMe SSD specification of OCP, log page 0xC0: "physical media units written", in
//!   bytes. nvme-cli prints it as two 64-bit halves, `hi` and `lo`; its key has spaces in the first
//!   version of the format and underscores in the second.
//! - ATA device statistics, page 1, offset 24: logical sectors written (ACS-4).
//! - Attributes of SATA drives whose name in smartctl's drive database includes the unit, or which
//!   the manufacturer documents (Micron's 246 to 248). A number alone means nothing, because
//!   manufacturers use it for different things, so the name has to match as well.
//!
//! [`reduce`] keeps these numbers where the tool puts them, so that [`parse`] can read its result
//! like the tool's own answer. Errors never quote an answer, which contains serial numbers.

use crate::command::DriveTool;
use crate::unread::Unread;
use facts::host::MediaWrites;
use serde_json::{Map, Value, json};

/// Larger than any answer read here: smartctl's longest are some 100 KB.
pub const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Longer than any drive name.
const NAME_BYTES_MAX: usize = 32;

/// Bytes per data unit in NVMe's log page 0x02.
const DATA_UNIT_BYTES: u64 = 1000 * 512;
const SMART_LOG: &str = "nvme_smart_health_information_log";
const DATA_UNITS: &str = "data_units_written";
const DEVICE_STATISTICS: &str = "ata_device_statistics";
const ATTRIBUTES: &str = "ata_smart_attributes";
/// The `hi` and `lo` halves of a 128-bit number.
const HALVES: [&str; 2] = ["hi", "lo"];
/// The key in both versions of nvme-cli's format.
const MEDIA_UNITS: [&str; 2] = [
    "Physical media units written",
    "physical_media_units_written",
];
/// The page of general statistics, and the offset of logical sectors written.
const GENERAL_PAGE: u64 = 1;
const SECTORS_OFFSET: u64 = 24;

/// Attributes of SATA drives, by number and name in smartctl's drive database.
const KNOWN_ATTRIBUTES: &[(u64, &str)] = &[
    (241, HOST_32MIB),
    (243, NAND_32MIB),
    (246, HOST_SECTORS),
    (247, HOST_PAGES),
    (248, FTL_PAGES[0]),
    (248, FTL_PAGES[1]),
    (249, NAND_1GIB),
];
const HOST_32MIB: &str = "Host_Writes_32MiB";
const NAND_32MIB: &str = "NAND_Writes_32MiB";
const NAND_1GIB: &str = "NAND_Writes_1GiB";
const HOST_SECTORS: &str = "Total_LBAs_Written";
const HOST_PAGES: &str = "Host_Program_Page_Count";
const FTL_PAGES: [&str; 2] = ["FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt"];

/// The counters in an answer, or why they are unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Bytes written by hosts.
    pub host_bytes: Result<Count<u64>, String>,
    /// Amount written to flash.
    pub media: Result<Count<MediaWrites>, String>,
}

/// A number, with its key and its original form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count<T> {
    /// The value.
    pub value: T,
    /// The key.
    pub key: &'static str,
    /// As reported by the drive: `7 * 512000 bytes`.
    pub shown: String,
}

/// Whether a drive name is safe to use as is in a command and in a file name.
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes everything from an answer but the numbers that [`parse`] reads. Values that should be
/// numbers but are not become `null`.
///
/// # Errors
/// [`Unread::TooLarge`], and [`Unread::Malformed`] if it is not a JSON object.
pub fn reduce(tool: DriveTool, bytes: &[u8]) -> Result<Vec<u8>, Unread> {
    let answer = object(bytes)?;
    let mut kept = Map::new();
    match tool {
        DriveTool::NvmeSmartLog => keep_number(&answer, DATA_UNITS, &mut kept),
        DriveTool::NvmeOcp => {
            for key in MEDIA_UNITS {
                let mut halves = Map::new();
                match answer.get(key) {
                    Some(Value::Object(units)) => {
                        for half in HALVES {
                            keep_number(units, half, &mut halves);
                        }
                        kept.insert(key.to_owned(), halves.into());
                    }
                    _ => keep_number(&answer, key, &mut kept),
                }
            }
        }
        DriveTool::Smartctl => {
            keep_number(&answer, "logical_block_size", &mut kept);
            for (part, key) in [("smartctl", "exit_status"), (SMART_LOG, DATA_UNITS)] {
                let Some(below) = answer.get(part) else {
                    continue;
                };
                let numbers = below.as_object().map(|below| {
                    let mut numbers = Map::new();
                    keep_number(below, key, &mut numbers);
                    numbers
                });
                kept.insert(part.to_owned(), numbers.into());
            }
            if let Some(entry) = sectors_written(&answer) {
                let mut numbers = Map::new();
                numbers.insert("offset".to_owned(), SECTORS_OFFSET.into());
                keep_number(entry, "value", &mut numbers);
                let page = json!({"number": GENERAL_PAGE, "table": [numbers]});
                kept.insert(DEVICE_STATISTICS.to_owned(), json!({ "pages": [page] }));
            }
            let attributes: Vec<Value> = KNOWN_ATTRIBUTES
                .iter()
                .filter_map(|&(id, name)| {
                    let raw = attribute(&answer, id, name)?;
                    let mut numbers = Map::new();
                    keep_number(raw, "value", &mut numbers);
                    Some(json!({"id": id, "name": name, "raw": numbers}))
                })
                .collect();
            if !attributes.is_empty() {
                kept.insert(ATTRIBUTES.to_owned(), json!({ "table": attributes }));
            }
        }
    }
    let mut bytes = Value::Object(kept).to_string().into_bytes();
    bytes.push(b'\n');
    Ok(bytes)
}

/// Parses the write counters in an answer.
///
/// # Errors
/// Same as [`reduce`].
pub fn parse(tool: DriveTool, bytes: &[u8]) -> Result<Counts, Unread> {
    let answer = object(bytes)?;
    let not_here = || "this log does not hold it".to_owned();
    Ok(match tool {
        DriveTool::NvmeSmartLog => Counts {
            host_bytes: data_units(&answer),
            media: Err(not_here()),
        },
        DriveTool::NvmeOcp => Counts {
            host_bytes: Err(not_here()),
            media: media_units(&answer),
        },
        DriveTool::Smartctl => smartctl(&answer),
    })
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Unread> {
    if bytes.len() > ANSWER_BYTES_MAX {
        return Err(Unread::TooLarge(ANSWER_BYTES_MAX));
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Unread::Malformed("not a JSON object".to_owned())),
        // serde_json's message may quote the answer.
        Err(error) => Err(Unread::Malformed(format!(
            "no JSON at line {}, column {}",
            error.line(),
            error.column()
        ))),
    }
}

/// Parses an integer, or decimal digits in a string, which nvme-cli writes if its JSON library does
/// not support 64 bits.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(digits) => {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten()
        }
        _ => None,
    }
}

fn keep_number(from: &Map<String, Value>, key: &str, kept: &mut Map<String, Value>) {
    if let Some(value) = from.get(key) {
        kept.insert(key.to_owned(), whole(value).into());
    }
}

fn number(from: &Map<String, Value>, key: &str) -> Result<u64, String> {
    let value = from.get(key).ok_or_else(|| format!("no {key}"))?;
    whole(value).ok_or_else(|| format!("{key} is no whole number below 2^64"))
}

fn times(key: &'static str, count: u64, unit_bytes: u64) -> Result<Count<u64>, String> {
    let bytes = count
        .checked_mul(unit_bytes)
        .ok_or_else(|| format!("{key} is more than any drive can have written"))?;
    let shown = match unit_bytes {
        1 => format!("{count} bytes"),
        _ => format!("{count} * {unit_bytes} bytes"),
    };
    Ok(Count {
        value: bytes,
        key,
        shown,
    })
}

fn data_units(log: &Map<String, Value>) -> Result<Count<u64>, String> {
    times(DATA_UNITS, number(log, DATA_UNITS)?, DATA_UNIT_BYTES)
}

fn media_units(answer: &Map<String, Value>) -> Result<Count<MediaWrites>, String> {
    let (key, value) = MEDIA_UNITS
        .iter()
        .find_map(|&key| Some((key, answer.get(key)?)))
        .ok_or_else(|| format!("no {:?}", MEDIA_UNITS[0]))?;
    let bytes = match value {
        Value::Object(halves) => {
            if number(halves, HALVES[0]).map_err(|why| format!("{key}: {why}"))? > 0 {
                return Err(format!("{key} is more than any drive can have written"));
            }
            number(halves, HALVES[1]).map_err(|why| format!("{key}: {why}"))?
        }
        _ => number(answer, key)?,
    };
    Ok(in_bytes(times(key, bytes, 1)?))
}

fn in_bytes(count: Count<u64>) -> Count<MediaWrites> {
    Count {
        value: MediaWrites::Bytes(count.value),
        key: count.key,
        shown: count.shown,
    }
}

fn smartctl(answer: &Map<String, Value>) -> Counts {
    // smartctl(8): bit 0 means a wrong command line, bit 1 a drive that could not be opened. The
    // other bits describe the drive's health.
    let status = answer.get("smartctl").and_then(Value::as_object);
    let status = status.map_or(Ok(0), |part| match part.get("exit_status") {
        Some(_) => number(part, "exit_status"),
        None => Ok(0),
    });
    let failed = match status {
        Ok(status) if status.is_multiple_of(4) => None,
        Ok(status) => Some(format!("the drive was not read (exit status {status})")),
        Err(why) => Some(why),
    };
    if let Some(why) = failed {
        return Counts {
            host_bytes: Err(why.clone()),
            media: Err(why),
        };
    }
    if let Some(log) = answer.get(SMART_LOG) {
        return Counts {
            host_bytes: log
                .as_object()
                .ok_or_else(|| format!("{SMART_LOG} is no object"))
                .and_then(data_units),
            media: Err("smartctl reads no log that holds it from NVMe drives".to_owned()),
        };
    }
    Counts {
        host_bytes: ata_host_bytes(answer),
        media: ata_media(answer),
    }
}

/// Returns the first of these counters that exists; an unreadable one is not skipped.
fn ata_host_bytes(answer: &Map<String, Value>) -> Result<Count<u64>, String> {
    let sector_bytes = || {
        let bytes = number(answer, "logical_block_size")?;
        if bytes.is_power_of_two() && (512..=65536).contains(&bytes) {
            Ok(bytes)
        } else {
            Err("logical_block_size is no power of two from 512 to 65536".to_owned())
        }
    };
    if let Some(entry) = sectors_written(answer)
        // smartctl writes no value if the drive marks it as invalid.
        && entry.contains_key("value")
    {
        let key = "Logical Sectors Written";
        let sectors = number(entry, "value").map_err(|why| format!("{key}: {why}"))?;
        return times(key, sectors, sector_bytes()?);
    }
    if let Some(sectors) = raw(answer, 246, HOST_SECTORS)? {
        return times(HOST_SECTORS, sectors, sector_bytes()?);
    }
    if let Some(units) = raw(answer, 241, HOST_32MIB)? {
        return times(HOST_32MIB, units, 32 << 20);
    }
    Err("neither device statistics nor a known attribute with what hosts wrote".to_owned())
}

fn ata_media(answer: &Map<String, Value>) -> Result<Count<MediaWrites>, String> {
    let [one, other] = FTL_PAGES.map(|name| raw(answer, 248, name));
    let on_its_own = one?.or(other?);
    if let (Some(for_hosts), Some(on_its_own)) = (raw(answer, 247, HOST_PAGES)?, on_its_own) {
        return Ok(Count {
            value: MediaWrites::Pages {
                for_hosts,
                on_its_own,
            },
            key: "attributes 247 and 248",
            shown: format!("{for_hosts} pages for hosts and {on_its_own} on its own"),
        });
    }
    if let Some(units) = raw(answer, 243, NAND_32MIB)? {
        return times(NAND_32MIB, units, 32 << 20).map(in_bytes);
    }
    if let Some(units) = raw(answer, 249, NAND_1GIB)? {
        return times(NAND_1GIB, units, 1 << 30).map(in_bytes);
    }
    Err("no attribute that smartctl's drive database knows to count it".to_owned())
}

/// Returns the entry for logical sectors written.
fn sectors_written(answer: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let pages = answer.get(DEVICE_STATISTICS)?.get("pages")?;
    let page = row_with(pages, "number", GENERAL_PAGE)?;
    row_with(page.get("table")?, "offset", SECTORS_OFFSET)?.as_object()
}

/// Returns the first row of an array whose `key` has this number.
fn row_with<'a>(rows: &'a Value, key: &str, wanted: u64) -> Option<&'a Value> {
    let is_wanted = |row: &&Value| row.get(key).and_then(Value::as_u64) == Some(wanted);
    rows.as_array()?.iter().find(is_wanted)
}

/// Returns the raw value of an attribute.
fn attribute<'a>(
    answer: &'a Map<String, Value>,
    id: u64,
    name: &str,
) -> Option<&'a Map<String, Value>> {
    let table = answer.get(ATTRIBUTES)?.get("table")?.as_array()?;
    let row = table.iter().find(|row| {
        row.get("id").and_then(Value::as_u64) == Some(id)
            && row.get("name").and_then(Value::as_str) == Some(name)
    })?;
    row.get("raw")?.as_object()
}

fn raw(answer: &Map<String, Value>, id: u64, name: &str) -> Result<Option<u64>, String> {
    attribute(answer, id, name)
        .map(|raw| number(raw, "value").map_err(|why| format!("{name}: {why}")))
        .transpose()
}

#[cfg(test)]
mod tests;
