//! Certificates for servers and clients of tests, made when they are needed.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, as texts in PEM format.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

/// An authority, which signs certificates.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate in PEM format, to be trusted.
    pub certificate: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self, rcgen::Error> {
        let mut params = named("an authority of a test", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// A certificate for a server with these names or addresses.
    pub fn server(&self, names: &[&str]) -> Result<Identity, rcgen::Error> {
        self.issue(names.first().unwrap_or(&"server"), names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate for a client of this name.
    pub fn client(&self, name: &str) -> Result<Identity, rcgen::Error> {
        self.issue(name, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, name: &str, names: &[&str], usage: ExtendedKeyUsagePurpose) -> Result<Identity, rcgen::Error> {
        let mut params = named(name, names)?;
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        Ok(Identity { certificate: params.signed_by(&key, &self.issuer)?.pem(), key: key.serialize_pem() })
    }
}

/// A certificate of a server that signed it itself, as `openssl req -x509` makes it: it could sign others, too.
pub fn self_signed(names: &[&str]) -> Result<Identity, rcgen::Error> {
    let mut params = named(names.first().unwrap_or(&"server"), names)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    Ok(Identity { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
}

fn named(name: &str, names: &[&str]) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}
