use super::*;
use crate::parse::store_config;
use crate::source::MemorySource;
use facts::host::{DeviceNumber, Mount};

/// A host with a root filesystem, a data disk and a network filesystem.
fn host() -> Host {
    let mount = |id, major, minor, root: &str, mount_point: &str, fs_type: &str| Mount {
        id,
        device_number: DeviceNumber { major, minor },
        root: root.to_owned(),
        mount_point: mount_point.to_owned(),
        fs_type: fs_type.to_owned(),
        source: "/dev/x".to_owned(),
        ..Mount::default()
    };
    Host {
        mounts: vec![
            mount(25, 8, 1, "/", "/", "ext4"),
            mount(40, 259, 1, "/", "/mnt/data", "xfs"),
            mount(41, 0, 50, "/", "/net/home", "nfs4"),
        ],
        ..Host::default()
    }
}

fn read_from(source: &MemorySource, data_paths: &[&str]) -> Host {
    let reader = Reader::new(source);
    let mut host = host();
    let options = Options {
        data_paths: data_paths.iter().map(|&path| path.to_owned()).collect(),
        ..Options::default()
    };
    read(&reader, &options, &mut host);
    host
}

/// A host with process 1.
fn base() -> MemorySource {
    MemorySource::new()
        .file("proc/1/comm", "systemd\n")
        .file("proc/1/cmdline", "/sbin/init\0")
}

fn process(source: MemorySource, pid: u32, comm: &str, line: &str) -> MemorySource {
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join("\0") + "\0";
    source
        .file(&format!("proc/{pid}/comm"), format!("{comm}\n"))
        .file(&format!("proc/{pid}/cmdline"), line)
}

fn only(host: &Host) -> &Store {
    assert_eq!(host.stores.len(), 1, "{:?}", host.stores);
    &host.stores[0]
}

/// Returns every entry of `skipped` as text.
fn skipped(host: &Host) -> String {
    let lines: Vec<String> = host
        .skipped
        .iter()
        .map(|skipped| {
            let needs = skipped.needs.as_deref().unwrap_or("-");
            format!("{} | {} | {needs}", skipped.what, skipped.why)
        })
        .collect();
    lines.join("\n")
}

fn setting<'s>(store: &'s Store, key: &str) -> Option<&'s str> {
    store_config::value(&store.settings, key)
}

const ELASTIC_6: &str = "/usr/bin/java -Xms8g -Xmx8g -XX:+UseConcMarkSweepGC \
    -Djavax.net.ssl.trustStorePassword=s3cret -Des.path.home=/usr/share/elasticsearch \
    -Des.path.conf=/etc/elasticsearch -Des.distribution.flavor=default \
    -Des.distribution.type=deb -cp /usr/share/elasticsearch/lib/* \
    org.elasticsearch.bootstrap.Elasticsearch -p /var/run/elasticsearch/elasticsearch.pid --quiet";

#[test]
fn elasticsearch_6_of_the_debian_package_with_linked_data() {
    let source = process(base(), 812, "java", ELASTIC_6)
        .file(
            "etc/elasticsearch/elasticsearch.yml",
            "cluster.name: logs\nnode.name: ${HOSTNAME}\npath.data: /var/lib/elasticsearch\n\
             path.logs: /var/log/elasticsearch\nindices.store.throttle.type: none\n",
        )
        .symlink("var/lib/elasticsearch", "/mnt/data/es")
        .file("usr/share/elasticsearch/lib/elasticsearch-6.8.23.jar", "")
        .file(
            "usr/share/elasticsearch/lib/elasticsearch-core-6.8.23.jar",
            "",
        );
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.engine, StoreEngine::Elasticsearch);
    assert_eq!(store.version.as_deref(), Some("6.8.23"));
    assert_eq!((store.state, store.pid), (StoreState::Running, Some(812)));
    assert_eq!(store.data_paths, ["/mnt/data/es"]);
    assert_eq!(
        store.paths_from,
        "etc/elasticsearch/elasticsearch.yml: path.data"
    );
    assert_eq!(setting(store, "cluster.name"), Some("logs"));
    assert_eq!(setting(store, "indices.store.throttle.type"), Some("none"));
    assert_eq!(setting(store, "-Xmx"), Some("8g"));
    assert_eq!(setting(store, "path.data"), None);
    assert_eq!(skipped(&host), "");
}

