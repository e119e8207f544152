//! Encryption: what is asked for, whom to trust, and what to do when a server is not trusted.
//!
//! The modes mean what they mean to the databases' own clients. Up to `require` nobody is verified, unless certificates of
//! authorities are given; `verify-ca` wants a certificate of one of them; `verify-full` wants the host's name in it, too.

use crate::OpenError;
use crate::environment::{is_superusers, permissions};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::error::Error as AnyError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Whether a connection is encrypted, and whom to trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Never.
    Disable,
    /// Only if the server wants it.
    Allow,
    /// If the server can.
    Prefer,
    /// Always.
    Require,
    /// Always, with a certificate of a known authority.
    VerifyCa,
    /// Always, with a certificate of a known authority for this host.
    VerifyFull,
}

impl Mode {
    /// By `PostgreSQL`'s name for it.
    pub(super) fn of_libpq(name: &str) -> Option<Self> {
        Some(match name {
            "disable" => Self::Disable,
            "allow" => Self::Allow,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }

    /// By `MySQL`'s name for it.
    pub(super) fn of_mysql(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "DISABLED" => Self::Disable,
            "PREFERRED" => Self::Prefer,
            "REQUIRED" => Self::Require,
            "VERIFY_CA" => Self::VerifyCa,
            "VERIFY_IDENTITY" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// Authorities to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a file.
    File(PathBuf),
}

/// Whose words the settings have, in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trusted {
    ByPostgreSql,
    ByMySql,
}

/// What is asked for, and found to make sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encryption {
    pub(crate) mode: Mode,
    pub(super) roots: Option<Roots>,
    /// Certificate and key of this client.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
    words: Trusted,
}

impl Encryption {
    pub(super) fn new(
        mode: Mode,
        roots: Option<Roots>,
        certificate: Option<PathBuf>,
        key: Option<PathBuf>,
        words: Trusted,
    ) -> Result<Self, OpenError> {
        let refused = |message: &str| Err(OpenError::Encryption { message: message.to_owned() });
        match (words, mode, &roots) {
            (Trusted::ByPostgreSql, Mode::VerifyCa, None) => {
                return refused(
                    "sslmode=verify-ca needs the authority's certificate: give sslrootcert=FILE, or take \
                     sslmode=verify-full, which also knows the system's authorities",
                );
            }
            (Trusted::ByPostgreSql, Mode::Require | Mode::VerifyCa, Some(Roots::System)) => {
                return refused(
                    "sslrootcert=system trusts everybody who has a certificate of any public authority, unless the name \
                     is looked at, too: take sslmode=verify-full",
                );
            }
            (Trusted::ByMySql, Mode::VerifyCa, None | Some(Roots::System)) => {
                return refused(
                    "ssl-mode=VERIFY_CA needs the authority's certificate, since everybody has one of a public authority: \
                     give ssl-ca=FILE, or take ssl-mode=VERIFY_IDENTITY, which also knows the system's authorities",
                );
            }
            _ => {}
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, _) => None,
            (Some(certificate), None) => {
                let option = if words == Trusted::ByMySql { "ssl-key" } else { "sslkey" };
                let certificate = certificate.display();
                return refused(&format!("the certificate {certificate} needs its key: give {option}=FILE"));
            }
        };
        Ok(Self { mode, roots, identity: identity.filter(|_| mode != Mode::Disable), words })
    }

    /// Everything that a handshake needs, read from its files.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, OpenError> {
        let provider = Arc::new(ring::default_provider());
        let trust = match (self.mode, &self.roots) {
            (Mode::VerifyFull, roots) => Some((read_roots(roots.as_ref().unwrap_or(&Roots::System))?, Names::Matter)),
            (Mode::VerifyCa | Mode::Require, Some(roots)) => Some((read_roots(roots)?, Names::DoNotMatter)),
            _ => None,
        };
        let verifier = Verifier::new(Arc::clone(&provider), trust)?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|it| OpenError::Encryption { message: it.to_string() })?;
        let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
        let Some((certificate, key)) = &self.identity else { return Ok(Arc::new(builder.with_no_client_auth())) };
        check_key(key)?;
        let chain = certificates("client's certificate", certificate)?;
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|it| unreadable("client's key", key, &it))?;
        let config = builder.with_client_auth_cert(chain, secret);
        config.map(Arc::new).map_err(|it| unreadable("client's certificate", certificate, &it))
    }

    /// What to do about a failed handshake.
    pub(super) fn cure(&self, error: &(dyn AnyError + 'static), host: &str) -> Option<String> {
        let error = handshake_error(error)?;
        let (root, any, chain) = match self.words {
            Trusted::ByPostgreSql => ("sslrootcert=FILE", "sslmode=require", "sslmode=verify-ca"),
            Trusted::ByMySql => ("ssl-ca=FILE", "ssl-mode=REQUIRED", "ssl-mode=VERIFY_CA"),
        };
        Some(match error {
            Error::InvalidCertificate(
                // Another authority of the same name has another signature.
                CertificateError::UnknownIssuer | CertificateError::BadSignature,
            ) => format!(
                "the server's certificate is signed by an authority that is not trusted: give the authority's \
                 certificate with {root}, or take {any} to accept any certificate"
            ),
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => format!(
                "the server's certificate is not for `{host}`: connect by a name that is among the alternative names of \
                 the certificate, or take {chain}, which does not look at the name"
            ),
            Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
                "the server's certificate has expired: it needs a new one".to_owned()
            }
            Error::InvalidCertificate(it) if is_authority(it) => format!(
                "the server signed its certificate itself, and it is not trusted: give that very certificate with {root}, \
                 or take {any} to accept any certificate"
            ),
            Error::AlertReceived(_) => {
                let (certificate, key) = match self.words {
                    Trusted::ByPostgreSql => ("sslcert=FILE", "sslkey=FILE"),
                    Trusted::ByMySql => ("ssl-cert=FILE", "ssl-key=FILE"),
                };
                format!(
                    "the server ended the handshake; if it wants a client's certificate, give {certificate} and {key}"
                )
            }
            _ => return None,
        })
    }
}

