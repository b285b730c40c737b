//! A comparison for people: what changes, instance by instance, as lines.

use std::collections::BTreeSet;

use api::annotations;
use objects::Key;

use super::text::lines;
use super::{Action, Change, Difference, Instance, Object, Remedy};
use crate::terminal::error::Failure;
use crate::terminal::printer::{Paint, Printer};

/// Prints what would change; nothing of what stays.
pub(crate) fn show(difference: &Difference, printer: &Printer) -> Result<(), Failure> {
    for note in &difference.notes {
        printer.line(&format!("note: {note}"))?;
    }
    for change in &difference.package {
        let allowed = difference.allowed && change.action == Action::Refuse;
        let more = if allowed {
            "; no object here loses anything by it, so it is installed"
        } else {
            ""
        };
        package(change, more, printer)?;
    }
    if difference.breaks() {
        hints(difference, printer)?;
    }
    let told = |instance: &&Instance| !instance.objects.is_empty();
    for instance in difference.instances.iter().filter(told) {
        let place = if instance.namespace.is_empty() {
            String::new()
        } else {
            format!("{}/", instance.namespace)
        };
        let heading = format!("{} {place}{}", instance.kind, instance.name);
        printer.line(&printer.painted(Paint::Strong, &heading))?;
        for object in &instance.objects {
            one(object, printer)?;
        }
    }
    Ok(())
}

/// Who can allow what is refused, and how.
fn hints(difference: &Difference, printer: &Printer) -> Result<(), Failure> {
    let annotation = annotations::ALLOW_BREAKING_CHANGES;
    let remedies: Vec<&Remedy> = difference
        .package
        .iter()
        .map(|change| &change.remedy)
        .collect();
    let hint = |who: &str, what: &str| {
        printer.line(&format!(
            "hint: keep the field beside the new one, or serve a new version; if it is meant, {who}:"
        ))?;
        printer.line(&format!("      kubectl annotate {what} {annotation}=true"))?;
        printer.line(&format!("      kubectl annotate {what} {annotation}-"))
    };
    if remedies.contains(&&Remedy::Install) {
        hint("allow it, and no longer than it takes", &difference.install)?;
    }
    let crds: BTreeSet<&str> = remedies
        .iter()
        .filter_map(|remedy| match remedy {
            Remedy::Crd(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    crds.into_iter().try_for_each(|name| {
        hint(
            "only an administrator can allow it, and no longer than it takes",
            &format!("crd {name}"),
        )
    })
}

/// How much would change, in a line.
pub(crate) fn summary(difference: &Difference) -> String {
    let count = difference.instances.len();
    let changed = difference.changed();
    let of = |count: usize| {
        if count == 1 {
            "1 instance".to_owned()
        } else {
            format!("{count} instances")
        }
    };
    if let refused @ 1.. = difference.refused() {
        let others = match changed {
            0 => String::new(),
            1 => ", and 1 other changes".to_owned(),
            changed => format!(", and {changed} others change"),
        };
        return format!("it is refused in {refused} of {}{others}", of(count));
    }
    if difference.breaks() {
        let refused = |change: &&Change| change.action == Action::Refuse;
        let hopeless = difference
            .package
            .iter()
            .filter(refused)
            .any(|change| change.remedy == Remedy::None);
        let how = if hopeless {
            "nothing changes: its types are rejected"
        } else {
            "nothing changes until it is allowed"
        };
        return how.to_owned();
    }
    match (count, changed) {
        (0, _) => "there are no instances".to_owned(),
        (1, 0) => "the one instance stays as it is".to_owned(),
        (count, 0) => format!("all {} stay as they are", of(count)),
        (count, changed) => format!(
            "{changed} of {} {}",
            of(count),
            if changed == 1 { "changes" } else { "change" }
        ),
    }
}

/// How kubectl is told of the install of a stack, where a context has a namespace of its own.
pub(super) fn named(stack: &Key, wide: bool, context: &str) -> String {
    match (wide, stack.namespace.as_str()) {
        (true, _) => format!("clusterstackinstall {}", stack.name),
        (false, namespace) if namespace == context => format!("stackinstall {}", stack.name),
        (false, namespace) => format!("stackinstall {} -n {namespace}", stack.name),
    }
}

fn paint(action: Action) -> Paint {
    match action {
        Action::Create => Paint::Good,
        Action::Update => Paint::Coming,
        Action::Delete | Action::Refuse => Paint::Bad,
        Action::Hold => Paint::Waiting,
    }
}

fn package(change: &Change, more: &str, printer: &Printer) -> Result<(), Failure> {
    let sign = match change.action {
        Action::Create => "+",
        Action::Delete => "-",
        Action::Refuse => "!",
        _ => "~",
    };
    let how = if change.how.is_empty() {
        String::new()
    } else {
        format!(": {}", change.how)
    };
    printer.line(&printer.painted(
        paint(change.action),
        &format!("{sign} {}{how}{more}", change.what),
    ))?;
    diff(&change.diff, "    ", printer)
}

fn one(object: &Object, printer: &Printer) -> Result<(), Failure> {
    let name = if object.name.is_empty() {
        object.kind.clone()
    } else {
        format!("{}/{}", object.kind, object.name)
    };
    let what = match object.template.as_str() {
        "" => name,
        "status" => "status".to_owned(),
        template => format!("{template}: {name}"),
    };
    let word = printer.painted(
        paint(object.action),
        &format!("{:<7}", object.action.word()),
    );
    printer.line(&format!("  {word} {what}"))?;
    for why in &object.why {
        printer.line(&format!("          {why}"))?;
    }
    // What goes is named; all of its lines would only hide the others.
    if object.action == Action::Delete {
        return Ok(());
    }
    diff(
        &lines(object.before.as_ref(), object.after.as_ref()),
        "          ",
        printer,
    )
}

fn diff(text: &str, indent: &str, printer: &Printer) -> Result<(), Failure> {
    for line in text.lines() {
        let painted = match line.chars().next() {
            Some('+') => printer.painted(Paint::Good, line),
            Some('-') => printer.painted(Paint::Bad, line),
            Some('@') => printer.painted(Paint::Waiting, line),
            _ => line.to_owned(),
        };
        printer.line(&format!("{indent}{painted}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use objects::Key;

    use super::named;

    #[test]
    fn an_install_is_named_so_that_kubectl_finds_it() {
        for (namespace, wide, context, expected) in [
            ("default", false, "default", "stackinstall web"),
            ("default", false, "team", "stackinstall web -n default"),
            ("team", false, "default", "stackinstall web -n team"),
            ("team", false, "team", "stackinstall web"),
            ("cairn-stacks", true, "default", "clusterstackinstall web"),
        ] {
            assert_eq!(named(&Key::new(namespace, "web"), wide, context), expected);
        }
    }
}
