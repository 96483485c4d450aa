//! The configuration of a node that is alone, on loopback, and needs no licence.

use super::distribution::{Distribution, Product};
use linux::folder::Folder;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// Options of the JVM for servers whose own options name the CMS collector, which Java 14 removed: those of
/// Elasticsearch's jvm.options of the same time, with G1, and what Java 17 asks for.
const JVM_OPTIONS: &str = "\
-XX:+UseG1GC
-XX:+AlwaysPreTouch
-Xss1m
-Djava.awt.headless=true
-Dfile.encoding=UTF-8
-Djna.nosys=true
-Dio.netty.noUnsafe=true
-Dio.netty.noKeySetOptimization=true
-Dio.netty.recycler.maxCapacityPerThread=0
-Dio.netty.allocator.type=unpooled
-Dlog4j.shutdownHookEnabled=false
-Dlog4j2.disable.jmx=true
-Dlog4j2.formatMsgNoLookups=true
-Djava.security.manager=allow
--add-opens=java.base/java.lang=ALL-UNNAMED
--add-opens=java.base/java.io=ALL-UNNAMED
--add-opens=java.base/java.nio=ALL-UNNAMED
--add-opens=java.base/sun.nio.ch=ALL-UNNAMED
--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED
";

const OPTIONS: &str = "jvm.options";
/// Configurations have some 100 KB.
const CONFIG_BYTES_MAX: u64 = 64 << 20;

/// Folders that the configuration names.
pub(crate) struct Places<'a> {
    pub(crate) data: &'a Path,
    /// Logs, and the files in which the node writes its ports.
    pub(crate) logs: &'a Path,
}

/// The main configuration file.
pub(crate) fn main_file(of: &Distribution, places: &Places<'_>) -> String {
    let mut out = String::new();
    let mut set = |key: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{key}: {value}");
    };
    set("cluster.name", "trimtab-experiment");
    set("node.name", "n1");
    set("network.host", "127.0.0.1");
    // The kernel chooses both ports, and the node writes them to files beside its logs.
    set("http.port", "0");
    set("node.portsfile", "true");
    set("path.data", &quoted(places.data));
    set("path.logs", &quoted(places.logs));
    // A small filesystem fills up quickly, which does not matter here.
    set("cluster.routing.allocation.disk.threshold_enabled", "false");
    let is_before = |release| of.product == Product::Elasticsearch && of.version < release;
    if is_before((7, 0)) {
        set("transport.tcp.port", "0");
    } else {
        set("transport.port", "0");
    }
    if is_before((6, 0)) {
        set("discovery.zen.ping.unicast.hosts", "[]");
        // It does not know the system calls of today's kernels.
        set("bootstrap.system_call_filter", "false");
    } else {
        set("discovery.type", "single-node");
    }
    let has = |part: &str| of.home.join(part).is_dir();
    match of.product {
        Product::Opensearch => {
            if has("plugins/opensearch-security") {
                set("plugins.security.disabled", "true");
            }
        }
        Product::Elasticsearch => {
            if has("modules/x-pack-core") {
                set("xpack.security.enabled", "false");
            }
            for part in ["ml", "watcher"] {
                if has(&format!("modules/x-pack-{part}")) {
                    set(&format!("xpack.{part}.enabled"), "false");
                }
            }
            if has("modules/x-pack-monitoring") && of.version < (8, 0) {
                set("xpack.monitoring.enabled", "false");
            }
            if has("modules/ingest-geoip") && of.version >= (7, 14) {
                set("ingest.geoip.downloader.enabled", "false");
            }
        }
    }
    out
}

/// A path as a YAML string; JSON's are a subset.
fn quoted(path: &Path) -> String {
    serde_json::Value::from(path.to_string_lossy()).to_string()
}

/// Copies the server's configuration to the empty folder `to`, which nobody else has yet, and adapts it.
pub(crate) fn write(of: &Distribution, places: &Places<'_>, to: &Folder) -> io::Result<()> {
    let from = Folder::open(of.home.join("config").canonicalize()?)?;
    from.copy_into(to, CONFIG_BYTES_MAX)?;
    let here = to.descriptor_path();
    fs::write(
        here.join(format!("{}.yml", of.product.id())),
        main_file(of, places),
    )?;
    let options = to.read(OPTIONS, CONFIG_BYTES_MAX)?.unwrap_or_default();
    let options = String::from_utf8(options).map_err(io::Error::other)?;
    if options
        .lines()
        .any(|line| line == "-XX:+UseConcMarkSweepGC")
    {
        return fs::write(here.join(OPTIONS), JVM_OPTIONS);
    }
    // Relative to the working directory, which differs here.
    let logs = places.logs.to_string_lossy();
    fs::write(
        here.join(OPTIONS),
        options
            .replace("logs/gc.log", &format!("{logs}/gc.log"))
            .replace("logs/hs_err", &format!("{logs}/hs_err")),
    )
}