#[test]
fn elasticsearch_7_of_a_tarball() {
    let source = process(
        base(),
        900,
        "java",
        "/opt/elasticsearch-7.17.28/jdk/bin/java -Des.path.home=/opt/elasticsearch-7.17.28 \
         -Des.path.conf=/opt/elasticsearch-7.17.28/config -Des.distribution.type=tar \
         -cp x org.elasticsearch.bootstrap.Elasticsearch",
    )
    .file(
        "opt/elasticsearch-7.17.28/config/elasticsearch.yml",
        "node.roles: [ data_hot, ingest ]\nindex:\n  store.type: niofs\n",
    )
    .file(
        "opt/elasticsearch-7.17.28/lib/elasticsearch-7.17.28.jar",
        "",
    );
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.version.as_deref(), Some("7.17.28"));
    assert_eq!(store.data_paths, ["/opt/elasticsearch-7.17.28/data"]);
    assert_eq!(store.paths_from, "default: path.home/data");
    assert_eq!(setting(store, "node.roles"), Some("data_hot,ingest"));
    assert_eq!(setting(store, "index.store.type"), Some("niofs"));
}

const ELASTIC_8_LAUNCHER: &str = "/usr/share/elasticsearch/jdk/bin/java -Xms4m -Xmx64m \
    -Dcli.name=server -Dcli.script=/usr/share/elasticsearch/bin/elasticsearch \
    -Dcli.libs=lib/tools/server-cli -Des.path.home=/usr/share/elasticsearch \
    -Des.path.conf=/etc/elasticsearch -Des.distribution.type=rpm \
    -cp /usr/share/elasticsearch/lib/*:/usr/share/elasticsearch/lib/cli-launcher/* \
    org.elasticsearch.launcher.CliToolLauncher -p /run/es.pid --quiet";

const ELASTIC_8_SERVER: &str = "/usr/share/elasticsearch/jdk/bin/java -Xss1m \
    -Des.distribution.type=rpm -Xms31g -Xmx31g --module-path /usr/share/elasticsearch/lib \
    --add-modules=jdk.net --add-modules=ALL-MODULE-PATH \
    -m org.elasticsearch.server/org.elasticsearch.bootstrap.Elasticsearch";

fn elastic_8() -> MemorySource {
    let source = process(base(), 700, "java", ELASTIC_8_LAUNCHER);
    process(source, 750, "java", ELASTIC_8_SERVER)
        .file("proc/750/status", "Name:\tjava\nPid:\t750\nPPid:\t700\n")
        .file("usr/share/elasticsearch/lib/elasticsearch-8.11.0.jar", "")
}

#[test]
fn elasticsearch_8_is_one_store_and_reads_its_launchers_settings() {
    let yml = "path:\n  data:\n    - /mnt/data/a\n    - /mnt/data/b\n    - /mnt/data/a/\n";
    let source = elastic_8().file("etc/elasticsearch/elasticsearch.yml", yml);
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.pid, Some(750));
    assert_eq!(store.version.as_deref(), Some("8.11.0"));
    assert_eq!(store.data_paths, ["/mnt/data/a", "/mnt/data/b"]);
    assert_eq!(setting(store, "-Xmx"), Some("31g"));
    assert_eq!(skipped(&host), "");

    let launcher = format!("{ELASTIC_8_LAUNCHER} -Epath.data=/mnt/data/c");
    let host = read_from(&process(source, 700, "java", &launcher), &[]);
    assert_eq!(only(&host).data_paths, ["/mnt/data/c"]);
    assert_eq!(only(&host).paths_from, "command line: path.data");
}

#[test]
fn elasticsearch_8_without_its_launcher_is_reported() {
    let source = process(base(), 750, "java", ELASTIC_8_SERVER).file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /srv/es\n",
    );
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, ["/srv/es"]);
    assert!(
        skipped(&host).contains("settings given with -E are not known"),
        "{}",
        skipped(&host)
    );
}

