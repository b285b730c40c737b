//! What may go while something else is refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use engine::kept_by;
use support::{compiled, config_map};

#[test]
fn what_is_to_go_stays_only_where_a_refusal_may_still_need_it() {
    let reader = config_map("reader", "{{ .base.data.v }}");
    let compiled = compiled(&[
        ("base", &config_map("base", "x")),
        ("reader", &reader),
        ("other", &config_map("other", "y")),
    ]);
    for (template, is_moved, refused, expected) in [
        ("base", false, vec![], None),
        ("base", false, vec!["other"], None),
        ("base", false, vec!["other", "reader"], Some("reader")),
        ("base", true, vec!["other", "reader"], Some("reader")),
        // One of a list goes although another of the list is refused.
        ("base", false, vec!["base"], None),
        // Its successor is not there.
        ("base", true, vec!["base"], Some("base")),
        ("other", true, vec!["reader"], None),
        // Of a template that left the stack nobody knows who read it, nor whether another took its
        // place.
        ("gone", false, vec!["other"], Some("other")),
        ("gone", false, vec![], None),
    ] {
        let found = kept_by(&compiled.kinds[0], template, is_moved, &refused);
        assert_eq!(found, expected, "{template} {is_moved} {refused:?}");
    }
}
