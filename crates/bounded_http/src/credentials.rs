//! Credentials. Secrets never appear in arguments, messages or debug output.

use crate::error::{ErrorKind, HttpError};
use base64::prelude::{BASE64_STANDARD, Engine};
use linux::regular_file;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A credentials file has only a few lines.
const FILE_BYTES_MAX: u64 = 16 << 10;

const USER: &str = "TRIMTAB_USER";
const PASSWORD: &str = "TRIMTAB_PASSWORD";
const API_KEY: &str = "TRIMTAB_API_KEY";
const BEARER_TOKEN: &str = "TRIMTAB_BEARER_TOKEN";

/// The environment variables that [`Credentials::from_environment`] reads. Remove them from the
/// environment of child processes.
pub const SECRET_VARIABLES: [&str; 4] = [USER, PASSWORD, API_KEY, BEARER_TOKEN];

/// A string that is never printed, and is zeroed when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes ownership of a text.
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Returns `text`, as a server sent it, without this secret: servers repeat headers in their errors. Of
    /// `Basic ...` both the whole and what follows the scheme are left out.
    pub fn redacted(&self, text: &str) -> String {
        let words = self.0.split_ascii_whitespace().chain([self.text()]);
        let mut words: Vec<&str> = words
            .filter(|word| word.len() >= SECRET_BYTES_MIN)
            .collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words
            .iter()
            .fold(text.to_owned(), |text, word| text.replace(word, "(secret)"))
    }

    /// Returns the text: to be sent, and not to be shown.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// A part of a secret that is no longer than this is a word such as `Basic`.
const SECRET_BYTES_MIN: usize = 8;

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Credentials that a client sends with every request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    /// No credentials.
    #[default]
    None,
    /// HTTP Basic, RFC 7617.
    Basic {
        /// User name, without a colon.
        user: String,
        /// Password.
        password: Secret,
    },
    /// An Elasticsearch API key, either as `id:key` or in base64 form.
    ApiKey(Secret),
    /// A bearer token, RFC 6750.
    Bearer(Secret),
}

/// Why credentials could not be loaded. It never contains a secret value.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// The file could not be read.
    #[error("credentials file {}: {error}", path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        error: io::Error,
    },
    /// Others can read the file.
    #[error("credentials file {}: mode {mode:04o} lets others read it", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Another user owns the file, and could put their own credentials in it.
    #[error("credentials file {}: it belongs to user {owner}", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// User ID of its owner.
        owner: u32,
    },
    /// The contents are invalid.
    #[error("{origin}: {problem}")]
    Malformed {
        /// The file and line, or the variables.
        origin: String,
        /// What is wrong.
        problem: String,
    },
}

impl CredentialsError {
    /// Returns how to fix it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unread { .. } => {
                "name a readable file of at most 16 KiB, or use TRIMTAB_USER and \
                 TRIMTAB_PASSWORD, or TRIMTAB_API_KEY"
                    .to_owned()
            }
            Self::Exposed { path, .. } => format!("chmod 600 {}", path.display()),
            Self::Owner { path, .. } => {
                format!(
                    "the file has to be yours or root's: chown root {}",
                    path.display()
                )
            }
            Self::Malformed { .. } => "one of: user and password; api_key; bearer_token \
                 (in a file: lines KEY = VALUE; in the environment: TRIMTAB_USER and \
                 TRIMTAB_PASSWORD; TRIMTAB_API_KEY; TRIMTAB_BEARER_TOKEN)"
                .to_owned(),
        }
    }
}

/// The values read, before checking that they fit together.
#[derive(Default)]
struct Parts {
    user: Option<String>,
    password: Option<Secret>,
    api_key: Option<Secret>,
    bearer_token: Option<Secret>,
}

