//! Series of a trial: CSV files in its folder, a row a second, which `trimtab explain` reads.

use jiff::Timestamp;
use linux::regular_file;
use std::fs::File;
use std::io::{self, Read};
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

/// Largest table that is read: a day of seconds has 25 MB.
const BYTES_MAX: u64 = 256 << 20;

/// A table that was read again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Names of the columns after the time.
    pub names: Vec<String>,
    /// Time of each row, in seconds since 1970.
    pub at_s: Vec<f64>,
    /// The rows: a value for each name, `None` where it was not measured.
    pub rows: Vec<Vec<Option<f64>>>,
}

impl Series {
    /// Reads a table of a trial's folder. A row that was cut off ends it.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(regular_file::open(path)?)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// If it cannot be read, or is not text.
    pub fn parse(table: impl Read) -> io::Result<Self> {
        let table = table.take(BYTES_MAX);
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table);
        let names = reader
            .headers()?
            .iter()
            .skip(1)
            .map(str::to_owned)
            .collect();
        let mut series = Self {
            names,
            ..Self::default()
        };
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record)? {
            let time = record
                .get(0)
                .and_then(|time| time.parse::<Timestamp>().ok());
            let Some(time) = time.filter(|_| record.len() == series.names.len() + 1) else {
                break;
            };
            #[allow(clippy::cast_precision_loss)] // milliseconds
            series.at_s.push(time.as_millisecond() as f64 / 1e3);
            let values = record.iter().skip(1);
            let values =
                values.map(|value| value.parse().ok().filter(|value: &f64| value.is_finite()));
            series.rows.push(values.collect());
        }
        Ok(series)
    }

    /// The values of a column by the time since the first row, without those that were not measured.
    pub fn column(&self, name: &str) -> Option<Vec<(f64, f64)>> {
        let column = self.names.iter().position(|known| known == name)?;
        let first_s = self.at_s.first().copied().unwrap_or_default();
        let rows = self.at_s.iter().zip(&self.rows);
        Some(
            rows.filter_map(|(at_s, row)| Some((at_s - first_s, row[column]?)))
                .collect(),
        )
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
        let read = Series::read(&path).unwrap();
        assert_eq!(read.names, columns);
        assert_eq!(read.rows, [[Some(0.5), None], [None, Some(1e12)]]);
        assert_eq!(read.column("cpu").unwrap(), [(0.0, 0.5)]);
        assert_eq!(read.column("with, comma").unwrap(), [(0.75, 1e12)]);
        assert!(read.column("memory").is_none());
        // As after a kill.
        std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        assert_eq!(Series::read(&path).unwrap().rows.len(), 1);
    }
}
