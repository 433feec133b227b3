//! Certificate signing requests: reading, checking and making them.

use std::fmt;

use rustls_pki_types::pem::SectionKind;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;

use crate::certificate::alternative_names_extension;
use crate::key::PrivateKey;
use crate::public_key::verify_signature;
use crate::subject::{AlternativeName, Subject};
use crate::{Error, der, pem};

/// Largest request that is read; honest ones have a few kilobytes.
const MAX_LENGTH: usize = 256 << 10;

/// A signing request whose signature fits its key.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateRequest {
    der: Vec<u8>,
    subject: Subject,
    alternative_names: Vec<AlternativeName>,
    public_key: Vec<u8>,
    is_plain: bool,
}

impl fmt::Debug for CertificateRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateRequest({:?})", self.subject.common_name)
    }
}

impl CertificateRequest {
    /// Reads a request and checks its signature.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_LENGTH {
            return Err(Error::TooLarge { what: "certificate request", limit: MAX_LENGTH });
        }
        let malformed = |why: String| Error::Malformed { what: "certificate request", why };
        let (rest, parsed) = X509CertificationRequest::from_der(bytes).map_err(|error| malformed(error.to_string()))?;
        if !rest.is_empty() {
            return Err(malformed("trailing data".into()));
        }
        let info = &parsed.certification_request_info;
        verify_signature(&info.subject_pki, &parsed.signature_algorithm, &parsed.signature_value.data, info.raw)?;
        let mut alternative_names = Vec::new();
        for extension in parsed.requested_extensions().into_iter().flatten() {
            match extension {
                ParsedExtension::SubjectAlternativeName(names) => {
                    alternative_names = AlternativeName::read_all(&names.general_names)?;
                }
                ParsedExtension::ParseError { error } => return Err(malformed(error.to_string())),
                _ => {}
            }
        }
        Ok(Self {
            der: bytes.to_vec(),
            subject: Subject::read(&info.subject)?,
            alternative_names,
            public_key: info.subject_pki.raw.to_vec(),
            is_plain: is_plain(&parsed),
        })
    }

    /// Reads the first block of a PEM text, which must be a request.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::first(text, SectionKind::Csr, "CERTIFICATE REQUEST")?)
    }

    /// Makes a request for a key.
    pub fn new(subject: &Subject, alternative_names: &[AlternativeName], key: &PrivateKey) -> Result<Self, Error> {
        let mut attributes = Vec::new();
        if !alternative_names.is_empty() {
            let extensions = der::sequence(&[alternative_names_extension(alternative_names, false)]);
            attributes = der::sequence(&[
                der::object_identifier(&[1, 2, 840, 113_549, 1, 9, 14]),
                der::set_of(vec![extensions]),
            ]);
        }
        let body = der::sequence(&[
            der::integer(&[0]),
            subject.to_der(),
            key.public_key().to_der().to_vec(),
            der::explicit(0, &attributes),
        ]);
        let signature = der::bit_string(&key.sign_certificate(&body)?);
        Self::from_der(&der::sequence(&[body, key.algorithm().identifier(), signature]))
    }

    /// The request as PEM `CERTIFICATE REQUEST`.
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE REQUEST", &self.der)
    }

    /// The encoded request.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Whom the certificate shall be for.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The other names that are asked for.
    pub fn alternative_names(&self) -> &[AlternativeName] {
        &self.alternative_names
    }

    /// The `SubjectPublicKeyInfo` of the key.
    pub fn public_key_der(&self) -> &[u8] {
        &self.public_key
    }

    /// Whether the request says nothing but one common name, organizations, and at most one list of alternative names
    /// of kinds that are known. Such a request means the same to every reader; of others, one reader may take the
    /// first value and another the last.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }
}

