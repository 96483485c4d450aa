//! Command lines of stores, and which of their arguments matter.

use super::store_settings as settings;

/// A store process, with its filtered command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) arguments: Vec<String>,
}

/// Process names of stores as the kernel shows them (`proc/PID/comm`, cut to 15 bytes), and their
/// display names. JVMs are recognized by their main class instead.
const PROGRAMS: [(&str, &str); 15] = [
    ("mongod", "MongoDB"),
    ("postgres", "PostgreSQL"),
    ("postmaster", "PostgreSQL"),
    ("mysqld", "MySQL"),
    ("mariadbd", "MariaDB"),
    ("redis-server", "Redis"),
    ("valkey-server", "Valkey"),
    ("clickhouse", "ClickHouse"),
    ("clickhouse-server", "ClickHouse"),
    ("scylla", "ScyllaDB"),
    ("influxd", "InfluxDB"),
    ("prometheus", "Prometheus"),
    ("etcd", "etcd"),
    ("cockroach", "CockroachDB"),
    ("beam.smp", "RabbitMQ"),
];

/// `TASK_COMM_LEN` in the kernel, minus its final NUL.
const COMM_BYTES_MAX: usize = 15;

/// Main classes of Java stores, without the module, and their names.
const MAIN_CLASSES: [(&str, JavaRole); 6] = [
    (
        "org.elasticsearch.bootstrap.Elasticsearch",
        JavaRole::Elasticsearch,
    ),
    // 1.x and 2.x.
    (
        "org.elasticsearch.bootstrap.ElasticsearchF",
        JavaRole::Elasticsearch,
    ),
    (
        "org.elasticsearch.launcher.CliToolLauncher",
        JavaRole::ElasticsearchLauncher,
    ),
    ("org.opensearch.bootstrap.OpenSearch", JavaRole::Opensearch),
    (
        "org.apache.cassandra.service.CassandraDaemon",
        JavaRole::Other("Cassandra"),
    ),
    ("kafka.Kafka", JavaRole::Other("Kafka")),
];

/// The role of a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JavaRole {
    Elasticsearch,
    /// Elasticsearch 8.4 and later: the parent of the server, which passes the settings through a
    /// pipe, so that only this command line shows them.
    ElasticsearchLauncher,
    Opensearch,
    Other(&'static str),
}

/// The role of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Java(JavaRole),
    Mongod,
    Other(&'static str),
}

/// Whether the command line of a process with this `comm` is of interest.
pub(crate) fn is_wanted_comm(comm: &str) -> bool {
    comm == "java"
        || PROGRAMS
            .iter()
            .any(|(name, _)| comm == name.get(..COMM_BYTES_MAX).unwrap_or(name))
}

/// Splits a `cmdline` into arguments.
pub(crate) fn split_command_line(line: &str) -> Vec<String> {
    let line = line.strip_suffix('\0').unwrap_or(line);
    if line.is_empty() {
        return Vec::new();
    }
    line.split('\0').map(str::to_owned).collect()
}

impl Process {
    /// Returns its role; `None` for a JVM that is not a store, and for a worker of a store that
    /// replaced its command line with a title.
    pub(crate) fn role(&self) -> Option<Role> {
        role(&self.arguments)
    }

    /// Returns the value of the first option among `names`, as `--name value`, `--name=value`, or,
    /// for `-x`, also `-xvalue`.
    pub(crate) fn option(&self, names: &[&str]) -> Option<&str> {
        let mut arguments = self.arguments.iter().skip(1);
        while let Some(argument) = arguments.next() {
            for name in names {
                let Some(rest) = argument.strip_prefix(name) else {
                    continue;
                };
                if rest.is_empty() {
                    return arguments.next().map(String::as_str);
                }
                if let Some(value) = rest.strip_prefix('=') {
                    return Some(value);
                }
                if name.len() == 2 && !name.starts_with("--") {
                    return Some(rest);
                }
            }
        }
        None
    }

