//! Tables of what the Go library answers.

use super::*;

#[test]
fn versions_are_read_loosely_or_strictly() {
    for (text, loose, strict) in [
        ("1.2.3", Ok("1.2.3"), Ok("1.2.3")),
        ("v1.2", Ok("1.2.0"), Err("invalid semantic version")),
        ("1", Ok("1.0.0"), Err("invalid semantic version")),
        ("01.2.3", Ok("1.2.3"), Err("version segment starts with 0")),
        ("1.2.3-rc.1+b.5", Ok("1.2.3-rc.1+b.5"), Ok("1.2.3-rc.1+b.5")),
        (
            "1.2-rc+x-y",
            Ok("1.2.0-rc+x-y"),
            Err("invalid semantic version"),
        ),
        (
            "1.2.3-01",
            Err("version segment starts with 0"),
            Err("version segment starts with 0"),
        ),
        (
            "1.2.3-a..b",
            Err("invalid semantic version"),
            Err("invalid prerelease string"),
        ),
        (
            "1.2.3+",
            Err("invalid semantic version"),
            Err("invalid metadata string"),
        ),
        (
            "1.2.3.4",
            Err("invalid semantic version"),
            Err("invalid characters in version"),
        ),
        (
            "V1.2.3",
            Err("invalid semantic version"),
            Err("invalid characters in version"),
        ),
        (
            "",
            Err("invalid semantic version"),
            Err("version string empty"),
        ),
        (
            "99999999999999999999.0.0",
            Err(
                "error parsing version segment: strconv.ParseUint: parsing \"99999999999999999999\": value out of range",
            ),
            Err("strconv.ParseUint: parsing \"99999999999999999999\": value out of range"),
        ),
    ] {
        let show = |result: Result<Version, VersionError>| {
            result
                .map(|version| version.to_string())
                .map_err(|error| error.to_string())
        };
        let own = |result: Result<&str, &str>| result.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(show(Version::parse(text.as_bytes())), own(loose), "{text}");
        assert_eq!(
            show(Version::parse_strict(text.as_bytes())),
            own(strict),
            "{text}"
        );
    }
}

#[test]
fn versions_are_ordered_by_precedence() {
    let order = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-beta",
        "1.0.0",
        "1.0.1",
        "2.0.0",
    ];
    for pair in order.windows(2) {
        let [left, right] = [pair[0], pair[1]].map(|text| Version::parse(text.as_bytes()).unwrap());
        assert_eq!(
            (left.compare(&right), right.compare(&left)),
            (Ordering::Less, Ordering::Greater),
            "{pair:?}"
        );
    }
    let version = Version::parse(b"v1.2.3-rc+meta").unwrap();
    assert_eq!(
        version.compare(&Version::parse(b"1.2.3-rc").unwrap()),
        Ordering::Equal
    );
    assert_eq!(version.inc_patch().original(), "v1.2.3");
    assert_eq!(version.inc_minor().original(), "v1.3.0");
    assert_eq!(version.inc_major().to_string(), "2.0.0");
    assert_eq!(
        version.set_prerelease("a.1").unwrap().original(),
        "v1.2.3-a.1+meta"
    );
    assert_eq!(version.set_metadata("+"), Err(VersionError::Metadata));
}

#[test]
fn constraints_hold_or_say_why_not() {
    for (constraint, version, fault) in [
        ("^1.2", "1.9.0", None),
        (
            "^0.2.3",
            "0.3.0",
            Some(
                "0.3.0 does not have same minor version as 0.2.3. Expected minor versions to match when constraint major version is 0",
            ),
        ),
        (
            "^0.0.3",
            "0.0.4",
            Some(
                "0.0.4 does not equal 0.0.3. Expect version and constraint to equal when major and minor versions are 0",
            ),
        ),
        (
            "~1.2",
            "1.3.0",
            Some("1.3.0 does not have same major and minor version as 1.2"),
        ),
        ("~>1", "1.9.9", None),
        ("1.2.x", "1.2.9", None),
        ("*", "9.9.9", None),
        (">1.2", "1.2.9", Some("1.2.9 is less than or equal to 1.2")),
        ("<=1.2", "1.2.9", None),
        ("=<1.2.3", "1.2.4", Some("1.2.4 is greater than 1.2.3")),
        ("!=1.x", "1.5.0", Some("1.5.0 is equal to 1.x")),
        ("1.2 - 1.4", "1.4.9", None),
        (
            ">=1.2, <2",
            "2.0.0",
            Some("2.0.0 is greater than or equal to 2"),
        ),
        (">=1.2 <2", "1.5.0", None),
        ("<1 || >2", "3.0.0", None),
        (
            ">=1.21",
            "1.22.0-rc1",
            Some(
                "1.22.0-rc1 is a prerelease version and the constraint is only looking for release versions",
            ),
        ),
        (">=1.21-0", "1.22.0-rc1", None),
    ] {
        let parsed = Constraints::parse(constraint.as_bytes()).unwrap();
        let version = Version::parse(version.as_bytes()).unwrap();
        let want: Vec<String> = fault.into_iter().map(str::to_owned).collect();
        assert_eq!(parsed.faults(&version), want, "{constraint}");
        assert_eq!(parsed.check(&version), fault.is_none(), "{constraint}");
    }
    for (constraint, want) in [
        ("foo", "improper constraint: \"foo\""),
        ("", "improper constraint: \"\""),
        (">= 1.2 ||", "improper constraint: \"\""),
        ("1.2.3.4", "improper constraint: \"1.2.3.4\""),
        ("1x", "constraint parser error"),
    ] {
        assert_eq!(
            Constraints::parse(constraint.as_bytes())
                .unwrap_err()
                .to_string(),
            want,
            "{constraint}"
        );
    }
    assert_eq!(
        Constraints::parse(b"1.2 - 2 || ^3").unwrap().to_string(),
        ">=1.2 <=2 || ^3"
    );
}
