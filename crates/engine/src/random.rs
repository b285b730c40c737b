//! Values that are drawn once and stay: random functions answer from a secret seed and the place of
//! the call.

use gocompat::time::Time;
use gotpl::{Draw, Host};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::at::at;

/// How Kubernetes writes times.
const RFC3339: &[u8] = b"2006-01-02T15:04:05Z07:00";

/// The secret that drawn values come from, one per stack.
#[derive(Clone)]
pub struct Seed {
    /// Of HKDF: what the bytes of the seed come to.
    key: [u8; 32],
}

impl Seed {
    /// A seed of these bytes.
    pub fn new(bytes: impl AsRef<[u8]>) -> Seed {
        Seed {
            key: mac(b"cairn drawn values", &[bytes.as_ref()]),
        }
    }

    /// A short text that is the same for the same bytes, and tells who does not know the seed
    /// nothing of them.
    pub fn fingerprint(&self, bytes: &[u8]) -> String {
        let mut digest = [0; 12];
        expand(&self.key, bytes, &mut digest);
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
    created: String,
}

impl<'s> Fixed<'s> {
    pub fn new(seed: &'s Seed, object: &Value) -> Self {
        let text = |path: &str| at(object, path).and_then(Value::as_str).unwrap_or_default();
        Fixed {
            seed,
            instance: format!(
                "{}/{}/{}",
                text("/kind"),
                text("/metadata/namespace"),
                text("/metadata/name")
            ),
            rotation: object["metadata"]["annotations"][api::annotations::ROTATE]
                .as_str()
                .unwrap_or_default()
                .to_string(),
            created: text("/metadata/creationTimestamp").to_string(),
        }
    }
}

impl Host for Fixed<'_> {
    fn random(&self, draw: &Draw<'_>, bytes: &mut [u8]) -> Result<(), String> {
        // Length-prefixed, so that no two calls can run together into one context.
        let mut context = Vec::new();
        let occurrence = draw.occurrence.to_string();
        let parts = [
            &*self.instance,
            &self.rotation,
            draw.name.unwrap_or_default(),
            draw.template,
            draw.function,
            &occurrence,
        ];
        for part in parts
            .into_iter()
            .chain(draw.arguments.iter().map(String::as_str))
        {
            context.extend_from_slice(&(part.len() as u64).to_be_bytes());
            context.extend_from_slice(part.as_bytes());
        }
        expand(&self.seed.key, &context, bytes);
        Ok(())
    }

    fn now(&self) -> Result<i128, String> {
        let created = Time::parse(RFC3339, self.created.as_bytes())
            .ok()
            .map(|time| i128::from(time.unix_nano()));
        created.ok_or_else(|| {
            "the object has no creationTimestamp, which `now` answers with".to_string()
        })
    }
}

/// HKDF with SHA-256: the seed is the key material, the context the info, for any length.
fn expand(key: &[u8; 32], context: &[u8], bytes: &mut [u8]) {
    let mut block: Option<[u8; 32]> = None;
    for (chunk, counter) in bytes.chunks_mut(32).zip(1_u64..) {
        let next = match block {
            None => mac(key, &[context, &[1]]),
            Some(before) => mac(key, &[&before, context, &counter.to_be_bytes()]),
        };
        chunk.copy_from_slice(&next[..chunk.len()]);
        block = Some(next);
    }
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes a key of any length, so this never fails.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return [0; 32];
    };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}
