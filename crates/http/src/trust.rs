//! Trusted certificate authorities.

use crate::error::{ErrorKind, HttpError};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// A bundle of all public authorities is about 250 KiB.
const CA_FILE_BYTES_MAX: u64 = 16 << 20;

/// Builds the TLS configuration from the system's authorities and those in `ca_file`.
pub(crate) fn tls_config(
    ca_file: Option<&Path>,
    accept_invalid_certificates: bool,
) -> Result<TlsConfig, HttpError> {
    // A system without certificates is not an error here: the server may be unencrypted, or its
    // authority may be in `ca_file`. Otherwise its certificate will be rejected.
    let system = rustls_native_certs::load_native_certs();
    let mut roots: Vec<Certificate<'static>> = system
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    if let Some(path) = ca_file {
        roots.extend(read_ca_file(path)?);
    }
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .disable_verification(accept_invalid_certificates)
        .build())
}

fn read_ca_file(path: &Path) -> Result<Vec<Certificate<'static>>, HttpError> {
    let failed = |reason: String| {
        HttpError::new(
            format!("certificates of {}", path.display()),
            ErrorKind::Setup(reason),
        )
    };
    let mut text = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > CA_FILE_BYTES_MAX {
        return Err(failed(format!("longer than {CA_FILE_BYTES_MAX} bytes")));
    }
    let mut certificates = Vec::new();
    let mut check = rustls::RootCertStore::empty();
    for item in parse_pem(&text) {
        match item {
            Ok(PemItem::Certificate(certificate)) => {
                // Certificates that the library cannot use must not be skipped silently.
                check
                    .add(certificate.der().into())
                    .map_err(|error| failed(format!("not a usable certificate: {error}")))?;
                certificates.push(certificate);
            }
            // Ignore a private key stored in the same file.
            Ok(_) => {}
            Err(error) => return Err(failed(format!("not PEM: {error}"))),
        }
    }
    if certificates.is_empty() {
        return Err(failed("it holds no certificate in PEM form".to_owned()));
    }
    Ok(certificates)
}
