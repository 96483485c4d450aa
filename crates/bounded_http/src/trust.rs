//! Trusted certificate authorities.

use crate::error::{ErrorKind, HttpError};
use linux::regular_file;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// A bundle of all public authorities is about 250 KiB.
const CA_FILE_BYTES_MAX: u64 = 16 << 20;

/// Builds the TLS configuration of this crate's client.
pub(crate) fn tls_config(
    ca_file: Option<&Path>,
    accept_invalid_certificates: bool,
) -> Result<TlsConfig, HttpError> {
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(authorities(ca_file)?)))
        .disable_verification(accept_invalid_certificates)
        .build())
}

/// Builds the same configuration for other clients.
pub(crate) fn client_config(
    ca_file: Option<&Path>,
    accept_invalid_certificates: bool,
) -> Result<ClientConfig, HttpError> {
    let mut roots = RootCertStore::empty();
    let authorities = authorities(ca_file)?;
    // Those of the system that cannot be used are left out; those of `ca_file` have been checked.
    roots.add_parsable_certificates(authorities.iter().map(|found| found.der().into()));
    let provider = Arc::new(ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::new("TLS", ErrorKind::Setup(error.to_string())))?;
    let verified = if accept_invalid_certificates {
        let verifier = Arc::new(AcceptAny(provider));
        versions
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    } else {
        versions.with_root_certificates(roots)
    };
    Ok(verified.with_no_client_auth())
}

/// Accepts any certificate, as the user asked for.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The system's authorities and those in `ca_file`.
fn authorities(ca_file: Option<&Path>) -> Result<Vec<Certificate<'static>>, HttpError> {
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
    Ok(roots)
}

fn read_ca_file(path: &Path) -> Result<Vec<Certificate<'static>>, HttpError> {
    let failed = |reason: String| {
        HttpError::new(
            format!("certificates of {}", path.display()),
            ErrorKind::Setup(reason),
        )
    };
    let mut text = Vec::new();
    regular_file::open(path)
        .and_then(|file| file.take(CA_FILE_BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > CA_FILE_BYTES_MAX {
        return Err(failed(format!("longer than {CA_FILE_BYTES_MAX} bytes")));
    }
    let mut certificates = Vec::new();
    let mut check = RootCertStore::empty();
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