#[test]
fn a_configuration_that_needs_root_leaves_the_paths_unknown() {
    let source = elastic_8().deny("etc/elasticsearch");
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.data_paths, Vec::<String>::new());
    let expected = "data path of Elasticsearch (process 750) | \
        etc/elasticsearch/elasticsearch.yml: permission denied | root, or --data-path";
    assert!(skipped(&host).contains(expected), "{}", skipped(&host));
}

#[test]
fn a_placeholder_is_not_guessed() {
    let source = process(base(), 812, "java", ELASTIC_6).file(
        "etc/elasticsearch/elasticsearch.yml",
        "cluster.name: logs\npath.data: /mnt/data/${ES_DATA}\n",
    );
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, Vec::<String>::new());
    assert!(
        skipped(&host).contains("${ES_DATA}, whose value is not known"),
        "{}",
        skipped(&host)
    );
    let source = source.file(
        "etc/elasticsearch/elasticsearch.yml",
        "cluster.name: logs\npath.data: /mnt/data/${cluster.name}\n",
    );
    assert_eq!(
        only(&read_from(&source, &[])).data_paths,
        ["/mnt/data/logs"]
    );
}

#[test]
fn a_broken_configuration_leaves_the_paths_unknown() {
    let source = process(base(), 812, "java", ELASTIC_6).file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /a\npath.data: /b\nxpack.password: s3cret\n",
    );
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, Vec::<String>::new());
    let skipped = skipped(&host);
    assert!(
        skipped.contains("elasticsearch.yml:2:1: expected each key once"),
        "{skipped}"
    );
}

#[test]
fn elasticsearch_5_takes_its_packages_default_from_the_command_line() {
    let source = process(
        base(),
        812,
        "java",
        "java -Des.path.home=/usr/share/elasticsearch -cp x \
         org.elasticsearch.bootstrap.Elasticsearch -d -p /run/es.pid \
         -Edefault.path.logs=/var/log/elasticsearch -Edefault.path.data=/var/lib/elasticsearch \
         -Edefault.path.conf=/etc/elasticsearch",
    )
    .file("etc/elasticsearch/elasticsearch.yml", "# nothing set\n");
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, ["/var/lib/elasticsearch"]);
    assert_eq!(only(&host).paths_from, "command line: default.path.data");
}

#[test]
fn opensearch_2_with_a_relative_path() {
    let source = process(
        base(),
        77,
        "java",
        "/usr/share/opensearch/jdk/bin/java -Xmx1g -Dopensearch.path.home=/usr/share/opensearch \
         -Dopensearch.path.conf=/etc/opensearch -Dopensearch.distribution.type=rpm -cp x \
         org.opensearch.bootstrap.OpenSearch -Epath.data=data,/mnt/data/os",
    )
    .symlink("proc/77/cwd", "/usr/share/opensearch")
    .file(
        "etc/opensearch/opensearch.yml",
        "path.data: /var/lib/opensearch\n",
    )
    .file("usr/share/opensearch/lib/opensearch-2.19.1.jar", "");
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.engine, StoreEngine::Opensearch);
    assert_eq!(store.version.as_deref(), Some("2.19.1"));
    assert_eq!(
        store.data_paths,
        ["/usr/share/opensearch/data", "/mnt/data/os"]
    );
}

#[test]
fn mongod_with_yaml() {
    let source = process(base(), 5, "mongod", "/usr/bin/mongod --config /etc/mongod.conf")
        .file(
            "etc/mongod.conf",
            "storage:\n  dbPath: /var/lib/mongodb\n  engine: wiredTiger\n  journal:\n    enabled: true\n\
             \x20 wiredTiger:\n    collectionConfig:\n      blockCompressor: zstd\n\
             net:\n  bindIp: 127.0.0.1\nsecurity:\n  keyFile: /etc/s3cret\n",
        )
        .symlink("proc/5/exe", "/usr/bin/mongod")
        .file(
            "var/lib/dpkg/status",
            "Package: mongodb-org-server\nStatus: install ok installed\nVersion: 4.4.6\n",
        );
    let host = read_from(&source, &[]);
    let store = only(&host);
    assert_eq!(store.engine, StoreEngine::Mongodb);
    assert_eq!(store.version.as_deref(), Some("4.4.6"));
    assert_eq!(store.data_paths, ["/var/lib/mongodb"]);
    assert_eq!(store.paths_from, "etc/mongod.conf: storage.dbPath");
    let compressor = "storage.wiredTiger.collectionConfig.blockCompressor";
    assert_eq!(setting(store, compressor), Some("zstd"));
    assert_eq!(setting(store, "storage.engine"), Some("wiredTiger"));
}

