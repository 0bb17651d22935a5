//! What makes a server the same one after a restart: its certificate authority, its keys, the
//! administrator's token. In a durable server they are files that only their owner may read.

use std::{
    io::{self, Write},
    net::IpAddr,
    path::{Path, PathBuf},
};

use anneal_kit::Rng;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};

/// The server's secrets. Deliberately without `Debug`.
pub struct Identity {
    /// The authority's certificate as PEM, for clients.
    pub authority: String,
    authority_key: KeyPair,
    /// Whoever brings it is the administrator.
    pub admin_token: String,
    /// Signs the tokens of service accounts.
    pub signing_key: [u8; 32],
}

#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    #[error("cannot read or write {path}: {error}")]
    File { path: PathBuf, error: io::Error },
    #[error("{path} is damaged: {why}; remove it to make a new one, which old kubeconfigs will not trust")]
    Damaged { path: PathBuf, why: String },
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
}

impl Identity {
    /// A new one that nothing remembers.
    ///
    /// # Errors
    /// When no certificate can be made.
    pub fn ephemeral(rng: &Rng) -> Result<Self, IdentityError> {
        let authority_key = KeyPair::generate()?;
        let authority = authority_params().self_signed(&authority_key)?.pem();
        Ok(Self { authority, authority_key, admin_token: hex(&rng.bytes::<32>()), signing_key: rng.bytes() })
    }

    /// The one of a directory, made on first use.
    ///
    /// # Errors
    /// When its files cannot be read or written, or are damaged.
    pub fn of(directory: &Path, rng: &Rng) -> Result<Self, IdentityError> {
        let file = |name: &str| directory.join(name);
        let fresh = Self::ephemeral(rng)?;
        let key_path = file("ca.key");
        let certificate_path = file("ca.crt");
        let damaged = |path: &Path, why: String| IdentityError::Damaged { path: path.to_owned(), why };
        // The key is written first: a certificate alone has lost it.
        if certificate_path.exists() && !key_path.exists() {
            return Err(damaged(&certificate_path, format!("its key {} is missing", key_path.display())));
        }
        let key = keep(&key_path, &fresh.authority_key.serialize_pem())?;
        let authority_key = KeyPair::from_pem(&key).map_err(|error| damaged(&key_path, error.to_string()))?;
        // Of the key that is kept, not of the fresh one: whoever stopped us between the two files.
        let certificate = authority_params().self_signed(&authority_key)?.pem();
        let authority = keep(&certificate_path, &certificate)?;
        let certificate = CertificateDer::from_pem_slice(authority.as_bytes())
            .map_err(|_| damaged(&certificate_path, "it is not a certificate".to_owned()))?;
        let public_key = authority_key.subject_public_key_info();
        if !certificate.windows(public_key.len()).any(|part| part == public_key) {
            return Err(damaged(&certificate_path, format!("it is not of the key {}", key_path.display())));
        }
        let token_path = file("admin.token");
        let admin_token = keep(&token_path, &fresh.admin_token)?.trim().to_owned();
        if admin_token.len() < 64 {
            return Err(damaged(&token_path, "the token is too short".to_owned()));
        }
        let signing_path = file("service-account.key");
        let signing_key = keep(&signing_path, &hex(&fresh.signing_key))?;
        let signing_key = unhex(signing_key.trim())
            .ok_or_else(|| damaged(&signing_path, "it is not 64 hexadecimal digits".to_owned()))?;
        Ok(Self { authority, authority_key, admin_token, signing_key })
    }

    /// A certificate of the server for these addresses, and its key.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn certificate(
        &self,
        addresses: &[IpAddr],
    ) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), IdentityError> {
        const NAMES: [&str; 4] = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
        params.distinguished_name = named("anneal");
        params.subject_alt_names.extend(addresses.iter().map(|address| SanType::IpAddress(*address)));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issuer = Issuer::new(authority_params(), &self.authority_key);
        let certificate = params.signed_by(&key, &issuer)?;
        Ok((certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into()))
    }
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named("anneal-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// A file's content; the given one, written, if there is no file.
fn keep(path: &Path, fresh: &str) -> Result<String, IdentityError> {
    let failed = |error| IdentityError::File { path: path.to_owned(), error };
    match std::fs::read_to_string(path) {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_private(path, fresh).map_err(failed)?;
            Ok(fresh.to_owned())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Writes a file that only its owner may read, whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let scratch = path.with_file_name(name);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&scratch)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&scratch, path)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_and_read_alike() {
        let key = Rng::seeded(1).bytes::<32>();
        assert_eq!(unhex(&hex(&key)), Some(key));
        assert_eq!(unhex("zz"), None);
    }

    #[test]
    fn an_authority_without_its_key_is_refused_and_left_as_it_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let identity = || Identity::of(directory.path(), &Rng::seeded(1));
        let first = identity().expect("a new one");
        assert_eq!(identity().expect("the same").authority, first.authority);
        let key = std::fs::read_to_string(path("ca.key")).expect("a key");

        std::fs::remove_file(path("ca.key")).expect("to remove it");
        let error = identity().err().expect("must be refused").to_string();
        assert!(error.contains("ca.key is missing"), "{error}");
        assert!(!path("ca.key").exists(), "nothing takes its place");

        let another = KeyPair::generate().expect("a key").serialize_pem();
        std::fs::write(path("ca.key"), another).expect("to write it");
        let error = identity().err().expect("must be refused").to_string();
        assert!(error.contains("not of the key"), "{error}");

        std::fs::write(path("ca.key"), key).expect("to write it");
        assert_eq!(identity().expect("whole again").authority, first.authority);
    }
}