    /// Whether a switch is set: `--fork`, `--fork=true`.
    pub(crate) fn has_switch(&self, name: &str) -> bool {
        self.arguments.iter().skip(1).any(|argument| {
            argument
                .strip_prefix(name)
                .is_some_and(|rest| matches!(rest, "" | "=true"))
        })
    }

    /// Returns the value of a Java system property; of several the last, which takes effect.
    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        let arguments = java_options(&self.arguments);
        arguments.iter().rev().find_map(|argument| {
            argument
                .strip_prefix("-D")?
                .strip_prefix(name)?
                .strip_prefix('=')
        })
    }

    /// Returns settings given as system properties: `path.data` for `-Des.path.data=/srv`.
    pub(crate) fn prefixed_properties(&self, prefix: &str) -> Vec<(String, String)> {
        java_options(&self.arguments)
            .iter()
            .filter_map(|option| {
                let property = option.strip_prefix("-D")?.strip_prefix(prefix)?;
                property.strip_prefix('.')?.split_once('=')
            })
            .filter(|(key, _)| settings::is_kept(key))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// Returns the settings given with `-E key=value` or `--key=value` after the main class, in
    /// order.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let Some(java) = Java::parse(&self.arguments) else {
            return Vec::new();
        };
        program_settings(java.program)
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// Returns the directory of the server's modules: `--module-path HOME/lib`.
    pub(crate) fn module_path(&self) -> Option<&str> {
        let mut options = java_options(&self.arguments).iter();
        options.find(|option| matches!(option.as_str(), "--module-path" | "-p"))?;
        options.next().map(String::as_str)
    }

    /// Returns heap options as settings.
    pub(crate) fn heap(&self) -> Vec<(String, String)> {
        java_options(&self.arguments)
            .iter()
            .filter(|option| is_heap_option(option))
            .filter_map(|option| option.split_at_checked(4))
            .map(|(name, size)| (name.to_owned(), size.to_owned()))
            .collect()
    }
}

/// Returns the options of the JVM itself; empty if this is not a JVM.
fn java_options(arguments: &[String]) -> &[String] {
    Java::parse(arguments).map_or(&[], |java| java.options)
}

/// The command line of a JVM (java(1)): options, main class, arguments of the program.
struct Java<'a> {
    options: &'a [String],
    main: &'a str,
    program: &'a [String],
}

/// Options of the JVM that take the next argument as their value.
const JAVA_OPTIONS_WITH_VALUE: [&str; 13] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--limit-modules",
    "--patch-module",
    "--enable-native-access",
];

impl<'a> Java<'a> {
    fn parse(arguments: &'a [String]) -> Option<Self> {
        if base_name(arguments.first()?) != "java" {
            return None;
        }
        let mut at = 1;
        while at < arguments.len() {
            let argument = arguments[at].as_str();
            if let Some(module) = argument.strip_prefix("--module=") {
                return Some(Self::new(arguments, at, module, at + 1));
            }
            if matches!(argument, "-m" | "--module" | "-jar") {
                let main = arguments.get(at + 1)?;
                return Some(Self::new(arguments, at, main, at + 2));
            }
            if !argument.starts_with('-') {
                return Some(Self::new(arguments, at, argument, at + 1));
            }
            at += if JAVA_OPTIONS_WITH_VALUE.contains(&argument) {
                2
            } else {
                1
            };
        }
        None
    }

    fn new(arguments: &'a [String], options_end: usize, main: &'a str, program: usize) -> Self {
        Self {
            options: &arguments[1..options_end],
            main,
            program: arguments.get(program..).unwrap_or_default(),
        }
    }

    fn role(&self) -> Option<JavaRole> {
        // `module/class`.
        let class = self
            .main
            .rsplit_once('/')
            .map_or(self.main, |(_, class)| class);
        let (_, role) = MAIN_CLASSES.iter().find(|(name, _)| *name == class)?;
        if *role == JavaRole::ElasticsearchLauncher {
            // The same launcher also starts the keystore and plugin tools.
            self.options
                .iter()
                .find(|option| *option == "-Dcli.name=server")?;
        }
        Some(*role)
    }
}

