//! Files that hold a whole plan, written by `cairn test --update` and compared to the last letter.

use std::path::Path;

use engine::Plan;

use crate::commands::render::emitted;
use crate::terminal::error::Failure;

/// Whether a file is called like one of them; all others beside it are tests.
pub(crate) fn is_golden(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().ends_with(".golden.yaml"))
}

/// How a plan differs from what its file holds, unless the file is written anew.
pub(crate) fn compare(file: &Path, plan: &Plan, update: bool) -> Result<Vec<String>, Failure> {
    let shown = file.display();
    let value = serde_json::to_value(plan).map_err(|error| Failure::new(error.to_string()))?;
    let found = emitted(&value)?;
    if update {
        std::fs::write(file, found)
            .map_err(|error| Failure::new(format!("cannot write {shown}: {error}")))?;
        return Ok(Vec::new());
    }
    let expected = match std::fs::read_to_string(file) {
        Ok(expected) => expected,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(vec![format!(
                "{shown} does not exist: `cairn test --update` writes it"
            )]);
        }
        Err(error) => return Err(Failure::new(format!("cannot read {shown}: {error}"))),
    };
    if expected == found {
        return Ok(Vec::new());
    }
    let line = expected
        .lines()
        .zip(found.lines())
        .take_while(|(expected, found)| expected == found)
        .count();
    let at = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_string();
    Ok(vec![format!(
        "{shown}:{}: expected {:?}, found {:?} (`--update` takes what is found)",
        line + 1,
        at(&expected),
        at(&found)
    )])
}