#[test]
fn mongod_with_the_legacy_format() {
    let source = process(base(), 5, "mongod", "/usr/bin/mongod -f /etc/mongodb.conf").file(
        "etc/mongodb.conf",
        "# mongodb.conf\ndbpath=/mnt/data/mongodb\nnojournal = true\nkeyFile=/etc/s3cret\n",
    );
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, ["/mnt/data/mongodb"]);
    assert_eq!(
        setting(only(&host), "storage.journal.enabled"),
        Some("false")
    );
}

#[test]
fn mongods_defaults_and_unknown_paths() {
    let paths = |line: &str, more: &dyn Fn(MemorySource) -> MemorySource| {
        let host = read_from(&more(process(base(), 5, "mongod", line)), &[]);
        (only(&host).data_paths.clone(), skipped(&host))
    };
    let as_is = |source| source;
    assert_eq!(paths("mongod", &as_is).0, ["/data/db"]);
    assert_eq!(paths("mongod --configsvr", &as_is).0, ["/data/configdb"]);
    let in_srv = |source: MemorySource| source.symlink("proc/5/cwd", "/srv");
    assert_eq!(paths("mongod --dbpath db", &in_srv).0, ["/srv/db"]);
    // A forked mongod is in / now, but was started elsewhere.
    let (forked, skipped) = paths("mongod --fork --dbpath db", &in_srv);
    assert!(
        forked.is_empty() && skipped.contains("unknown directory"),
        "{skipped}"
    );
    let pipe = |source: MemorySource| source.device("tmp/x.conf");
    let (piped, skipped) = paths("mongod -f /tmp/x.conf", &pipe);
    assert!(
        piped.is_empty() && skipped.contains("not a regular file"),
        "{skipped}"
    );
    let fetched = |source: MemorySource| {
        source.file("etc/m.conf", "storage: {dbPath: {__exec: cat /s3cret}}\n")
    };
    let (fetched, skipped) = paths("mongod -f /etc/m.conf", &fetched);
    assert!(
        fetched.is_empty() && skipped.contains("fetched from elsewhere"),
        "{skipped}"
    );
}

#[test]
fn other_stores_have_a_name_and_maybe_a_path() {
    let source = process(
        base(),
        30,
        "postgres",
        "/usr/lib/postgresql/15/bin/postgres -D /mnt/data/pg -c config_file=/etc/x",
    );
    let source = process(source, 31, "postgres", "postgres: checkpointer");
    let source = process(source, 40, "redis-server", "redis-server 127.0.0.1:6379");
    let host = read_from(&source, &[]);
    assert_eq!(host.stores.len(), 2);
    assert_eq!(
        host.stores[0].engine,
        StoreEngine::Other("PostgreSQL".to_owned())
    );
    assert_eq!(host.stores[0].data_paths, ["/mnt/data/pg"]);
    assert_eq!(
        host.stores[1].engine,
        StoreEngine::Other("Redis".to_owned())
    );
    assert!(skipped(&host).contains("data path of Redis (process 40)"));
}

#[test]
fn configured_stores_count_if_they_have_data() {
    let source = base()
        .file("etc/opensearch/opensearch.yml", "path.data: /mnt/data/os\n")
        .directory("mnt/data/os/nodes")
        .file("opt/elasticsearch-8.1.0/config/elasticsearch.yml", "")
        .directory("opt/elasticsearch-8.1.0/data/_state")
        .file("etc/mongod.conf", "storage.dbPath: /gone\n")
        .whole();
    let host = read_from(&source, &[]);
    let found: Vec<_> = host
        .stores
        .iter()
        .map(|store| {
            (
                store.engine.label(),
                store.state,
                store.data_paths[0].as_str(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                "Elasticsearch",
                StoreState::Configured,
                "/opt/elasticsearch-8.1.0/data"
            ),
            ("OpenSearch", StoreState::Configured, "/mnt/data/os"),
        ]
    );
    assert_eq!(host.stores[0].version.as_deref(), Some("8.1.0"));
    assert!(
        skipped(&host).contains("/gone is configured"),
        "{}",
        skipped(&host)
    );
}

#[test]
fn data_at_a_packages_place_is_a_store_without_a_configuration() {
    let source = base().file("var/lib/mongo/WiredTiger", "WiredTiger 10.0");
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, ["/var/lib/mongo"]);
    assert_eq!(
        only(&host).paths_from,
        "data found: var/lib/mongo/WiredTiger"
    );
    assert!(
        read_from(&base().directory("var/lib/mongo/x"), &[])
            .stores
            .is_empty()
    );
}

