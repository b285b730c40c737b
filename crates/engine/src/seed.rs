//! Values that are drawn once and stay: random functions answer from a secret seed and the place of the call.

use gotpl::go::time::Time;
use gotpl::{Draw, Host};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// How Kubernetes writes times.
const RFC3339: &[u8] = b"2006-01-02T15:04:05Z07:00";

/// The secret that drawn values come from, one per stack.
#[derive(Clone)]
pub struct Seed(Vec<u8>);

impl Seed {
    /// A seed of these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Seed {
        Seed(bytes.into())
    }

    /// A short text that is the same for the same bytes, and tells who does not know the seed nothing of them.
    pub fn fingerprint(&self, bytes: &[u8]) -> String {
        let mut digest = [0; 12];
        expand(&self.0, bytes, &mut digest);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(secret)")
    }
}

/// What templates of one instance get from outside: the same on every pass.
pub(crate) struct Fixed<'s> {
    seed: &'s Seed,
    /// Which instance: equal calls in two instances draw different values.
    instance: String,
    rotation: String,
    /// When the instance was created: what `now` answers.
    created: Option<i128>,
}

impl<'s> Fixed<'s> {
    pub fn new(seed: &'s Seed, object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string();
        let created = text("/metadata/creationTimestamp");
        Fixed {
            seed,
            instance: format!("{}/{}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name")),
            rotation: object["metadata"]["annotations"][api::annotations::ROTATE]
                .as_str()
                .unwrap_or_default()
                .to_string(),
            created: Time::parse(RFC3339, created.as_bytes()).ok().map(|time| i128::from(time.unix_nano())),
        }
    }
}

impl Host for Fixed<'_> {
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        // Length-prefixed, so that no two calls can run together into one context.
        let mut context = Vec::new();
        let occurrence = draw.occurrence.to_string();
        let parts =
            [&*self.instance, &self.rotation, draw.name.unwrap_or_default(), draw.template, draw.function, &occurrence];
        for part in parts.into_iter().chain(draw.arguments.iter().map(String::as_str)) {
            context.extend_from_slice(&(part.len() as u64).to_be_bytes());
            context.extend_from_slice(part.as_bytes());
        }
        expand(&self.seed.0, &context, bytes);
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        self.created.ok_or_else(|| "the object has no creationTimestamp, which `now` answers with".to_string())
    }
}

/// HKDF with SHA-256: the seed is the key material, the context the info, for any length.
fn expand(seed: &[u8], context: &[u8], bytes: &mut [u8]) {
    let mac = |key: &[u8], parts: &[&[u8]]| {
        // HMAC takes a key of any length, so this never fails.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
            return [0; 32];
        };
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    };
    let key = mac(b"cairn drawn values", &[seed]);
    let mut block: [u8; 32] = mac(&key, &[context, &[1]]);
    let mut counter: u64 = 1;
    for chunk in bytes.chunks_mut(32) {
        chunk.copy_from_slice(&block[..chunk.len()]);
        counter += 1;
        block = mac(&key, &[&block, context, &counter.to_be_bytes()]);
    }
}