/// Returns the settings among the arguments after the main class.
fn program_settings(program: &[String]) -> Vec<(&str, &str)> {
    let mut settings = Vec::new();
    let mut arguments = program.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        let text = match argument {
            "-E" => arguments.next(),
            // `--key=value`: 1.x and 2.x.
            _ => argument
                .strip_prefix("-E")
                .or_else(|| argument.strip_prefix("--")),
        };
        settings.extend(text.and_then(|text| text.split_once('=')));
    }
    settings
}

fn role(arguments: &[String]) -> Option<Role> {
    if let Some(java) = Java::parse(arguments) {
        return java.role().map(Role::Java);
    }
    // Redis appends its address to the first argument.
    let program = base_name(arguments.first()?.split(' ').next()?);
    if program == "mongod" {
        return Some(Role::Mongod);
    }
    // Erlang runs several kinds of programs.
    if program == "beam.smp" && !arguments.iter().any(|argument| argument == "rabbit") {
        return None;
    }
    let (_, name) = PROGRAMS.iter().find(|(name, _)| *name == program)?;
    Some(Role::Other(name))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Filters the arguments of a store's command line; keeps nothing of other command lines.
///
/// The program, the main class, and options that say where the data is or how it is stored are
/// kept. Passwords, addresses, agents and everything else are removed.
pub(crate) fn keep_arguments(arguments: &[String]) -> Vec<String> {
    let Some(role) = role(arguments) else {
        return Vec::new();
    };
    let Some(program) = arguments.first().and_then(|first| first.split(' ').next()) else {
        return Vec::new();
    };
    let mut kept = vec![program.to_owned()];
    match role {
        Role::Java(role) => keep_java(role, arguments, &mut kept),
        Role::Mongod => {
            let options = MONGOD_OPTIONS.iter().map(|(option, _)| *option);
            let options: Vec<&str> = options.chain(["--config", "-f"]).collect();
            let switches = MONGOD_SWITCHES.map(|(switch, ..)| switch);
            keep_options(arguments, &options, &switches, &mut kept);
        }
        Role::Other(name) => keep_other(name, arguments, &mut kept),
    }
    kept
}

/// Whether a system property says where a server's files are.
fn is_kept_property(property: &str) -> bool {
    let Some((name, _)) = property.split_once('=') else {
        return false;
    };
    if matches!(
        name,
        "es.config" | "cli.name" | "es.distribution.type" | "opensearch.distribution.type"
    ) {
        return true;
    }
    let Some((prefix, rest)) = name.split_once('.') else {
        return false;
    };
    matches!(prefix, "es" | "opensearch")
        && (matches!(rest, "path.home" | "path.conf") || settings::is_kept(rest))
}

fn is_heap_option(option: &str) -> bool {
    option.starts_with("-Xms") || option.starts_with("-Xmx")
}

fn keep_java(role: JavaRole, arguments: &[String], kept: &mut Vec<String>) {
    let Some(java) = Java::parse(arguments) else {
        return;
    };
    if matches!(role, JavaRole::Other(_)) {
        kept.push(java.main.to_owned());
        return;
    }
    let mut options = java.options.iter();
    while let Some(option) = options.next() {
        if matches!(option.as_str(), "--module-path" | "-p") {
            kept.push(option.clone());
            kept.extend(options.next().cloned());
        } else if is_heap_option(option) || option.strip_prefix("-D").is_some_and(is_kept_property)
        {
            kept.push(option.clone());
        } else if JAVA_OPTIONS_WITH_VALUE.contains(&option.as_str()) {
            options.next();
        }
    }
    if java.main.contains('/') {
        kept.push("-m".to_owned());
    }
    kept.push(java.main.to_owned());
    for (key, value) in program_settings(java.program) {
        if settings::is_kept(key) {
            kept.push(format!("-E{key}={value}"));
        }
    }
}

/// mongod's command-line options with a value, and the corresponding settings.
pub(crate) const MONGOD_OPTIONS: [(&str, &str); 5] = [
    ("--storageEngine", "storage.engine"),
    (
        "--wiredTigerCollectionBlockCompressor",
        "storage.wiredTiger.collectionConfig.blockCompressor",
    ),
    (
        "--wiredTigerJournalCompressor",
        "storage.wiredTiger.engineConfig.journalCompressor",
    ),
    (
        "--wiredTigerCacheSizeGB",
        "storage.wiredTiger.engineConfig.cacheSizeGB",
    ),
    ("--dbpath", "storage.dbPath"),
];

/// mongod's command-line switches, the corresponding settings, and their values.
pub(crate) const MONGOD_SWITCHES: [(&str, &str, &str); 6] = [
    ("--directoryperdb", "storage.directoryPerDB", "true"),
    (
        "--wiredTigerDirectoryForIndexes",
        "storage.wiredTiger.engineConfig.directoryForIndexes",
        "true",
    ),
    ("--journal", "storage.journal.enabled", "true"),
    ("--nojournal", "storage.journal.enabled", "false"),
    ("--configsvr", "sharding.clusterRole", "configsvr"),
    ("--fork", "processManagement.fork", "true"),
];

/// Returns the options that specify the data directory of the other stores.
pub(crate) fn data_options(name: &str) -> &'static [&'static str] {
    match name {
        "PostgreSQL" => &["-D"],
        "MySQL" | "MariaDB" => &["--datadir"],
        "ScyllaDB" => &["--workdir"],
        "InfluxDB" => &["--engine-path"],
        "Prometheus" => &["--storage.tsdb.path"],
        "etcd" => &["--data-dir", "-data-dir"],
        "CockroachDB" => &["--store"],
        _ => &[],
    }
}