fn is_plain(parsed: &X509CertificationRequest<'_>) -> bool {
    let info = &parsed.certification_request_info;
    let (mut common_names, mut others) = (0, 0);
    for attribute in info.subject.iter_attributes() {
        let numbers: Vec<u64> = attribute.attr_type().iter().map(Iterator::collect).unwrap_or_default();
        match *numbers {
            [2, 5, 4, 3] => common_names += 1,
            [2, 5, 4, 10] => {}
            _ => others += 1,
        }
    }
    if common_names != 1 || others != 0 {
        return false;
    }
    match info.attributes() {
        [] => true,
        [attribute] => {
            let ParsedCriAttribute::ExtensionRequest(request) = attribute.parsed_attribute() else { return false };
            match &*request.extensions {
                [] => true,
                [extension] => match extension.parsed_extension() {
                    ParsedExtension::SubjectAlternativeName(names) => names.general_names.iter().all(is_known),
                    _ => false,
                },
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_known(name: &GeneralName<'_>) -> bool {
    matches!(
        name,
        GeneralName::DNSName(_) | GeneralName::IPAddress(_) | GeneralName::RFC822Name(_) | GeneralName::URI(_)
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_of_another_library_are_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["node-1".to_owned(), "10.1.2.3".to_owned()]).unwrap();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        parameters.distinguished_name.push(rcgen::DnType::OrganizationName, "system:nodes");
        parameters.distinguished_name.push(rcgen::DnType::CommonName, "system:node:node-1");
        parameters.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        let request = parameters.serialize_request(&key).unwrap();
        let read = CertificateRequest::from_pem(&request.pem().unwrap()).unwrap();
        assert_eq!(read.subject(), &Subject::new("system:node:node-1", ["system:nodes"]));
        assert_eq!(read.alternative_names(), [AlternativeName::host("node-1"), AlternativeName::host("10.1.2.3")]);
    }

    #[test]
    fn requests_of_ours_are_read_by_another_library() {
        let key = PrivateKey::generate().unwrap();
        let names = [AlternativeName::Dns("a.b".into()), AlternativeName::Uri("spiffe://x/y".into())];
        let request = CertificateRequest::new(&Subject::new("me", ["us"]), &names, &key).unwrap();
        let read = rcgen::CertificateSigningRequestParams::from_pem(&request.to_pem()).unwrap();
        assert_eq!(read.params.subject_alt_names.len(), 2);
        assert_eq!(CertificateRequest::from_pem(&request.to_pem()).unwrap(), request);
        let bare = CertificateRequest::new(&Subject::new("me", ["us"]), &[], &key).unwrap();
        assert!(bare.alternative_names().is_empty());
    }

    #[test]
    fn only_what_means_the_same_to_every_reader_is_plain() {
        use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, SanType};
        let read = |change: &dyn Fn(&mut CertificateParams)| {
            let mut parameters = CertificateParams::new(["node-1".to_owned()]).unwrap();
            parameters.distinguished_name = DistinguishedName::new();
            parameters.distinguished_name.push(DnType::OrganizationName, "system:nodes");
            parameters.distinguished_name.push(DnType::CommonName, "system:node:node-1");
            change(&mut parameters);
            let key = rcgen::KeyPair::generate().unwrap();
            let request = parameters.serialize_request(&key).unwrap();
            CertificateRequest::from_der(request.der()).unwrap().is_plain()
        };
        assert!(read(&|_| {}));
        assert!(!read(&|parameters| parameters.distinguished_name.push(DnType::OrganizationalUnitName, "x")));
        assert!(!read(&|parameters| parameters.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth)));
        assert!(!read(&|parameters| {
            parameters.subject_alt_names.push(SanType::OtherName((vec![1, 2, 3], "x".to_owned().into())));
        }));
        let key = PrivateKey::generate().unwrap();
        let ours = CertificateRequest::new(&Subject::new("a", ["b", "c"]), &[AlternativeName::host("::1")], &key);
        assert!(ours.unwrap().is_plain());
        let nameless = CertificateRequest::new(&Subject::new("", ["b"]), &[], &key);
        assert!(!nameless.unwrap().is_plain());
    }

    #[test]
    fn a_changed_request_is_refused() {
        let key = PrivateKey::generate().unwrap();
        let request = CertificateRequest::new(&Subject::new("alice", ["dev"]), &[], &key).unwrap();
        let mut bytes = request.der().to_vec();
        let place = bytes.windows(5).position(|window| window == b"alice").unwrap();
        bytes[place] = b'A';
        assert_eq!(CertificateRequest::from_der(&bytes), Err(Error::RequestSignature("verification failure")));
        let long = vec![0; MAX_LENGTH + 1];
        assert!(matches!(CertificateRequest::from_der(&long), Err(Error::TooLarge { .. })));
        assert_eq!(CertificateRequest::from_pem("x"), Err(Error::Pem("CERTIFICATE REQUEST")));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = CertificateRequest::from_der(&bytes);
            let _ = crate::Certificate::from_der(&bytes);
            let _ = crate::PublicKey::from_der(&bytes);
        }

        #[test]
        fn any_damage_is_answered(place in 0usize..200, value in any::<u8>(), cut in 0usize..250) {
            let key = PrivateKey::generate().unwrap();
            let names = [AlternativeName::host("a"), AlternativeName::host("::1")];
            let request = CertificateRequest::new(&Subject::new("alice", ["dev"]), &names, &key).unwrap();
            let mut bytes = request.der().to_vec();
            let length = bytes.len();
            bytes[place % length] = value;
            let _ = CertificateRequest::from_der(&bytes);
            let _ = CertificateRequest::from_der(&bytes[..cut % length]);
        }
    }
}
