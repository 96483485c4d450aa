//! Server URLs: `http://host:port/base?query`.

use facts::InputError;
use std::fmt;
use ureq::http::Uri;

/// The source name used in errors.
const SOURCE: &str = "URL";
/// Longer than any URL that a person types.
const URL_BYTES_MAX: usize = 4096;
/// Maximum length of a DNS name.
const HOST_BYTES_MAX: usize = 253;

/// The URL of a server or of one page on it.
///
/// Its text form omits the query string, which may contain keys.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    tls: bool,
    host: String,
    port: u16,
    path: String,
    query: Option<String>,
}

impl Endpoint {
    /// Parses `http://` and `https://` URLs: host or address, optional port, path and query.
    ///
    /// # Errors
    /// If `text` is anything else. A URL with a user name or password is rejected, and the error
    /// does not repeat it.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        // A password may contain any character, so nothing is repeated if there is an @.
        let error = |expected: &str| {
            let found = match text {
                _ if text.contains('@') => "text with an @, not shown: it may hold a password",
                _ => text.split('?').next().unwrap_or_default(),
            };
            InputError::new(SOURCE, expected, found)
        };
        if text.len() > URL_BYTES_MAX {
            return Err(error(&format!("at most {URL_BYTES_MAX} bytes")));
        }
        let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
        let (tls, rest) = if lower.starts_with("https://") {
            (true, &text[8..])
        } else if lower.starts_with("http://") {
            (false, &text[7..])
        } else {
            return Err(error("http://HOST[:PORT] or https://HOST[:PORT]"));
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(error(
                "a URL without user and password, which every process on the host could read \
                 (use TRIMTAB_USER and TRIMTAB_PASSWORD, TRIMTAB_API_KEY, or a credentials file)",
            ));
        }
        if target.contains('#') {
            return Err(error("a URL without a fragment (#)"));
        }
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(error(
                "a path of ASCII (percent-encode the rest, %20 for a space)",
            ));
        }
        let (host, port) = split_authority(authority).map_err(error)?;
        let port = match port {
            None if tls => 443,
            None => 80,
            // parse() would accept a sign.
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or_else(|| error("a port from 1 to 65535"))?,
            Some(_) => return Err(error("a port from 1 to 65535")),
        };
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let endpoint = Self {
            tls,
            host: host.to_ascii_lowercase(),
            port,
            path: path.to_owned(),
            query,
        };
        match endpoint.uri("") {
            Some(_) => Ok(endpoint),
            None => Err(error("a URL that HTTP can carry")),
        }
    }

    /// Whether it uses TLS.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Returns the host name or address in lower case; an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the TCP port; 80 or 443 if the URL has none.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the path that others are appended to, without a `/` at its end; `None` if a query follows it.
    pub fn base_path(&self) -> Option<&str> {
        self.query
            .is_none()
            .then(|| self.path.trim_end_matches('/'))
    }

    /// Whether the host is the local machine: `localhost` or a loopback address.
    pub fn is_loopback(&self) -> bool {
        let bare = self.host.trim_matches(['[', ']']);
        bare == "localhost"
            || bare
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }

    /// Returns the URL of a page below this one; an empty path means this one. `None` if they
    /// cannot be combined: the path does not start with `/`, there is a path after a query string,
    /// or it has characters that are not allowed in a URL.
    pub(crate) fn uri(&self, path: &str) -> Option<Uri> {
        let mut text = format!("{}{}", self.origin(), self.path);
        if path.is_empty() {
            if let Some(query) = &self.query {
                text.push('?');
                text.push_str(query);
            }
        } else {
            let plain = path
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'#');
            if self.query.is_some() || !path.starts_with('/') || !plain {
                return None;
            }
            text.truncate(text.trim_end_matches('/').len());
            text.push_str(path);
        }
        text.parse().ok()
    }

    fn origin(&self) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }
}

