use super::*;
use proptest::prelude::*;

/// Output of smartctl 7.3 for an NVMe drive, according to its source code, shortened.
const SMARTCTL_NVME: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"argv":["smartctl","-x"],"exit_status":0},"device":{"name":"/dev/nvme0n1","type":"nvme"},"model_name":"MODEL-X","serial_number":"S3RI4L","logical_block_size":512,"nvme_smart_health_information_log":{"critical_warning":0,"data_units_read":5,"data_units_written":2000000,"host_writes":7}}"#;
/// Output of smartctl 7.3 for a SATA drive.
const SMARTCTL_ATA: &str = r#"{"smartctl":{"exit_status":4},"serial_number":"S3RI4L","wwn":{"naa":5,"oui":41077,"id":123456789},"logical_block_size":512,"ata_smart_attributes":{"revision":16,"table":[{"id":9,"name":"Power_On_Hours","raw":{"value":1000,"string":"1000"}},{"id":246,"name":"Total_LBAs_Written","raw":{"value":1953125,"string":"1953125"}},{"id":247,"name":"Host_Program_Page_Count","raw":{"value":200,"string":"200"}},{"id":248,"name":"FTL_Program_Page_Count","raw":{"value":100,"string":"100"}}]},"ata_device_statistics":{"pages":[{"number":1,"name":"General Statistics","revision":1,"table":[{"offset":8,"name":"Lifetime Power-On Resets","size":4,"value":31},{"offset":24,"name":"Logical Sectors Written","size":6,"value":3906250,"flags":{"valid":true}}]}]}}"#;
const OCP_1: &str = r#"{"Physical media units written":{"hi":0,"lo":1500},"Physical media units read":{"hi":0,"lo":9}}"#;

/// Output of Debian's smartctl 7.3 and nvme-cli 2.3 in a guest, for QEMU's drives: `smartctl
/// --json=c -A`, `nvme smart-log -o json` after the same writes, and `smartctl --json=c -i -A -l
/// devstat,1`; shortened, with the serial number replaced.
const REAL_SMARTCTL_NVME: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"svn_revision":"5338","platform_info":"x86_64-linux-6.1.0-56-amd64","build_info":"(local build)","argv":["smartctl","--json=c","-A","/dev/nvme0n1"],"exit_status":0},"local_time":{"time_t":1795288025,"asctime":"Sat Nov 21 19:07:05 2026 UTC"},"device":{"name":"/dev/nvme0n1","info_name":"/dev/nvme0n1","type":"nvme","protocol":"NVMe"},"nvme_smart_health_information_log":{"critical_warning":0,"temperature":50,"available_spare":0,"percentage_used":0,"data_units_read":1,"data_units_written":296,"host_reads":82,"host_writes":364,"power_cycles":0,"power_on_hours":0},"temperature":{"current":50},"power_cycle_count":0,"power_on_time":{"hours":0}}"#;
const REAL_NVME_SMART_LOG: &str = r#"{
  "critical_warning":0,
  "temperature":323,
  "endurance_grp_critical_warning_summary":0,
  "data_units_read":"1",
  "data_units_written":"296",
  "host_read_commands":"82",
  "host_write_commands":"364",
  "thm_temp1_trans_count":0
}
"#;
const REAL_SMARTCTL_ATA: &str = r#"{"json_format_version":[1,0],"smartctl":{"version":[7,3],"svn_revision":"5338","platform_info":"x86_64-linux-6.1.0-56-amd64","build_info":"(local build)","argv":["smartctl","--json=c","-i","-A","-l","devstat,1","/dev/sda"],"drive_database_version":{"string":"7.3/5319"},"exit_status":4},"local_time":{"time_t":1795288504,"asctime":"Sat Nov 21 19:15:04 2026 UTC"},"device":{"name":"/dev/sda","info_name":"/dev/sda [SAT]","type":"sat","protocol":"ATA"},"model_name":"QEMU HARDDISK","serial_number":"S3RI4L","wwn":{"naa":5,"oui":3807205,"id":60129544714},"firmware_version":"2.5+","user_capacity":{"blocks":1638400,"bytes":838860800},"logical_block_size":512,"physical_block_size":512,"rotation_rate":0,"trim":{"supported":true,"deterministic":true,"zeroed":false},"in_smartctl_database":false,"ata_smart_attributes":{"revision":1,"table":[{"id":9,"name":"Power_On_Hours","value":100,"worst":100,"thresh":0,"when_failed":"","flags":{"value":3,"string":"PO---- ","prefailure":true,"updated_online":true,"performance":false,"error_rate":false,"event_count":false,"auto_keep":false},"raw":{"value":1,"string":"1"}},{"id":190,"name":"Airflow_Temperature_Cel","value":69,"worst":69,"thresh":50,"when_failed":"","flags":{"value":3,"string":"PO---- ","prefailure":true,"updated_online":true,"performance":false,"error_rate":false,"event_count":false,"auto_keep":false},"raw":{"value":522125343,"string":"31 (Min/Max 31/31)"}}]},"power_on_time":{"hours":1},"power_cycle_count":0,"temperature":{"current":31}}"#;

