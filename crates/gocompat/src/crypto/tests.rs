//! Known answers from Go, for whose x509 a signature without random bytes is deterministic too.

use super::super::base::encode64;
use super::super::time::Time;
use super::*;

fn sevens(out: &mut [u8]) {
    out.fill(7);
}

#[test]
fn checksums_are_text() {
    for (got, want) in [
        (sha1sum(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            sha256sum(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (adler32sum(b"abc"), "38600999"),
        (adler32sum(b""), "1"),
    ] {
        assert_eq!(got, want);
    }
    assert!(sha512sum(b"abc").starts_with("ddaf35a193617aba"));
}

#[test]
fn bcrypt_and_htpasswd_take_their_salt() {
    // A published test vector for cost 10.
    let salt = [
        0x10, 0x41, 0x04, 0x10, 0x41, 0x04, 0x10, 0x41, 0x04, 0x10, 0x41, 0x04, 0x10, 0x41, 0x04,
        0x10,
    ];
    let hash = bcrypt(b"password", salt);
    assert_eq!(
        (&hash[..29], hash.len()),
        ("$2a$10$CCCCCCCCCCCCCCCCCCCCC.", 60)
    );
    assert_eq!(
        htpasswd(b"me", b"password", salt),
        format!("me:{hash}").into_bytes()
    );
    assert_eq!(htpasswd(b"a:b", b"x", salt), b"invalid username: a:b");
    assert_eq!(
        bcrypt(&[b'x'; 73], salt),
        "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
    );
}

#[test]
fn passwords_are_derived_as_the_algorithm_says() {
    assert_eq!(
        derive_password(1, b"long", b"password", b"user", b"example.com"),
        b"ZedaFaxcZaso9*"
    );
    assert_eq!(
        derive_password(1, b"nope", b"", b"", b""),
        b"cannot find password template nope"
    );
}

#[test]
fn aes_goes_there_and_back() {
    for text in [
        &b""[..],
        b"x",
        b"exactly sixteen!",
        b"more than one block of text",
    ] {
        let sealed = encrypt_aes(b"secret", text, [7; 16]);
        assert_eq!(
            decrypt_aes(b"secret", sealed.as_bytes()).as_deref(),
            Ok(text)
        );
    }
    for (text, want) in [
        ("!", "illegal base64 data at input byte 0"),
        (
            "AAAA",
            "runtime error: slice bounds out of range [:16] with capacity 3",
        ),
        (
            "AAAAAAAAAAAAAAAAAAAAAAAA",
            "crypto/cipher: input not full blocks",
        ),
        (
            "AAAAAAAAAAAAAAAAAAAAAA==",
            "runtime error: index out of range [-1]",
        ),
    ] {
        assert_eq!(
            decrypt_aes(b"secret", text.as_bytes())
                .unwrap_err()
                .to_string(),
            want
        );
    }
}

#[test]
fn certificates_are_those_go_makes() {
    let time = Time::unix(1_700_000_000, 0);
    let key = gen_private_key(b"ecdsa", &mut sevens).unwrap();
    assert_eq!(
        sha256sum(key.as_bytes()),
        "3520b1fac3c515c04c13db2c99baf408a7051bf11bda80a1092a07354690bbd6"
    );
    let request = Request {
        common_name: b"my-ca",
        ips: &[],
        dns_names: &[],
        not_before: &time,
        days: 365,
    };
    let authority = gen_ca(&request, &mut sevens).unwrap();
    assert_eq!(authority.key, key);
    assert_eq!(
        sha256sum(authority.cert.as_bytes()),
        "5e12ce840082cdd5f6256974e35d4f42bb0517722b505c1d5b739ac86c4de178"
    );
    let request = Request {
        common_name: b"svc",
        ips: &[b"10.0.0.1", b"::1"],
        dns_names: &[b"svc.ns", b"*.svc"],
        not_before: &time,
        days: 30,
    };
    let signed = gen_signed_cert(&request, &authority, &mut sevens).unwrap();
    assert_eq!(
        sha256sum(signed.cert.as_bytes()),
        "060d8444c96a77b36de0d520f6950b7589ec7094813dbd8af02ac6bd9cebf7fc"
    );
    let request = Request {
        common_name: b"",
        ips: &[],
        dns_names: &[b"svc.ns"],
        not_before: &time,
        days: 36_500,
    };
    let own = gen_self_signed_cert_with_key(&request, key.as_bytes(), &mut sevens).unwrap();
    assert_eq!(
        sha256sum(own.cert.as_bytes()),
        "8c50e7630cfc0fbff76d8703173f1f853886fa95a422554beb513ed6f9b627d4"
    );
    let custom = build_custom_cert(
        encode64(own.cert.as_bytes()).as_bytes(),
        encode64(key.as_bytes()).as_bytes(),
    );
    assert_eq!(custom, Ok(own));
}

#[test]
fn what_cannot_be_certified_is_refused() {
    let time = Time::unix(1_700_000_000, 0);
    let request = Request {
        common_name: b"x",
        ips: &[b"1.2.3"],
        dns_names: &[],
        not_before: &time,
        days: 1,
    };
    let error = gen_self_signed_cert(&request, &mut sevens).unwrap_err();
    assert_eq!(error.to_string(), "error parsing ip: 1.2.3");
    let request = Request {
        ips: &[],
        ..request
    };
    let authority = gen_ca(&request, &mut sevens).unwrap();
    let other = gen_ca(&request, &mut |out: &mut [u8]| out.fill(8)).unwrap();
    for (authority, want) in [
        (Certificate::default(), "unable to decode certificate"),
        (
            Certificate {
                key: String::new(),
                ..authority.clone()
            },
            "error parsing private key: no PEM data in input",
        ),
        (
            Certificate {
                key: authority.cert.clone(),
                ..authority.clone()
            },
            "error parsing private key: no private key data in PEM block of type CERTIFICATE",
        ),
        (
            Certificate {
                key: other.key,
                ..authority.clone()
            },
            "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
        ),
        (
            Certificate {
                cert: authority.key.clone(),
                ..authority.clone()
            },
            "error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate",
        ),
    ] {
        let error = gen_signed_cert(&request, &authority, &mut sevens).unwrap_err();
        assert_eq!(error.to_string(), want);
    }
    assert_eq!(
        gen_private_key(b"foo", &mut sevens),
        Ok("Unknown type foo".to_owned())
    );
    assert_eq!(
        gen_private_key(b"rsa", &mut |out: &mut [u8]| out.fill(0)),
        Err(KeyError::Random)
    );
    assert!(
        gen_private_key(b"ed25519", &mut sevens)
            .unwrap()
            .starts_with("-----BEGIN PRIVATE KEY-----\n")
    );
    assert_eq!(
        build_custom_cert(b"!", b""),
        Err(CertError::CertificateBase64)
    );
}
