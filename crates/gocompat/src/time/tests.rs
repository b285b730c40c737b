//! Tables of what Go's `time` answers.

use super::*;

fn formatted(time: &Time, layout: &str) -> String {
    String::from_utf8(time.format(layout.as_bytes())).unwrap()
}

#[test]
fn every_layout_element_is_written() {
    let time =
        Time::unix(1_709_213_405, 6_070_000).in_zone(Zone::load("America/New_York").unwrap());
    for (layout, want) in [
        (
            "Mon Jan _2 15:04:05 MST 2006",
            "Thu Feb 29 08:30:05 EST 2024",
        ),
        (
            "Monday, 02-January-06 3:4:5 PM pm",
            "Thursday, 29-February-24 8:30:5 AM am",
        ),
        (
            "2006-01-02T15:04:05.999999999Z07:00",
            "2024-02-29T08:30:05.00607-05:00",
        ),
        (
            "1 2 002 __2 03 .000 ,000000 .00",
            "2 29 060  60 08 .006 ,006070 .00",
        ),
        (
            "-07 -0700 -07:00 -070000 -07:00:00 Z07 Z0700",
            "-05 -0500 -05:00 -050000 -05:00:00 -05 -0500",
        ),
        (
            "January Janet Mondays _2006 05.0001",
            "February Janet Thursdays _2024 05.0002",
        ),
    ] {
        assert_eq!(formatted(&time, layout), want, "{layout}");
    }
    assert_eq!(time.to_string(), "2024-02-29 08:30:05.00607 -0500 EST");
    assert_eq!(Time::default().to_string(), "0001-01-01 00:00:00 +0000 UTC");
    assert_eq!(
        time.go_syntax(),
        "time.Date(2024, time.February, 29, 8, 30, 5, 6070000, time.Location(\"America/New_York\"))"
    );
}

#[test]
fn texts_are_read_by_layout_or_refused_in_gos_words() {
    for (layout, value, want) in [
        (
            "2006-01-02",
            "2024-02-29",
            Ok("2024-02-29 00:00:00 +0000 UTC"),
        ),
        (
            "2006-01-02",
            "2023-02-29",
            Err("parsing time \"2023-02-29\": day out of range"),
        ),
        (
            "2006-01-02",
            "2024-13-01",
            Err("parsing time \"2024-13-01\": month out of range"),
        ),
        (
            "2006-01-02",
            "x",
            Err("parsing time \"x\" as \"2006-01-02\": cannot parse \"x\" as \"2006\""),
        ),
        (
            "2006-01-02",
            "2024-01-02x",
            Err("parsing time \"2024-01-02x\": extra text: \"x\""),
        ),
        (
            "2006-01-02T15:04:05Z07:00",
            "2024-01-02T03:04:05.5+05:30",
            Ok("2024-01-02 03:04:05.5 +0530 +0530"),
        ),
        (
            "2006-01-02T15:04:05Z07:00",
            "2024-01-02T03:04:05Z",
            Ok("2024-01-02 03:04:05 +0000 UTC"),
        ),
        (
            "Jan 2 2006 MST",
            "feb 3 2024 CEST",
            Ok("2024-02-03 00:00:00 +0000 CEST"),
        ),
        ("2 MST", "3 GMT+3", Ok("0000-01-03 03:00:00 +0300 GMT+3")),
        ("3:04PM", "12:30AM", Ok("0000-01-01 00:30:00 +0000 UTC")),
        (
            "3:04PM",
            "13:30AM",
            Err("parsing time \"13:30AM\": hour out of range"),
        ),
        ("06 002", "24 366", Ok("2024-12-31 00:00:00 +0000 UTC")),
        (
            "06 002",
            "23 366",
            Err("parsing time \"23 366\": day-of-year out of range"),
        ),
        (
            "Mon",
            "Foo",
            Err("parsing time \"Foo\" as \"Mon\": cannot parse \"Foo\" as \"Mon\""),
        ),
        (
            "05.000",
            "05.12",
            Err("parsing time \"05.12\" as \"05.000\": cannot parse \".12\" as \".000\""),
        ),
        (
            "15:04 \u{e9}",
            "25:00 \u{e9}",
            Err("parsing time \"25:00 \\xc3\\xa9\": hour out of range"),
        ),
    ] {
        let got = Time::parse(layout.as_bytes(), value.as_bytes()).map(|time| time.to_string());
        assert_eq!(
            got.map_err(|error| error.to_string()),
            want.map(str::to_owned).map_err(str::to_owned),
            "{value}"
        );
    }
}

#[test]
fn the_calendar_holds_for_all_years() {
    let time = Time::date((2021, 1, 3), (23, 59, 59), 0, Zone::Utc);
    assert_eq!(
        (time.weekday(), time.year_day(), time.iso_week()),
        (0, 3, (2020, 53))
    );
    assert_eq!(
        Time::date((2024, 14, -3), (25, 61, 61), -1, Zone::Utc).to_string(),
        "2025-01-29 02:02:00.999999999 +0000 UTC"
    );
    assert_eq!(
        time.add_date(0, 1, 28).to_string(),
        "2021-03-03 23:59:59 +0000 UTC"
    );
    assert_eq!(
        time.add(Duration(-1)).to_string(),
        "2021-01-03 23:59:58.999999999 +0000 UTC"
    );
    assert_eq!(time.sub(&Time::default()), Duration(i64::MAX));
    assert_eq!(
        Time::unix(-62_200_000_000, 0).to_string(),
        "-0002-12-17 14:13:20 +0000 UTC"
    );
    assert!(!Time::unix(i64::MAX, 0).to_string().is_empty());
    assert!(
        !Time::unix(i64::MIN, 0)
            .in_zone(Zone::load("Asia/Tokyo").unwrap())
            .to_string()
            .is_empty()
    );
}

#[test]
fn times_marshal_as_rfc3339_or_not_at_all() {
    assert_eq!(
        Time::unix(0, 1_500_000).marshal_json(),
        Ok("\"1970-01-01T00:00:00.0015Z\"".to_owned())
    );
    let far = Time::date((10_000, 1, 1), (0, 0, 0), 0, Zone::Utc);
    assert_eq!(
        far.marshal_json(),
        Err("Time.MarshalJSON: year outside of range [0,9999]".to_owned())
    );
}