impl Parts {
    fn credentials(self) -> Result<Credentials, String> {
        let credentials = match (self.user, self.password, self.api_key, self.bearer_token) {
            (None, None, None, None) => Credentials::None,
            (Some(user), Some(password), None, None) => Credentials::Basic { user, password },
            (None, None, Some(key), None) => Credentials::ApiKey(key),
            (None, None, None, Some(token)) => Credentials::Bearer(token),
            (Some(_), None, None, None) => return Err("a user without a password".to_owned()),
            (None, Some(_), None, None) => return Err("a password without a user".to_owned()),
            _ => return Err("more than one kind of credentials".to_owned()),
        };
        credentials.header().map(|_| credentials)
    }
}

impl Credentials {
    /// Reads credentials from the environment through `variable` (in a program:
    /// [`std::env::var_os`]). An empty variable counts as unset.
    ///
    /// # Errors
    /// If the variables do not fit together, or contain characters that HTTP cannot carry.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, CredentialsError> {
        let malformed = |problem| CredentialsError::Malformed {
            origin: "environment (TRIMTAB_...)".to_owned(),
            problem,
        };
        let read = |name: &str| match variable(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value).filter(|value| !value.is_empty())),
            Some(Err(_)) => Err(malformed(format!("{name} is not UTF-8"))),
        };
        let parts = Parts {
            user: read(USER)?,
            password: read(PASSWORD)?.map(Secret::new),
            api_key: read(API_KEY)?.map(Secret::new),
            bearer_token: read(BEARER_TOKEN)?.map(Secret::new),
        };
        parts.credentials().map_err(malformed)
    }

    /// Reads a file of `KEY = VALUE` lines with the keys `user`, `password`, `api_key` and
    /// `bearer_token`; lines that start with `#` are comments. Whitespace around values is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, is not a regular file, is readable by group or others, is owned
    /// by anyone other than the caller or root, or does not contain exactly one kind of
    /// credentials.
    pub fn from_file(path: &Path) -> Result<Self, CredentialsError> {
        let unread = |error| CredentialsError::Unread {
            path: path.to_owned(),
            error,
        };
        // The checks apply to the opened file, not to the path, which may change.
        let file = regular_file::open(path).map_err(unread)?;
        let metadata = file.metadata().map_err(unread)?;
        let mode = metadata.mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(CredentialsError::Exposed {
                path: path.to_owned(),
                mode,
            });
        }
        let owner = metadata.uid();
        if owner != 0 && owner != rustix::process::geteuid().as_raw() {
            return Err(CredentialsError::Owner {
                path: path.to_owned(),
                owner,
            });
        }
        // Allocated once, so that growing leaves no copies behind.
        let mut text = Zeroizing::new(String::with_capacity(
            usize::try_from(FILE_BYTES_MAX).unwrap_or_default() + 1,
        ));
        file.take(FILE_BYTES_MAX + 1)
            .read_to_string(&mut text)
            .map_err(unread)?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(unread(io::Error::other("longer than 16 KiB")));
        }
        Self::parse(&path.display().to_string(), &text)
    }

    /// Parses the text of a credentials file. `name` is the file name used in errors.
    ///
    /// # Errors
    /// If a line cannot be parsed, or the keys do not fit together.
    pub fn parse(name: &str, text: &str) -> Result<Self, CredentialsError> {
        let mut parts = Parts::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let malformed = |problem: &str| CredentialsError::Malformed {
                origin: format!("credentials file {name}:{}", index + 1),
                problem: problem.to_owned(),
            };
            let Some((key, value)) = line.split_once('=') else {
                return Err(malformed("not of the form KEY = VALUE"));
            };
            let value = value.trim();
            if value.is_empty() {
                return Err(malformed("the value is empty"));
            }
            let secret = || Secret::new(value.to_owned());
            // The key is not repeated either: it could be half of a password.
            let twice = match key.trim() {
                "user" => parts.user.replace(value.to_owned()).is_some(),
                "password" => parts.password.replace(secret()).is_some(),
                "api_key" => parts.api_key.replace(secret()).is_some(),
                "bearer_token" => parts.bearer_token.replace(secret()).is_some(),
                _ => return Err(malformed("an unknown key")),
            };
            if twice {
                return Err(malformed("a key for the second time"));
            }
        }
        let credentials = parts.credentials();
        let malformed = |problem: String| CredentialsError::Malformed {
            origin: format!("credentials file {name}"),
            problem,
        };
        match credentials.map_err(malformed)? {
            Self::None => Err(malformed("it holds no credentials".to_owned())),
            found => Ok(found),
        }
    }

    /// Whether there are no credentials to send.
    pub fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Returns the value of the `Authorization` header, for another client than this crate's; `None` if there are no
    /// credentials.
    ///
    /// # Errors
    /// [`ErrorKind::Setup`] if a header cannot hold them.
    pub fn authorization(&self) -> Result<Option<Secret>, HttpError> {
        let header = self
            .header()
            .map_err(|reason| HttpError::new("credentials", ErrorKind::Setup(reason)))?;
        Ok(header.map(Secret))
    }

    /// As [`Self::authorization`]. The error says what cannot be sent.
    pub(crate) fn header(&self) -> Result<Option<Zeroizing<String>>, String> {
        let encoded = |text: &str| Zeroizing::new(BASE64_STANDARD.encode(text));
        let visible = |what: &str, secret: &Secret| {
            let text = secret.text();
            if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) {
                Ok(())
            } else {
                Err(format!(
                    "{what} holds a character other than printable ASCII, or nothing"
                ))
            }
        };
        Ok(Some(Zeroizing::new(match self {
            Self::None => return Ok(None),
            Self::Basic { user, password } => {
                let control = |text: &str| text.chars().any(char::is_control);
                if user.contains(':') || control(user) || control(password.text()) {
                    return Err(
                        "the user holds a colon, or user or password a control character"
                            .to_owned(),
                    );
                }
                let pair = Zeroizing::new(format!("{user}:{}", password.text()));
                format!("Basic {}", *encoded(&pair))
            }
            Self::ApiKey(key) => {
                visible("the API key", key)?;
                if key.text().contains(':') {
                    format!("ApiKey {}", *encoded(key.text()))
                } else {
                    format!("ApiKey {}", key.text())
                }
            }
            Self::Bearer(token) => {
                visible("the bearer token", token)?;
                format!("Bearer {}", token.text())
            }
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn environment(pairs: &[(&str, &str)]) -> Result<Credentials, CredentialsError> {
        Credentials::from_environment(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.into())
        })
    }

    fn header(credentials: &Credentials) -> String {
        credentials.header().unwrap().unwrap().to_string()
    }

    #[test]
    fn the_environment_selects_one_kind() {
        assert!(environment(&[]).unwrap().is_none());
        assert!(environment(&[(API_KEY, "")]).unwrap().is_none());
        // The example from RFC 7617, section 2.
        let basic = environment(&[(USER, "Aladdin"), (PASSWORD, "open sesame")]).unwrap();
        assert_eq!(header(&basic), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        // The example from the Elasticsearch reference: id and api_key, and their "encoded" form.
        let encoded = "VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw==";
        let pair = environment(&[(API_KEY, "VuaCfGcBCdbkQm-e5aOx:ui2lp2axTNmsyakw9tvNnw")]);
        assert_eq!(header(&pair.unwrap()), format!("ApiKey {encoded}"));
        let key = environment(&[(API_KEY, encoded)]).unwrap();
        assert_eq!(header(&key), format!("ApiKey {encoded}"));
        let bearer = environment(&[(BEARER_TOKEN, "mF_9.B5f-4.1JqM")]).unwrap();
        assert_eq!(header(&bearer), "Bearer mF_9.B5f-4.1JqM");
    }

    #[test]
    fn conflicting_variables_are_rejected_without_their_values() {
        for pairs in [
            &[(USER, "hunter2")][..],
            &[(PASSWORD, "hunter2")],
            &[(USER, "u"), (PASSWORD, "hunter2"), (API_KEY, "hunter2")],
            &[(API_KEY, "hunter2\r\nX-Other: 1")],
            &[(BEARER_TOKEN, "hunter2 hunter2")],
            &[(USER, "a:hunter2"), (PASSWORD, "p")],
            &[(USER, "a"), (PASSWORD, "hunter2\n")],
        ] {
            let error = environment(pairs).unwrap_err();
            assert!(!format!("{error} {error:?} {}", error.hint()).contains("hunter2"));
        }
    }

    #[test]
    fn a_variable_that_is_not_utf_8_is_not_ignored() {
        use std::os::unix::ffi::OsStringExt;
        let variable =
            |name: &str| (name == PASSWORD).then(|| OsString::from_vec(b"hunter2\xff".to_vec()));
        let error = Credentials::from_environment(variable).unwrap_err();
        assert!(
            error.to_string().ends_with("TRIMTAB_PASSWORD is not UTF-8"),
            "{error}"
        );
        assert!(!format!("{error:?}").contains("hunter2"));
    }

    #[test]
    fn debug_output_hides_secrets() {
        let secret = || Secret::new("hunter2".to_owned());
        for credentials in [
            Credentials::Basic {
                user: "elastic".to_owned(),
                password: secret(),
            },
            Credentials::ApiKey(secret()),
            Credentials::Bearer(secret()),
        ] {
            assert!(!format!("{credentials:?}").contains("hunter2"));
        }
    }

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        file
    }

    #[test]
    fn a_private_file_is_read() {
        for mode in [0o600, 0o400] {
            let file = file("# cluster\nuser = elastic\n\npassword=a = b \n", mode);
            assert_eq!(
                Credentials::from_file(file.path()).unwrap(),
                Credentials::Basic {
                    user: "elastic".to_owned(),
                    password: Secret::new("a = b".to_owned()),
                }
            );
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_rejected() {
        for mode in [0o640, 0o604, 0o660, 0o620, 0o777] {
            let file = file("api_key = x\n", mode);
            let error = Credentials::from_file(file.path()).unwrap_err();
            assert!(
                matches!(error, CredentialsError::Exposed { mode: found, .. } if found == mode)
            );
            assert!(error.hint().starts_with("chmod 600 "));
        }
    }

    #[test]
    fn large_and_special_files_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let long = file(&"#\n".repeat(9000), 0o600);
        let binary = directory.path().join("binary");
        std::fs::write(&binary, [0xff, 0xfe]).unwrap();
        std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o600)).unwrap();
        let missing = directory.path().join("missing");
        for path in [directory.path(), &fifo, long.path(), &binary, &missing] {
            let error = Credentials::from_file(path).unwrap_err();
            assert!(matches!(error, CredentialsError::Unread { .. }), "{error}");
        }
    }

    #[test]
    fn malformed_lines_are_located_but_not_quoted() {
        for (text, place) in [
            ("user = a\nhunter2\n", "f:2: not of the form"),
            ("hunter2 = 1\n", "f:1: an unknown key"),
            ("password =\n", "f:1: the value is empty"),
            (
                "password = hunter2\npassword = hunter2\n",
                "f:2: a key for the second time",
            ),
            ("password = hunter2\n", "f: a password without a user"),
            ("# nothing\n", "f: it holds no credentials"),
        ] {
            let error = Credentials::parse("f", text).unwrap_err().to_string();
            assert!(error.contains(place), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_a_server_repeats_is_redacted() {
        let secret = Secret::new("Basic dXNlcjpwYXNzd29yZA==".to_owned());
        let text = "bad header 'Basic dXNlcjpwYXNzd29yZA==' or dXNlcjpwYXNzd29yZA==, Basic";
        assert_eq!(
            secret.redacted(text),
            "bad header '(secret)' or (secret), Basic"
        );
    }
}
