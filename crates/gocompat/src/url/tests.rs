//! Tables of what Go's `net/url` answers.

use super::*;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn urls_come_apart_and_go_together_again() {
    for (given, scheme, host, hostname, path, again) in [
        (
            "http://user:p%20w@example.com:80/a%20b?x=1#f",
            "http",
            "example.com:80",
            "example.com",
            "/a b",
            "http://user:p%20w@example.com:80/a%20b?x=1#f",
        ),
        ("HTTP://h/%2f", "http", "h", "h", "//", "http://h/%2f"),
        ("mailto:a@b", "mailto", "", "", "", "mailto:a@b"),
        ("//h/p", "", "h", "h", "/p", "//h/p"),
        ("/a:b", "", "", "", "/a:b", "/a:b"),
        ("file:///etc", "file", "", "", "/etc", "file:///etc"),
        ("file:/etc", "file", "", "", "/etc", "file:/etc"),
        (
            "http://[::1%25eth0]:8/",
            "http",
            "[::1%eth0]:8",
            "::1%eth0",
            "/",
            "http://[::1%25eth0]:8/",
        ),
        ("a?", "", "", "", "a", "a?"),
        ("*", "", "", "", "*", "*"),
        ("", "", "", "", "", ""),
    ] {
        let url = Url::parse(given.as_bytes()).unwrap();
        let got = [
            &url.scheme,
            &url.host,
            url.hostname(),
            &url.path,
            &url.to_bytes(),
        ]
        .map(text);
        assert_eq!(got, [scheme, host, hostname, path, again], "{given}");
    }
    let url = Url {
        path: b"a:b c".to_vec(),
        fragment: b"x y".to_vec(),
        ..Url::default()
    };
    assert_eq!(text(&url.to_bytes()), "./a:b%20c#x%20y");
}

#[test]
fn bad_urls_are_refused_in_gos_words() {
    for (given, want) in [
        (":a", "parse \":a\": missing protocol scheme"),
        (
            "a b:c",
            "parse \"a b:c\": first path segment in URL cannot contain colon",
        ),
        (
            "http://a b",
            "parse \"http://a b\": invalid character \" \" in host name",
        ),
        (
            "http://h:x/",
            "parse \"http://h:x/\": invalid port \":x\" after host",
        ),
        (
            "http://a%zz",
            "parse \"http://a%zz\": invalid URL escape \"%zz\"",
        ),
        ("/%", "parse \"/%\": invalid URL escape \"%\""),
        ("/a#%q", "parse \"/a#%q\": invalid URL escape \"%q\""),
        ("http://[::1", "parse \"http://[::1\": missing ']' in host"),
        (
            "http://[1.2.3.4]/",
            "parse \"http://[1.2.3.4]/\": invalid IP-literal",
        ),
        (
            "http://u^@h/",
            "parse \"http://u^@h/\": net/url: invalid userinfo",
        ),
        (
            "a\nb",
            "parse \"a\\nb\": net/url: invalid control character in URL",
        ),
    ] {
        assert_eq!(Url::parse(given.as_bytes()).unwrap_err().to_string(), want);
    }
}

#[test]
fn escaping_depends_on_the_part() {
    assert_eq!(
        text(&query_escape("a b/é~+".as_bytes())),
        "a+b%2F%C3%A9~%2B"
    );
    assert_eq!(
        text(&path_escape("a b/é~+:@".as_bytes())),
        "a%20b%2F%C3%A9~+:@"
    );
    assert_eq!(query_unescape(b"a+b%2f"), Ok(b"a b/".to_vec()));
    assert_eq!(
        path_unescape(b"a+%2"),
        Err("invalid URL escape \"%2\"".to_owned())
    );
}
