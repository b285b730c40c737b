//! sprig's cryptography. Keys, salts and serial numbers are made from bytes of the host, so that a
//! run can be repeated.

use Flow::Compute;
use Param::{Int, List, Text, Uint32};
use sha2::digest::Digest;
use sha2::{Sha256, digest};

use super::dates::now;
use super::entry::{Answer, fixed};
use super::random::draw;
use crate::fmt;
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::object::Object;
use crate::value::{Kind, Value};
use gocompat::crypto;
use gocompat::crypto::{CertError, Certificate, Request};

const CERTIFICATE: Param = Param::Object("sprig.certificate");

pub(crate) const TABLE: &[Func] = &[
    fixed("bcrypt", &[Text], Compute, |call| {
        let salt = salt(call, 0)?;
        Ok(Value::text(crypto::bcrypt(call.text(0), salt)))
    }),
    fixed("htpasswd", &[Text, Text], Compute, |call| {
        let salt = if call.text(0).contains(&b':') {
            [0; 16]
        } else {
            salt(call, 1)?
        };
        Ok(Value::text(crypto::htpasswd(
            call.text(0),
            call.text(1),
            salt,
        )))
    }),
    fixed(
        "derivePassword",
        &[Uint32, Text, Text, Text, Text],
        Compute,
        derive_password,
    ),
    fixed("encryptAES", &[Text, Text], Compute, encrypt_aes),
    fixed(
        "decryptAES",
        &[Text, Text],
        Compute,
        |call| match crypto::decrypt_aes(call.text(0), call.text(1)) {
            Ok(text) => Ok(Value::text(text)),
            Err(error) => Err(error.to_string().into()),
        },
    ),
    fixed("genPrivateKey", &[Text], Compute, gen_private_key),
    fixed("buildCustomCert", &[Text, Text], Compute, |call| {
        answer(crypto::build_custom_cert(call.text(0), call.text(1)))
    }),
    fixed("genCA", &[Text, Int], Compute, |call| {
        certified(call, None, 1, |request, stream| {
            crypto::gen_ca(request, &mut stream.source())
        })
    }),
    fixed("genCAWithKey", &[Text, Int, Text], Compute, |call| {
        let key = call.shared_text(2);
        certified(call, None, 1, |request, stream| {
            crypto::gen_ca_with_key(request, &key, &mut stream.source())
        })
    }),
    fixed(
        "genSelfSignedCert",
        &[Text, List, List, Int],
        Compute,
        |call| {
            certified(call, Some(1), 3, |request, stream| {
                crypto::gen_self_signed_cert(request, &mut stream.source())
            })
        },
    ),
    fixed(
        "genSelfSignedCertWithKey",
        &[Text, List, List, Int, Text],
        Compute,
        |call| {
            let key = call.shared_text(4);
            certified(call, Some(1), 3, |request, stream| {
                crypto::gen_self_signed_cert_with_key(request, &key, &mut stream.source())
            })
        },
    ),
    fixed(
        "genSignedCert",
        &[Text, List, List, Int, CERTIFICATE],
        Compute,
        |call| {
            let authority = authority(call, 4);
            certified(call, Some(1), 3, |request, stream| {
                crypto::gen_signed_cert(request, &authority, &mut stream.source())
            })
        },
    ),
    fixed(
        "genSignedCertWithKey",
        &[Text, List, List, Int, CERTIFICATE, Text],
        Compute,
        |call| {
            let (authority, key) = (authority(call, 4), call.shared_text(5));
            certified(call, Some(1), 3, |request, stream| {
                crypto::gen_signed_cert_with_key(request, &authority, &key, &mut stream.source())
            })
        },
    ),
];

/// Any number of random bytes out of one draw: the digests of its bytes and a counter, one after
/// another.
struct Stream {
    seed: Vec<u8>,
    count: u64,
    ready: Vec<u8>,
}

impl Stream {
    fn new(call: &Call<'_, '_, '_>) -> Result<Stream, Fault> {
        Ok(Stream {
            seed: draw(call, 32)?,
            count: 0,
            ready: Vec::new(),
        })
    }

    /// It as a function that fills a slice.
    fn source(&mut self) -> impl FnMut(&mut [u8]) {
        |bytes| {
            for byte in bytes {
                *byte = self.next();
            }
        }
    }

    fn next(&mut self) -> u8 {
        if self.ready.is_empty() {
            let block: digest::Output<Sha256> = Sha256::new()
                .chain_update(&self.seed)
                .chain_update(self.count.to_be_bytes())
                .finalize();
            self.count += 1;
            self.ready = block.to_vec();
        }
        self.ready.pop().unwrap_or(0)
    }
}