#[test]
fn hidden_processes_are_reported() {
    let hidden = MemorySource::new().file("proc/812/comm", "bash\n").whole();
    let hidden = skipped(&read_from(&hidden, &[]));
    assert!(
        hidden.contains("running stores") && hidden.contains("| root"),
        "{hidden}"
    );
    let denied = skipped(&read_from(&base().deny("proc/1").whole(), &[]));
    assert!(denied.contains("hidepid"), "{denied}");
    let without = skipped(&read_from(&MemorySource::new(), &[]));
    assert!(without.contains("proc: not found"), "{without}");
}

const CONTAINER_MOUNTS: &str = "\
50 49 0:60 / / rw - overlay overlay rw
51 50 259:1 /volumes/db /data/db rw - xfs /dev/nvme0n1 rw
";

#[test]
fn a_store_in_a_container_has_the_hosts_path() {
    let line = "mongod --bind_ip_all";
    let source = process(base(), 5, "mongod", line)
        .file("proc/5/cgroup", "0::/system.slice/docker-0123.scope\n")
        .file("proc/5/mountinfo", CONTAINER_MOUNTS)
        .symlink("proc/5/ns/mnt", "mnt:[4026532000]")
        .symlink("proc/self/ns/mnt", "mnt:[4026531840]");
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, ["/mnt/data/volumes/db"]);
    // Without the container's mounts; and with the data in the container's own layer.
    let host = read_from(&source.clone().deny("proc/5/mountinfo"), &[]);
    assert_eq!(only(&host).data_paths, Vec::<String>::new());
    assert!(
        skipped(&host).contains("it runs in a container (docker)"),
        "{}",
        skipped(&host)
    );
    let source = process(source, 5, "mongod", "mongod --dbpath /var/lib/mongodb");
    let host = read_from(&source, &[]);
    assert_eq!(only(&host).data_paths, Vec::<String>::new());
    assert!(
        skipped(&host).contains("on no mount of the host"),
        "{}",
        skipped(&host)
    );
}

#[test]
fn a_container_is_read_through_its_root() {
    let source = process(base(), 9, "java", ELASTIC_6)
        .file("proc/9/cgroup", "4:memory:/kubepods/burstable/pod1/0123\n")
        .file("proc/9/mountinfo", CONTAINER_MOUNTS)
        .file(
            "proc/9/root/etc/elasticsearch/elasticsearch.yml",
            "path.data: /var/lib/es\n",
        )
        .symlink("proc/9/root/var/lib/es", "/data/db/es")
        .file(
            "proc/9/root/usr/share/elasticsearch/lib/elasticsearch-7.4.0.jar",
            "",
        )
        .file(
            "etc/elasticsearch/elasticsearch.yml",
            "path.data: /mnt/data/host\n",
        )
        .directory("mnt/data/host");
    let host = read_from(&source, &[]);
    let found: Vec<_> = host
        .stores
        .iter()
        .map(|store| (store.state, &store.data_paths[0]))
        .collect();
    assert_eq!(
        found,
        [
            (StoreState::Running, &"/mnt/data/volumes/db/es".to_owned()),
            (StoreState::Configured, &"/mnt/data/host".to_owned()),
        ]
    );
    assert_eq!(host.stores[0].version.as_deref(), Some("7.4.0"));
}