/// Splits off the port. The error says what was expected.
fn split_authority(authority: &str) -> Result<(&str, Option<&str>), &'static str> {
    let (host, rest) = if authority.starts_with('[') {
        let end = authority.find(']').ok_or("a ] behind the IPv6 address")?;
        let (host, rest) = authority.split_at(end + 1);
        let inner = &host[1..end];
        if inner.parse::<std::net::Ipv6Addr>().is_err() {
            return Err("an IPv6 address between [ and ] (without a zone)");
        }
        (host, rest)
    } else {
        if authority.matches(':').count() > 1 {
            return Err("an IPv6 address in brackets: http://[::1]:9200");
        }
        let end = authority.find(':').unwrap_or(authority.len());
        let (host, rest) = authority.split_at(end);
        if host.is_empty() {
            return Err("a host name or address");
        }
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if host.len() > HOST_BYTES_MAX || !host.bytes().all(known) {
            return Err("a host name of letters, digits, - . _ (international names as xn--...)");
        }
        (host, rest)
    };
    match rest.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if rest.is_empty() => Ok((host, None)),
        None => Err(": and a port behind the ]"),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)?;
        if self.query.is_some() {
            f.write_str("?...")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Endpoint::parse(text).expect("parses").to_string()
    }

    #[test]
    fn ports_and_case_are_normalized() {
        assert_eq!(shown("http://Es1.Example"), "http://es1.example:80");
        assert_eq!(shown("HTTPS://es1:9200/"), "https://es1:9200/");
        assert_eq!(shown("https://[::1]/a/b"), "https://[::1]:443/a/b");
        assert_eq!(
            shown("http://127.0.0.1:9200?key=secret"),
            "http://127.0.0.1:9200?..."
        );
    }

    #[test]
    fn other_texts_are_rejected_with_what_was_expected() {
        for (text, expected) in [
            ("", "http://"),
            ("es1:9200", "http://"),
            ("ftp://es1", "http://"),
            ("http://", "host name"),
            ("http://:9200", "host name"),
            ("http://es 1", "host name"),
            ("http://es1:0", "1 to 65535"),
            ("http://es1:65536", "1 to 65535"),
            ("http://es1:+80", "1 to 65535"),
            ("http://es1:", "1 to 65535"),
            ("http://::1:9200", "brackets"),
            ("http://[::1", "]"),
            ("http://[fe80::1%eth0]:9200", "zone"),
            ("http://[::1]9200", "port"),
            ("http://es1/a b", "percent"),
            ("http://es1/ü", "percent"),
            ("http://bücher.example", "xn--"),
            ("http://es1/#top", "fragment"),
        ] {
            let error = Endpoint::parse(text).expect_err(text);
            assert!(error.expected.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_password_is_rejected_and_not_repeated() {
        for text in [
            "https://elastic:hunter2@es1:9200/",
            "https://elastic:hunt/er2@es1:9200/",
            "elastic:hunter2@es1:9200",
            "https://elastic@hunter2@es1",
            "ftp://elastic:hunter2@es1",
        ] {
            let error = Endpoint::parse(text).expect_err(text).to_string();
            assert!(!error.contains("er2"), "{error}");
        }
        let error = Endpoint::parse("https://u:hunter2@es1").unwrap_err();
        assert!(error.expected.contains("TRIMTAB_PASSWORD"), "{error}");
        // Nor is a key in a query string.
        let error = Endpoint::parse("https://es1:x/?api_key=hunter2").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn paths_are_appended_to_the_base() {
        let base = Endpoint::parse("http://es1:9200/proxy/").unwrap();
        let uri = |endpoint: &Endpoint, path| endpoint.uri(path).map(|uri| uri.to_string());
        assert_eq!(
            uri(&base, "/_cluster/health?level=cluster").as_deref(),
            Some("http://es1:9200/proxy/_cluster/health?level=cluster")
        );
        assert_eq!(uri(&base, "").as_deref(), Some("http://es1:9200/proxy/"));
        assert_eq!(uri(&base, "_cat"), None);
        assert_eq!(uri(&base, "/a b"), None);
        let page = Endpoint::parse("http://es1:9200/_search?q=x").unwrap();
        assert_eq!(
            uri(&page, "").as_deref(),
            Some("http://es1:9200/_search?q=x")
        );
        assert_eq!(uri(&page, "/more"), None);
        assert_eq!(base.base_path(), Some("/proxy"));
        assert_eq!(page.base_path(), None);
    }

    #[test]
    fn loopback_is_recognized() {
        for (text, loopback) in [
            ("http://localhost", true),
            ("http://127.1.2.3", true),
            ("http://[::1]", true),
            ("http://10.0.0.1", false),
            ("http://localhost.example", false),
        ] {
            assert_eq!(
                Endpoint::parse(text).unwrap().is_loopback(),
                loopback,
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn parsed_urls_round_trip(text in "https?://[ -~]{0,40}") {
            if let Ok(endpoint) = Endpoint::parse(&text) {
                let uri = endpoint.uri("").expect("a URL").to_string();
                prop_assert_eq!(Endpoint::parse(&uri).expect("its own text").uri(""), endpoint.uri(""));
            }
        }
    }
}