fn keep_other(name: &str, arguments: &[String], kept: &mut Vec<String>) {
    keep_options(arguments, data_options(name), &[], kept);
    if name == "RabbitMQ" {
        kept.push("rabbit".to_owned());
    }
}

/// Whether a value is a URL: paths never are, and it may contain a password.
fn is_url(value: &str) -> bool {
    value.contains("://")
}

/// Keeps options, as `--name value` and `--name=value`, and switches.
fn keep_options(arguments: &[String], names: &[&str], switches: &[&str], kept: &mut Vec<String>) {
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        if names.contains(&argument.as_str()) {
            let value = rest.next();
            if !value.is_some_and(|value| is_url(value)) {
                kept.push(argument.clone());
                kept.extend(value.cloned());
            }
        } else if names.iter().any(|name| {
            argument.strip_prefix(name).is_some_and(|rest| {
                (rest.starts_with('=') || (name.len() == 2 && !name.starts_with("--")))
                    && !is_url(rest)
            })
        }) || switches.contains(&argument.split('=').next().unwrap_or(argument))
        {
            kept.push(argument.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn process(line: &str) -> Process {
        Process {
            pid: 1,
            arguments: words(line),
        }
    }

    #[test]
    fn an_elasticsearch_7_command_line() {
        let line = "/usr/share/elasticsearch/jdk/bin/java -Xshare:auto -Xms4g -Xmx4g \
            -Djavax.net.ssl.keyStorePassword=s3cret -Des.path.home=/usr/share/elasticsearch \
            -Des.path.conf=/etc/elasticsearch -Des.distribution.type=deb \
            -cp /usr/share/elasticsearch/lib/* org.elasticsearch.bootstrap.Elasticsearch \
            -p /run/es.pid --quiet -Epath.data=/srv/es -E node.name=a -Expack.secret=s3cret";
        let kept = keep_arguments(&words(line));
        assert_eq!(
            kept,
            words(
                "/usr/share/elasticsearch/jdk/bin/java -Xms4g -Xmx4g \
                 -Des.path.home=/usr/share/elasticsearch -Des.path.conf=/etc/elasticsearch \
                 -Des.distribution.type=deb org.elasticsearch.bootstrap.Elasticsearch \
                 -Epath.data=/srv/es -Enode.name=a"
            )
        );
        let process = Process {
            pid: 1,
            arguments: kept,
        };
        assert_eq!(process.role(), Some(Role::Java(JavaRole::Elasticsearch)));
        assert_eq!(process.property("es.path.conf"), Some("/etc/elasticsearch"));
        assert_eq!(process.settings().len(), 2);
    }

    #[test]
    fn the_elasticsearch_8_server_is_distinguished_from_its_launcher() {
        let server = process(
            "/usr/share/elasticsearch/jdk/bin/java -Xms1g -Des.distribution.type=deb \
             --module-path /usr/share/elasticsearch/lib --add-modules=jdk.net \
             --add-modules ALL-MODULE-PATH \
             -m org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch",
        );
        assert_eq!(server.role(), Some(Role::Java(JavaRole::Elasticsearch)));
        assert_eq!(server.module_path(), Some("/usr/share/elasticsearch/lib"));
        assert_eq!(server.heap(), [("-Xms".to_owned(), "1g".to_owned())]);
        let launcher = "java -Xms4m -Dcli.name=server -Des.path.home=/h -cp /h/lib/* \
             org.elasticsearch.launcher.CliToolLauncher -Epath.data=/srv";
        assert_eq!(
            process(launcher).role(),
            Some(Role::Java(JavaRole::ElasticsearchLauncher))
        );
        let keystore = launcher.replace("cli.name=server", "cli.name=keystore");
        assert_eq!(process(&keystore).role(), None);
    }

    #[test]
    fn nothing_is_kept_of_other_programs() {
        for line in [
            "java -jar /opt/app.jar --password=s3cret",
            "java -Dpassword=s3cret com.example.Main -Epath.data=/x",
            "postgres: app s3cret 10.0.0.7(4711) SELECT",
            "/usr/lib/erlang/bin/beam.smp -setcookie s3cret",
            "java",
        ] {
            assert_eq!(keep_arguments(&words(line)), Vec::<String>::new(), "{line}");
        }
        assert_eq!(keep_arguments(&[]), Vec::<String>::new());
        let urls = words("mongod --config https://u:s3cret@h/ -fhttps://u:s3cret@h/ --dbpath /x");
        assert_eq!(keep_arguments(&urls), ["mongod", "--dbpath", "/x"]);
        let title = ["redis-server 10.0.0.7:6379".to_owned()];
        assert_eq!(keep_arguments(&title), ["redis-server"]);
    }

    #[test]
    fn options_are_found_in_every_form() {
        let mongod = process("mongod -f /etc/a.conf --dbpath=/srv --fork");
        assert_eq!(mongod.option(&["--config", "-f"]), Some("/etc/a.conf"));
        assert_eq!(mongod.option(&["--dbpath"]), Some("/srv"));
        assert!(mongod.has_switch("--fork"));
        assert_eq!(
            process("mongod -f/etc/a.conf").option(&["-f"]),
            Some("/etc/a.conf")
        );
        assert_eq!(
            process("mongod --dbpathological x").option(&["--dbpath"]),
            None
        );
        assert_eq!(process("mongod --dbpath").option(&["--dbpath"]), None);
    }

    #[test]
    fn long_names_are_compared_truncated() {
        assert!(is_wanted_comm("clickhouse-serv"));
        assert!(is_wanted_comm("java"));
        assert!(!is_wanted_comm("mongos"));
        assert!(!is_wanted_comm("bash"));
    }

    proptest! {
        #[test]
        fn filtering_twice_keeps_the_same_arguments(
            line in "(java|mongod|/usr/bin/postgres|beam.smp)( -m| -cp| -E| -Epath.data=/x| --dbpath| -f| -fx| -D| --module-path| kafka.Kafka| org.opensearch.bootstrap.OpenSearch| s/org.elasticsearch.bootstrap.Elasticsearch| --fork| rabbit| -Des.path.home=/h| x=y| -Xms1g){0,9}"
        ) {
            let kept = keep_arguments(&words(&line));
            prop_assert_eq!(keep_arguments(&kept), kept.clone());
            for argument in &kept {
                prop_assert!(argument != "x=y" || kept.iter().any(|a| matches!(a.as_str(), "--dbpath" | "-f" | "--module-path" | "-D")));
            }
        }
    }
}