#[test]
fn allocator_data_reveals_elastic_cloud_enterprise() {
    let mounts = CONTAINER_MOUNTS.replace(
        "/volumes/db",
        "/ece/10.0.0.1/services/allocator/containers/elasticsearch/1/instance-0/data",
    );
    let source = process(base(), 5, "mongod", "mongod")
        .file("proc/5/cgroup", "4:memory:/docker/0123\n")
        .file("proc/5/mountinfo", mounts);
    let evidence = read_from(&source, &[])
        .platform
        .elastic_cloud_enterprise
        .unwrap();
    assert!(
        evidence.starts_with("data path /mnt/data/ece/10.0.0.1/services/"),
        "{evidence}"
    );
}

#[test]
fn paths_given_by_hand_are_added_once() {
    let source = process(base(), 5, "mongod", "mongod --dbpath /mnt/data/db")
        .symlink("srv/db", "/mnt/data/db")
        .directory("mnt/data/other")
        .directory("mnt/data/db")
        .whole();
    let host = read_from(
        &source,
        &["/srv/db", "/mnt/data/other/", "relative", "/gone"],
    );
    let found: Vec<_> = host
        .stores
        .iter()
        .map(|store| (store.state, &store.data_paths[0]))
        .collect();
    assert_eq!(
        found,
        [
            (StoreState::Running, &"/mnt/data/db".to_owned()),
            (StoreState::Given, &"/mnt/data/other".to_owned()),
        ]
    );
    let skipped = skipped(&host);
    assert!(
        skipped.contains("--data-path relative | the path is not absolute"),
        "{skipped}"
    );
    assert!(
        skipped.contains("--data-path /gone | nothing is there"),
        "{skipped}"
    );
}

#[test]
fn a_path_without_a_mount_is_reported() {
    let source = process(base(), 5, "mongod", "mongod --dbpath /mnt/data/db");
    let reader = Reader::new(&source);
    let mut host = Host::default();
    read(&reader, &Options::default(), &mut host);
    assert_eq!(host.stores[0].data_paths, ["/mnt/data/db"]);
    assert!(
        skipped(&host).contains("mount of /mnt/data/db"),
        "{}",
        skipped(&host)
    );
}

#[test]
fn no_secret_reaches_facts_or_the_recording() {
    let source = process(
        base(),
        812,
        "java",
        &format!("{ELASTIC_6} -Expack.x=s3cret"),
    )
    .file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /srv\nxpack.security.http.ssl.keystore.password: s3cret # s3cret\n",
    )
    .file("proc/812/status", "Name:\ts3cret\nPPid:\t1\n")
    .file("proc/812/cgroup", "0::/s3cret\n");
    let source = process(
        source,
        5,
        "mongod",
        "mongod -f /etc/a.conf --keyFile /s3cret",
    )
    .file(
        "etc/a.conf",
        "security:\n  keyFile: s3cret\nnet.ssl.PEMKeyPassword: s3cret\n",
    );
    let source = process(source, 6, "mongod", "mongod -f /etc/b.conf")
        .file("etc/b.conf", "dbpath=/x\nsslPEMKeyPassword=s3cret\n");
    let source = process(source, 7, "mongod", "mongod -f /etc/c.conf")
        .file("etc/c.conf", "password: \"s3cret\n");
    let source = process(
        source,
        8,
        "mysqld",
        "mysqld --datadir=/d --init-file=/s3cret",
    );
    let source = process(source, 9, "s3cret-agent", "s3cret-agent --token s3cret");
    let reader = Reader::new(&source);
    let host = crate::read_host(&reader, &Options::default(), jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(host.stores.len(), 5);
    let recording = reader.into_recording();
    assert!(recording.files.len() > 10);
    let everything = format!("{host:?}")
        + &recording
            .files
            .values()
            .map(|outcome| match outcome {
                Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Err(unread) => unread.to_string(),
            })
            .collect::<String>();
    assert!(!everything.contains("s3cret"), "{everything}");
}