fn parsed(tool: DriveTool, text: &str) -> Counts {
    let counts = parse(tool, text.as_bytes()).unwrap();
    let kept = reduce(tool, text.as_bytes()).unwrap();
    assert_eq!(
        parse(tool, &kept).unwrap(),
        counts,
        "what is kept says as much"
    );
    counts
}

fn host(counts: &Counts) -> Result<u64, &str> {
    let count = counts.host_bytes.as_ref();
    count.map(|count| count.value).map_err(String::as_str)
}

fn media(counts: &Counts) -> Result<MediaWrites, &str> {
    let count = counts.media.as_ref();
    count.map(|count| count.value).map_err(String::as_str)
}

#[test]
fn data_units_are_of_512000_bytes() {
    let counts = parsed(DriveTool::Smartctl, SMARTCTL_NVME);
    assert_eq!(host(&counts), Ok(1_024_000_000_000));
    assert!(media(&counts).is_err());
    // A number, and digits in a string.
    for text in [
        r#"{"data_units_written":2000000,"data_units_read":1}"#,
        r#"{"data_units_written":"2000000"}"#,
    ] {
        let counts = parsed(DriveTool::NvmeSmartLog, text);
        assert_eq!(host(&counts), Ok(1_024_000_000_000), "{text}");
    }
}

#[test]
fn real_tool_output_is_parsed() {
    for (tool, text) in [
        (DriveTool::Smartctl, REAL_SMARTCTL_NVME),
        (DriveTool::NvmeSmartLog, REAL_NVME_SMART_LOG),
    ] {
        assert_eq!(host(&parsed(tool, text)), Ok(296 * 512_000), "{text}");
    }
    // Status 4: there are no device statistics. None of its attributes counts writes.
    let counts = parsed(DriveTool::Smartctl, REAL_SMARTCTL_ATA);
    assert!(host(&counts).unwrap_err().contains("neither"), "{counts:?}");
    assert!(media(&counts).is_err());
    // A drive that has them: the sector size comes from -i.
    let with = REAL_SMARTCTL_ATA.replace(
        r#""power_on_time""#,
        r#""ata_device_statistics":{"pages":[{"number":1,"table":[{"offset":24,"value":3906250}]}]},"power_on_time""#,
    );
    assert_eq!(
        host(&parsed(DriveTool::Smartctl, &with)),
        Ok(3_906_250 * 512)
    );
}

#[test]
fn ocp_units_are_bytes_in_each_documented_form() {
    for text in [
        OCP_1,
        r#"{"physical_media_units_written":{"hi":0,"lo":1500}}"#,
        r#"{"Physical media units written":{"hi":"0","lo":"1500"}}"#,
        r#"{"physical_media_units_written":1500}"#,
    ] {
        let counts = parsed(DriveTool::NvmeOcp, text);
        assert_eq!(media(&counts), Ok(MediaWrites::Bytes(1500)), "{text}");
        assert!(host(&counts).is_err());
    }
}

