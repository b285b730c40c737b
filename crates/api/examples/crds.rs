//! Writes the CRDs of our own kinds into `crates/api/crds`, after a change of the types.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    for definition in api::definitions() {
        let plural = definition["spec"]["names"]["plural"]
            .as_str()
            .unwrap_or_default();
        std::fs::write(
            directory.join(format!("{plural}.yaml")),
            yaml::emit(&definition)?,
        )?;
    }
    Ok(())
}
