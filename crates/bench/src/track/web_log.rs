//! Access logs of web servers.

use super::types::WebLog;
use super::zipf::Zipf;
use crate::random::Random;
use jiff::Timestamp;
use std::io::Write as _;

/// Statuses and how many of a thousand requests get them.
const STATUSES: [(u16, u64); 6] = [
    (200, 870),
    (304, 60),
    (301, 30),
    (404, 28),
    (500, 8),
    (206, 4),
];
const METHODS: [(&str, u64); 3] = [("GET", 930), ("POST", 60), ("HEAD", 10)];
const SECTIONS: [&str; 8] = [
    "blog",
    "docs",
    "downloads",
    "images",
    "products",
    "search",
    "static",
    "users",
];
const AGENTS: [&str; 6] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/56.0.2924.87 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_12_3) AppleWebKit/602.4.8 (KHTML, like Gecko) Version/10.0.3 Safari/602.4.8",
    "Mozilla/5.0 (X11; Linux x86_64; rv:52.0) Gecko/20100101 Firefox/52.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 10_2_1 like Mac OS X) AppleWebKit/602.4.6 (KHTML, like Gecko) Version/10.0 Mobile/14D27 Safari/602.1",
    "curl/7.51.0",
    "ELB-HealthChecker/1.0",
];

/// Generates the lines, each a document.
#[derive(Debug, Clone)]
pub(super) struct AccessLog {
    random: Random,
    clients: Zipf,
    pages: Zipf,
    agents: Zipf,
    at_ns: i128,
    gap_ns: f64,
}

impl AccessLog {
    pub(super) fn new(options: &WebLog, seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            clients: Zipf::new(options.clients.0, 0.9),
            pages: Zipf::new(options.pages.0, 0.9),
            agents: Zipf::new(AGENTS.len() as u64, 0.9),
            at_ns: options.start.as_nanosecond(),
            gap_ns: 1e9 / options.rate.per_s(),
        }
    }

    /// Appends the next document.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        let random = &mut self.random;
        #[allow(clippy::cast_possible_truncation)] // a gap of seconds
        let gap_ns = (random.exponential() * self.gap_ns) as i128;
        self.at_ns = self.at_ns.saturating_add(gap_ns);
        let at = Timestamp::from_nanosecond(self.at_ns).unwrap_or(Timestamp::MAX);
        // A client's address and a page's size and speed belong to it.
        let client = self.clients.draw(random);
        let mut fixed = Random::stream(1, client);
        let address = [
            fixed.between(1, 224),
            fixed.below(256),
            fixed.below(256),
            fixed.between(1, 255),
        ];
        let page = self.pages.draw(random);
        let mut fixed = Random::stream(2, page);
        let section = SECTIONS[usize::try_from(fixed.below(8)).unwrap_or(0)];
        let size_bytes = fixed.between(300, 60_000);
        let mean_us = fixed.between(400, 60_000);
        let status = weighted(&STATUSES, random);
        let size_bytes = if matches!(status, 304 | 301) {
            0
        } else {
            size_bytes
        };
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let taken_us = (random.exponential() * mean_us as f64) as u64;
        let method = weighted(&METHODS, random);
        let agent = AGENTS[usize::try_from(self.agents.draw(random)).unwrap_or(0)];
        let [a, b, c, d] = address;
        let _ = write!(
            out,
            r#"{{"@timestamp":"{at:.3}","client":{{"ip":"{a}.{b}.{c}.{d}"}},"http":{{"method":"{method}","path":"/{section}/{page}","status":{status},"bytes":{size_bytes},"time_us":{taken_us}}},"agent":"{agent}","server":"web-{:02}"}}"#,
            client % 4 + 1
        );
    }
}

/// Chooses one in proportion to its weight, of weights that add up to 1,000.
fn weighted<T: Copy>(of: &[(T, u64)], random: &mut Random) -> T {
    let mut left = random.below(1000);
    for (value, weight) in of {
        if left < *weight {
            return *value;
        }
        left -= weight;
    }
    of[0].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_json_in_ascending_time_at_the_rate_asked_for() {
        let mut log = AccessLog::new(&WebLog::default(), 4);
        let mut last = String::new();
        let mut found = 0;
        for _ in 0..10_000 {
            let mut out = Vec::new();
            log.write(&mut out);
            let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
            let at = line["@timestamp"].as_str().unwrap().to_owned();
            assert!(at >= last);
            last = at;
            found += u32::from(line["http"]["status"] == 200);
        }
        // 10,000 at 100/s take 100 s, with a standard deviation of 1 s.
        assert!(
            ("2017-04-07T00:01:35".."2017-04-07T00:01:45").contains(&last.as_str()),
            "{last}"
        );
        // 870 of a thousand, within five standard deviations.
        assert!((8_530..8_870).contains(&found), "{found}");
        assert_eq!(STATUSES.iter().map(|(_, weight)| weight).sum::<u64>(), 1000);
        assert_eq!(METHODS.iter().map(|(_, weight)| weight).sum::<u64>(), 1000);
    }
}
