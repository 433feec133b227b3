//! Bearer tokens.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use roost_access::token::{BootstrapToken, BoundClaims, StandardClaims, TokenIssuer, TokenVerifier, VerifiedClaims};
use roost_pki::PrivateKey;

use crate::halves;

const ISSUER: &str = "https://issuer.example.com";
const AUDIENCE: &str = "api";

/// An issuer with a key that nobody else has.
static OWN: LazyLock<TokenIssuer> = LazyLock::new(|| TokenIssuer::new(ISSUER, PrivateKey::generate().expect("a key")));

/// Knows the issuer's key.
static VERIFIER: LazyLock<TokenVerifier> = LazyLock::new(|| {
    let keys = vec![OWN.key().public_key().clone()];
    TokenVerifier::new(vec![ISSUER.to_owned()], keys, vec![AUDIENCE.to_owned()])
});

/// Service account tokens and bootstrap tokens. The bytes are a token that nobody signed; and a header and claims with a
/// zero byte between them, which the issuer signs.
pub fn token(data: &[u8]) {
    signed(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    assert!(!matches!(VERIFIER.verify(text, None), Ok(Some(_))), "a token was believed that nobody signed");
    if let Some(token) = BootstrapToken::parse(text) {
        assert!(text.starts_with(token.id()) && token.secret_name().ends_with(token.id()));
    }
    let claims = BoundClaims {
        standard: StandardClaims {
            issuer: ISSUER.to_owned(),
            audiences: vec![AUDIENCE.to_owned()],
            ..StandardClaims::default()
        },
        namespace: text.to_owned(),
        ..BoundClaims::default()
    };
    let minted = OWN.mint(&claims).expect("a token");
    if minted.expose().len() < roost_access::token::MAX_LENGTH {
        let verified = VERIFIER.verify(minted.expose(), None).expect("a good token").expect("a token of one's own");
        assert_eq!(verified.claims, VerifiedClaims::Bound(claims), "a token says what was put into it");
    }
}

/// What the issuer itself signs may be strange; a stranger with the same name is not believed.
fn signed(data: &[u8]) {
    let (header, claims) = halves(data);
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = OWN.key().sign_token(message.as_bytes()).expect("a signature");
    let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
    let _ = VERIFIER.verify(&token, None);
    let _ = VERIFIER.verify(&token, Some(&["other".to_owned()]));
    let stranger = TokenVerifier::new(vec![ISSUER.to_owned()], Vec::new(), Vec::new());
    assert!(!matches!(stranger.verify(&token, None), Ok(Some(_))), "a token without a known key was believed");
}