/// The salt for hashing the password at `index`; one that is too long is refused before any salt
/// matters.
fn salt(call: &Call<'_, '_, '_>, index: usize) -> Result<[u8; 16], Fault> {
    let mut salt = [0; 16];
    if call.text(index).len() <= 72 {
        salt.copy_from_slice(&draw(call, 16)?);
    }
    Ok(salt)
}

fn derive_password<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let counter = u32::try_from(call.int(0)).unwrap_or(0);
    let [kind, password, user, site] = [1, 2, 3, 4].map(|index| call.text(index));
    Ok(Value::text(crypto::derive_password(
        counter, kind, password, user, site,
    )))
}

fn encrypt_aes<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let mut vector = [0; 16];
    if !call.text(1).is_empty() {
        vector.copy_from_slice(&draw(call, 16)?);
    }
    Ok(Value::text(crypto::encrypt_aes(
        call.text(0),
        call.text(1),
        vector,
    )))
}

fn gen_private_key<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let key = crypto::gen_private_key(call.text(0), &mut Stream::new(call)?.source());
    Ok(Value::text(key.unwrap_or_else(|error| {
        format!("failed to generate private key: {error}")
    })))
}

fn answer<'a>(made: Result<Certificate, CertError>) -> Answer<'a> {
    match made {
        Ok(Certificate { cert, key }) => Ok(Value::object(Object::Certificate { cert, key })),
        Err(error) => Err(error.to_string().into()),
    }
}

/// The texts of a list argument; `complaint` comes before what is no string.
fn texts(call: &Call<'_, '_, '_>, index: usize, complaint: &str) -> Result<Vec<Vec<u8>>, Fault> {
    let items = call
        .list(index)
        .map(|list| call.cx().items(&list))
        .unwrap_or_default();
    let mut texts = Vec::with_capacity(items.len());
    for item in &items {
        match &item.kind {
            Kind::Text(text) => {
                call.cx().charge(text.len())?;
                texts.push(text.to_vec());
            }
            _ => {
                let shown = fmt::display(call.cx(), item)?;
                return Err(format!("{complaint}: {shown} is not a string").into());
            }
        }
    }
    Ok(texts)
}

/// Counts the work of a signature by a given key: for RSA, the cube of its length.
fn signing(call: &Call<'_, '_, '_>) -> Result<(), Fault> {
    /// The length of the longest key that is accepted, and the units of work of one of 1000 bytes.
    const LONGEST: u64 = 8_000;
    const KILOBYTE: u64 = 2_000_000;
    let keys = call.args.iter().map(|value| match &value.kind {
        Kind::Text(text) => text.len(),
        Kind::Object(object) => match &**object {
            Object::Certificate { key, .. } => key.len(),
            _ => 0,
        },
        _ => 0,
    });
    keys.map(|length| (length as u64).min(LONGEST).pow(3) / 1_000_000_000 * KILOBYTE)
        .try_for_each(|work| call.spend(work))
}

/// Makes a certificate for the name at 0, the addresses and DNS names at `names` and after it, and
/// the days at `days`.
fn certified<'a>(
    call: &Call<'_, '_, 'a>,
    names: Option<usize>,
    days: usize,
    make: impl FnOnce(&Request<'_>, &mut Stream) -> Result<Certificate, CertError>,
) -> Answer<'a> {
    signing(call)?;
    let (mut ips, mut dns_names) = (Vec::new(), Vec::new());
    if let Some(index) = names {
        ips = texts(call, index, "error parsing ip")?;
        dns_names = texts(call, index + 1, "error processing alternate dns name")?;
    }
    let ips: Vec<&[u8]> = ips.iter().map(Vec::as_slice).collect();
    let dns_names: Vec<&[u8]> = dns_names.iter().map(Vec::as_slice).collect();
    let not_before = now(call)?;
    let request = Request {
        common_name: call.text(0),
        ips: &ips,
        dns_names: &dns_names,
        not_before: &not_before,
        days: call.int(days),
    };
    answer(make(&request, &mut Stream::new(call)?))
}

fn authority(call: &Call<'_, '_, '_>, index: usize) -> Certificate {
    match call.args.get(index).map(|value| &value.kind) {
        Some(Kind::Object(object)) => match &**object {
            Object::Certificate { cert, key } => Certificate {
                cert: cert.clone(),
                key: key.clone(),
            },
            _ => Certificate::default(),
        },
        _ => Certificate::default(),
    }
}