/// The error of a handshake among the causes of an error.
fn handshake_error<'e>(error: &'e (dyn AnyError + 'static)) -> Option<&'e Error> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        // What is inside an error of input or output is not among its causes.
        let inside = error.downcast_ref::<io::Error>().and_then(|it| it.get_ref());
        if let Some(found) = inside.and_then(|it| handshake_error(it)) {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// Was it a handshake that failed, and nothing else?
pub(super) fn is_handshake(error: &(dyn AnyError + 'static)) -> bool {
    handshake_error(error).is_some()
}

fn read_roots(roots: &Roots) -> Result<Vec<CertificateDer<'static>>, OpenError> {
    match roots {
        Roots::File(file) => certificates("authorities' certificates", file),
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            match found.errors.first() {
                Some(error) if found.certs.is_empty() => Err(OpenError::Encryption {
                    message: format!(
                        "the system's authorities cannot be read: {error}; give their certificates in a file"
                    ),
                }),
                _ => Ok(found.certs),
            }
        }
    }
}

fn certificates(what: &'static str, file: &Path) -> Result<Vec<CertificateDer<'static>>, OpenError> {
    let found = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|it| unreadable(what, file, &it))?;
    if found.is_empty() {
        return Err(unreadable(what, file, &"there is no certificate in PEM format"));
    }
    Ok(found)
}

fn unreadable(what: &'static str, file: &Path, reason: &dyn std::fmt::Display) -> OpenError {
    OpenError::File { what, file: file.display().to_string(), reason: reason.to_string() }
}

/// A key is for its owner only; the superuser may let a group read it.
pub(super) fn check_key(key: &Path) -> Result<(), OpenError> {
    let about = fs::metadata(key).map_err(|it| unreadable("client's key", key, &it))?;
    let forbidden = if is_superusers(&about) { 0o037 } else { 0o077 };
    if permissions(&about) & forbidden != 0 {
        let cure = format!("others may read it; chmod 600 {}", key.display());
        return Err(unreadable("client's key", key, &cure));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    Matter,
    DoNotMatter,
}

/// Decides whether to trust a server.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// None trusts everybody.
    trust: Option<Trust>,
}

#[derive(Debug)]
struct Trust {
    chains: Arc<WebPkiServerVerifier>,
    roots: Vec<CertificateDer<'static>>,
    names: Names,
}

impl Verifier {
    fn new(
        provider: Arc<CryptoProvider>,
        trust: Option<(Vec<CertificateDer<'static>>, Names)>,
    ) -> Result<Self, OpenError> {
        let Some((roots, names)) = trust else { return Ok(Self { provider, trust: None }) };
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(roots.iter().cloned());
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(&provider)).build();
        let chains = chains.map_err(|it| OpenError::Encryption { message: format!("no authority to trust: {it}") })?;
        Ok(Self { provider, trust: Some(Trust { chains, roots, names }) })
    }
}

impl Trust {
    fn verify(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.chains.verify_server_cert(shown, others, host, ocsp, now) {
            // The name is the last thing that is looked at.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.names == Names::DoNotMatter => Ok(ServerCertVerified::assertion()),
            // A server that signed its own certificate shows what is itself in the file. Its time was looked at before.
            Err(Error::InvalidCertificate(it)) if is_authority(&it) && self.roots.contains(shown) => {
                if self.names == Names::Matter {
                    let parsed = rustls::server::ParsedCertificate::try_from(shown)?;
                    rustls::client::verify_server_name(&parsed, host)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }
}

/// Is it wrong because it is a certificate of an authority?
fn is_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(it) if it.0.to_string().contains("CaUsedAsEndEntity"))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.trust {
            None => Ok(ServerCertVerified::assertion()),
            Some(trust) => trust.verify(shown, others, host, ocsp, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
