//! Series of a trial: CSV files in its folder, a row a second, which `trimtab explain` reads.

use jiff::Timestamp;
use std::fs::File;
use std::io;
use std::path::Path;

/// The driver's figures.
pub const CLIENT_FILE: &str = "client.csv";
/// The host's figures.
pub const HOST_FILE: &str = "host.csv";
/// The servers' figures.
pub const SERVER_FILE: &str = "server.csv";

/// A table that grows by a row a second. An error ends it; what was written remains.
#[derive(Debug)]
pub(super) struct Table {
    writer: csv::Writer<File>,
    columns: usize,
    failed: Option<io::Error>,
}

impl Table {
    /// Creates the file, which must not exist, with a header.
    pub(super) fn create(path: &Path, columns: &[String]) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(File::create_new(path)?);
        writer.write_record(
            ["time"]
                .into_iter()
                .chain(columns.iter().map(String::as_str)),
        )?;
        writer.flush()?;
        Ok(Self {
            writer,
            columns: columns.len(),
            failed: None,
        })
    }

    /// Appends a row; what was not measured stays empty.
    pub(super) fn row(&mut self, time: Timestamp, values: &[Option<f64>]) {
        if self.failed.is_some() {
            return;
        }
        let cell = |value: &Option<f64>| {
            value
                .filter(|value| value.is_finite())
                .map_or_else(String::new, |value| value.to_string())
        };
        let cells = values.iter().map(cell).take(self.columns);
        let row = [format!("{time:.3}")].into_iter().chain(cells);
        let written = self.writer.write_record(row).map_err(io::Error::from);
        if let Err(error) = written.and_then(|()| self.writer.flush()) {
            self.failed = Some(error);
        }
    }

    /// Why rows are missing at the end, if any are.
    pub(super) fn failure(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_time_and_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(HOST_FILE);
        let columns = ["cpu".to_owned(), "with, comma".to_owned()];
        let mut table = Table::create(&path, &columns).unwrap();
        table.row(
            Timestamp::from_millisecond(1_700_000_000_250).unwrap(),
            &[Some(0.5), None],
        );
        table.row(
            Timestamp::from_second(1_700_000_001).unwrap(),
            &[Some(f64::NAN), Some(1e12)],
        );
        assert!(table.failure().is_none());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "time,cpu,\"with, comma\"\n2023-11-14T22:13:20.250Z,0.5,\n2023-11-14T22:13:21.000Z,,1000000000000\n"
        );
        assert!(Table::create(&path, &columns).is_err());
    }
}
