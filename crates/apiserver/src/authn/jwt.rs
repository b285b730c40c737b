//! JSON Web Tokens with ES256, signed and verified with one key. What the claims mean is the
//! business of `token`.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    digest,
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
        UnparsedPublicKey,
    },
};
use serde_json::{Map, Value, json};

/// What comes before the point in a P-256 public key as certificates and key ids have it (RFC
/// 5480).
const SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// No token of ours comes near this.
const LONGEST: usize = 16 << 10;

/// The key that tokens are signed with.
pub(crate) struct Key {
    pair: EcdsaKeyPair,
    random: SystemRandom,
    id: String,
}

/// Why a token was not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is no such token.
    Foreign,
    /// It is one, but the signature is not ours.
    Forged,
}

impl Key {
    /// A new key, as PKCS #8.
    pub(crate) fn generate() -> Result<Vec<u8>, String> {
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        made.map(|document| document.as_ref().to_vec())
            .map_err(|_| "no key could be made".to_owned())
    }

    /// Reads a key.
    pub(crate) fn read(pkcs8: &[u8]) -> Result<Self, String> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random)
            .map_err(|error| format!("the signing key is not valid: {error}"))?;
        let spki = [&SPKI[..], pair.public_key().as_ref()].concat();
        let id = URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &spki));
        Ok(Self { pair, random, id })
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> Result<String, String> {
        let header = json!({"alg": "ES256", "kid": self.id});
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self
            .pair
            .sign(&self.random, signed.as_bytes())
            .map_err(|_| "signing failed".to_owned())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token that this key signed.
    pub(crate) fn verify(&self, token: &str) -> Result<Map<String, Value>, Refused> {
        if token.len() > LONGEST {
            return Err(Refused::Foreign);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Foreign)?;
        let (header, claims) = signed.split_once('.').ok_or(Refused::Foreign)?;
        let header = decode(header).ok_or(Refused::Foreign)?;
        let claims = decode(claims).ok_or(Refused::Foreign)?;
        if header.get("alg").and_then(Value::as_str) != Some("ES256") {
            return Err(Refused::Foreign);
        }
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .map_err(|_| Refused::Foreign)?;
        let public =
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.pair.public_key().as_ref());
        public
            .verify(signed.as_bytes(), &signature)
            .map_err(|_| Refused::Forged)?;
        Ok(claims)
    }

    /// The public key as a set that others can verify tokens with.
    pub(crate) fn public(&self) -> Value {
        let point = self.pair.public_key().as_ref();
        let half = |from: usize, to: usize| {
            URL_SAFE_NO_PAD.encode(point.get(from..to).unwrap_or_default())
        };
        json!({"keys": [{
            "use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256", "x": half(1, 33), "y": half(33, 65),
        }]})
    }
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn decode(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_key_signed_is_accepted() {
        let key = Key::read(&Key::generate().unwrap()).unwrap();
        let other = Key::read(&Key::generate().unwrap()).unwrap();
        let token = key.sign(&json!({"sub": "x"})).unwrap();
        assert_eq!(
            Value::from(key.verify(&token).unwrap()),
            json!({"sub": "x"})
        );
        assert_eq!(other.verify(&token), Err(Refused::Forged));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (header, _) = signed.split_once('.').unwrap();
        let changed = format!("{header}.{}.{signature}", encode(&json!({"sub": "y"})));
        assert_eq!(key.verify(&changed), Err(Refused::Forged));
        let unsigned = format!(
            "{}.{}.",
            encode(&json!({"alg": "none"})),
            encode(&json!({"sub": "y"}))
        );
        for bad in [
            "",
            "x",
            "a.b",
            "a.b.c",
            "..",
            "\u{e9}.\u{e9}.\u{e9}",
            &unsigned,
            &"x".repeat(LONGEST + 1),
        ] {
            assert_eq!(key.verify(bad), Err(Refused::Foreign), "{}", bad.len());
        }
    }

    #[test]
    fn the_public_key_is_shown_as_a_set() {
        let key = Key::read(&Key::generate().unwrap()).unwrap();
        let shown = key.public();
        assert_eq!(shown["keys"][0]["kid"], key.id.as_str());
        assert_eq!(
            URL_SAFE_NO_PAD
                .decode(shown["keys"][0]["x"].as_str().unwrap())
                .unwrap()
                .len(),
            32
        );
    }
}