#[test]
fn a_recording_reproduces_the_facts() {
    let source = elastic_8()
        .file(
            "etc/elasticsearch/elasticsearch.yml",
            "path.data: [/srv/a, /srv/b]\n",
        )
        .symlink("srv/a", "/mnt/data/a");
    let source = process(source, 5, "mongod", "mongod -f /etc/m.conf")
        .file("etc/m.conf", "dbpath=/mnt/data/db\n");
    let reader = Reader::new(&source);
    let mut first = host();
    read(&reader, &Options::default(), &mut first);
    let recording = reader.into_recording();
    let mut again = base();
    for (path, outcome) in &recording.files {
        if let Ok(bytes) = outcome {
            again = again.file(path, bytes);
        }
    }
    for (path, outcome) in &recording.links {
        if let Ok(target) = outcome {
            again = again.symlink(path, target);
        }
    }
    for (path, outcome) in &recording.lists {
        for name in outcome.iter().flatten() {
            let path = format!("{path}/{name}");
            let is_known =
                recording.files.contains_key(&path) || recording.links.contains_key(&path);
            if path.contains("/lib/") && !is_known {
                again = again.file(&path, "");
            }
        }
    }
    let reader = Reader::new(&again);
    let mut second = host();
    read(&reader, &Options::default(), &mut second);
    assert_eq!(first, second);
}

#[test]
fn the_number_of_processes_is_limited() {
    let mut source = base();
    for pid in 2..2000 {
        source = process(source, pid, "mongod", &format!("mongod --dbpath /m{pid}"));
    }
    let host = read_from(&source, &[]);
    assert_eq!(host.stores.len(), RUNNING_MAX);
    assert!(skipped(&host).contains("further running stores"));
}

#[test]
fn the_number_of_data_paths_is_limited() {
    let paths: Vec<String> = (0..3000).map(|n| format!("- /a{n}\n")).collect();
    let paths = paths.concat();
    let source = process(
        base(),
        7,
        "mongod",
        &format!("mongod --dbpath {}", "/a".repeat(300)),
    )
    .file(
        "etc/elasticsearch/elasticsearch.yml",
        format!("path.data:\n{paths}"),
    );
    let host = read_from(&source, &[]);
    let skipped = skipped(&host);
    assert!(skipped.contains("at most 1000 data paths"), "{skipped}");
    assert!(
        skipped.contains("more than 200 names in a path"),
        "{skipped}"
    );
}

#[test]
fn other_stores_are_known_by_their_configuration_when_nothing_runs() {
    let source = base()
        .file(
            "etc/scylla/scylla.yaml",
            "cluster_name: 'c'\ndata_file_directories:\n    - /mnt/data/scylla\n    - /srv/more\ncommitlog_directory: /c\n",
        )
        .directory("mnt/data/scylla")
        .directory("srv/more")
        .file("etc/cassandra/cassandra.yaml", "cluster_name: x\n")
        .directory("var/lib/cassandra/data")
        .file("etc/etcd/etcd.conf.yml", "data-dir: default.etcd\n")
        .file("var/lib/mysql/ibdata1", "")
        .whole();
    let host = read_from(&source, &[]);
    let found: Vec<_> = (host.stores.iter())
        .map(|store| {
            let paths = store.data_paths.join(" ");
            (store.engine.label(), paths, store.paths_from.as_str())
        })
        .collect();
    assert_eq!(
        found,
        [
            (
                "ScyllaDB",
                "/mnt/data/scylla /srv/more".to_owned(),
                "etc/scylla/scylla.yaml: data_file_directories"
            ),
            (
                "Cassandra",
                "/var/lib/cassandra/data".to_owned(),
                "default of Cassandra"
            ),
            (
                "MySQL",
                "/var/lib/mysql".to_owned(),
                "data found: var/lib/mysql/ibdata1"
            ),
        ]
    );
    // Relative to a directory that nobody told.
    let said = skipped(&host);
    assert!(said.contains("data-dir names no absolute path"), "{said}");
}

#[test]
fn a_running_store_that_does_not_say_where_its_data_is_has_a_configuration() {
    let of = |line: &str| {
        let source = process(base(), 40, "scylla", line)
            .file("etc/scylla/scylla.yaml", "workdir: /mnt/data/s\n")
            .directory("mnt/data/s/data")
            .directory("mnt/data/other");
        let host = read_from(&source.whole(), &[]);
        let paths: Vec<String> = host
            .stores
            .into_iter()
            .flat_map(|store| store.data_paths)
            .collect();
        paths.join(" ")
    };
    assert_eq!(of("/usr/bin/scylla --options"), "/mnt/data/s/data");
    assert_eq!(
        of("/usr/bin/scylla --workdir /mnt/data/other"),
        "/mnt/data/other"
    );
}