#[test]
fn device_statistics_outrank_attributes_and_pages_are_a_ratio() {
    let counts = parsed(DriveTool::Smartctl, SMARTCTL_ATA);
    assert_eq!(host(&counts), Ok(3_906_250 * 512));
    let pages = MediaWrites::Pages {
        for_hosts: 200,
        on_its_own: 100,
    };
    assert_eq!(media(&counts), Ok(pages));
    // If the value is invalid, smartctl omits it.
    let text = SMARTCTL_ATA.replace(r#""value":3906250,"#, "");
    assert_eq!(host(&parsed(DriveTool::Smartctl, &text)), Ok(1_000_000_000));
    // A drive with 4 KiB sectors.
    let text = SMARTCTL_ATA.replace(
        r#""logical_block_size":512"#,
        r#""logical_block_size":4096"#,
    );
    assert_eq!(
        host(&parsed(DriveTool::Smartctl, &text)),
        Ok(3_906_250 * 4096)
    );
    // Other firmware uses another name.
    let text = SMARTCTL_ATA.replace("FTL_Program_Page_Count", "Bckgnd_Program_Page_Cnt");
    assert_eq!(media(&parsed(DriveTool::Smartctl, &text)), Ok(pages));
}

#[test]
fn only_attribute_names_with_units_are_used() {
    let attributes = |rows: &str| {
        format!(r#"{{"logical_block_size":512,"ata_smart_attributes":{{"table":[{rows}]}}}}"#)
    };
    let row = |id: u64, name: &str, value: u64| {
        format!(r#"{{"id":{id},"name":"{name}","raw":{{"value":{value}}}}}"#)
    };
    let text = attributes(&format!(
        "{},{}",
        row(241, "Host_Writes_32MiB", 3),
        row(243, "NAND_Writes_32MiB", 5)
    ));
    let counts = parsed(DriveTool::Smartctl, &text);
    assert_eq!(host(&counts), Ok(3 << 25));
    assert_eq!(media(&counts), Ok(MediaWrites::Bytes(5 << 25)));
    let text = attributes(&row(249, "NAND_Writes_1GiB", 7));
    let counts = parsed(DriveTool::Smartctl, &text);
    assert_eq!(media(&counts), Ok(MediaWrites::Bytes(7 << 30)));
    for (id, name) in [
        // smartctl's default name for 241, whatever the unit.
        (241, "Total_LBAs_Written"),
        (247, "Unknown_Attribute"),
        (249, "NAND_Writes_32MiB"),
        (243, "NAND_Writes_1GiB"),
    ] {
        let counts = parsed(DriveTool::Smartctl, &attributes(&row(id, name, 7)));
        assert!(host(&counts).is_err() && media(&counts).is_err(), "{name}");
    }
}

#[test]
fn unreadable_counters_have_a_reason() {
    let huge = format!(r#"{{"data_units_written":{}}}"#, u64::MAX / 512_000 + 1);
    for (tool, text, why) in [
        (
            DriveTool::NvmeOcp,
            "{}",
            "no \"Physical media units written\"",
        ),
        (
            DriveTool::NvmeOcp,
            r#"{"Physical media units written":{"hi":1,"lo":0}}"#,
            "more than any drive",
        ),
        (
            DriveTool::NvmeOcp,
            r#"{"Physical media units written":{"lo":1}}"#,
            "no hi",
        ),
        (
            DriveTool::NvmeOcp,
            r#"{"Physical media units written":[1]}"#,
            "no whole number",
        ),
        (
            DriveTool::NvmeOcp,
            r#"{"Physical media units written":{"hi":0,"lo":"S3RI4L"}}"#,
            "lo is no whole number",
        ),
        (DriveTool::NvmeSmartLog, "{}", "no data_units_written"),
        (DriveTool::NvmeSmartLog, &huge, "more than any drive"),
        (
            DriveTool::NvmeSmartLog,
            r#"{"data_units_written":-1}"#,
            "no whole number",
        ),
        (
            DriveTool::NvmeSmartLog,
            r#"{"data_units_written":1.5}"#,
            "no whole number",
        ),
        (
            DriveTool::NvmeSmartLog,
            r#"{"data_units_written":36893488147419103232}"#,
            "no whole number",
        ),
        (
            DriveTool::Smartctl,
            r#"{"smartctl":{"exit_status":2,"messages":[{"string":"S3RI4L"}]}}"#,
            "exit status 2",
        ),
        (DriveTool::Smartctl, "{}", "neither device statistics nor"),
        (
            DriveTool::Smartctl,
            &SMARTCTL_ATA.replace(r#""logical_block_size":512,"#, ""),
            "no logical_block_size",
        ),
        (
            DriveTool::Smartctl,
            &SMARTCTL_ATA.replace(r#""value":3906250"#, r#""value":"S3RI4L""#),
            "Logical Sectors Written: value is no whole number",
        ),
    ] {
        let counts = parsed(tool, text);
        let found = match tool {
            DriveTool::NvmeOcp => media(&counts).unwrap_err().to_owned(),
            _ => host(&counts).unwrap_err().to_owned(),
        };
        assert!(found.contains(why), "{text}: {found}");
        assert!(!found.contains("S3RI4L"), "{found}");
    }
    for text in ["", "{", "[]", "S3RI4L", "{\"data_units_written\": S3RI4L}"] {
        for tool in DriveTool::ALL {
            let why = parse(tool, text.as_bytes()).unwrap_err();
            assert_eq!(reduce(tool, text.as_bytes()), Err(why.clone()));
            assert!(matches!(&why, Unread::Malformed(_)), "{text}: {why}");
            assert!(!why.to_string().contains("S3RI4L"), "{why}");
        }
    }
    let long = vec![b' '; ANSWER_BYTES_MAX + 1];
    assert_eq!(
        reduce(DriveTool::Smartctl, &long),
        Err(Unread::TooLarge(ANSWER_BYTES_MAX))
    );
}

#[test]
fn only_write_counters_are_kept() {
    for (text, expected) in [
        (
            SMARTCTL_NVME,
            r#"{"logical_block_size":512,"nvme_smart_health_information_log":{"data_units_written":2000000},"smartctl":{"exit_status":0}}"#,
        ),
        (
            SMARTCTL_ATA,
            r#"{"ata_device_statistics":{"pages":[{"number":1,"table":[{"offset":24,"value":3906250}]}]},"ata_smart_attributes":{"table":[{"id":246,"name":"Total_LBAs_Written","raw":{"value":1953125}},{"id":247,"name":"Host_Program_Page_Count","raw":{"value":200}},{"id":248,"name":"FTL_Program_Page_Count","raw":{"value":100}}]},"logical_block_size":512,"smartctl":{"exit_status":4}}"#,
        ),
    ] {
        let kept = reduce(DriveTool::Smartctl, text.as_bytes()).unwrap();
        let kept: Value = serde_json::from_slice(&kept).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(kept, expected);
    }
    let kept = reduce(DriveTool::NvmeOcp, OCP_1.as_bytes()).unwrap();
    let kept = String::from_utf8(kept).unwrap();
    assert_eq!(
        kept,
        "{\"Physical media units written\":{\"hi\":0,\"lo\":1500}}\n"
    );
}

/// Arbitrary JSON, including the keys that are looked up; every string contains the serial number.
fn json() -> impl Strategy<Value = Value> {
    let key = || {
        prop::sample::select(vec![
            "smartctl",
            "exit_status",
            SMART_LOG,
            DATA_UNITS,
            DEVICE_STATISTICS,
            "pages",
            "number",
            "table",
            "offset",
            "value",
            ATTRIBUTES,
            "id",
            "name",
            "raw",
            "logical_block_size",
            MEDIA_UNITS[0],
            MEDIA_UNITS[1],
            "hi",
            "lo",
            "serial_number",
            "S3RI4L",
        ])
    };
    let leaf = prop_oneof![
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(Value::from("S3RI4L")),
        Just(Value::from(FTL_PAGES[0])),
        Just(Value::from(HOST_PAGES)),
        prop::sample::select(vec![1_u64, 24, 241, 243, 246, 247, 248, 249]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The tools' answers with one value replaced, so that most of them are parsed to the end.
fn near(text: &'static str) -> impl Strategy<Value = Value> {
    let pointers: Vec<String> = {
        let value: Value = serde_json::from_str(text).unwrap();
        let mut found = Vec::new();
        walk(&value, String::new(), &mut found);
        found
    };
    (prop::sample::select(pointers), json()).prop_map(move |(at, with)| {
        let mut value: Value = serde_json::from_str(text).unwrap();
        *value.pointer_mut(&at).unwrap() = with;
        value
    })
}

fn walk(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                walk(value, format!("{at}/{key}"), found);
            }
        }
        Value::Array(rows) => {
            for (index, value) in rows.iter().enumerate() {
                walk(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

proptest! {
    #[test]
    fn reduced_answers_parse_the_same_without_serials(
        answer in prop_oneof![json(), near(SMARTCTL_NVME), near(SMARTCTL_ATA), near(OCP_1)],
    ) {
        let text = answer.to_string();
        for tool in DriveTool::ALL {
            let parsed = parse(tool, text.as_bytes());
            match reduce(tool, text.as_bytes()) {
                Ok(kept) => {
                    prop_assert_eq!(parse(tool, &kept), parsed.clone());
                    prop_assert_eq!(reduce(tool, &kept), Ok(kept.clone()));
                    let kept = String::from_utf8(kept).unwrap();
                    prop_assert!(!kept.contains("S3RI4L"), "{}", kept);
                }
                Err(why) => prop_assert_eq!(Err(why), parsed.clone()),
            }
            let told = format!("{parsed:?}");
            prop_assert!(!told.contains("S3RI4L"), "{}", told);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for tool in DriveTool::ALL {
            prop_assert_eq!(parse(tool, &bytes).is_ok(), reduce(tool, &bytes).is_ok());
        }
    }
}
