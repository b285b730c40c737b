//! What makes sure that nothing outlives this process, even one that is killed outright: a second
//! process that holds the end of a pipe to this one, and when that closes kills the children's
//! process group and removes the directory.
//!
//! It is a dozen lines of POSIX shell, so that it needs no program of its own to be built, and no
//! unsafe code here.

use std::{
    io::PipeWriter,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result};

/// Waits for the end of its input. It gives the children's process group its number.
const HOLDER: &str = "while read -r _; do :; done";

/// Waits for the end of its input, kills the group `$1`, waits until it is gone, and removes the
/// directory `$2`.
///
/// What is killed may be a moment in dying, and would write on into the directory; but what is dead
/// and only waits to be collected by a slow parent still counts as there, and must not hold this up
/// for long.
const SUPERVISOR: &str = r#"
trap '' HUP INT TERM
while read -r _; do :; done
tries=0
while kill -s KILL -- "-$1" 2>/dev/null && [ $tries -lt 50 ]; do
    tries=$((tries + 1))
    sleep 0.02
done
tries=0
until rm -rf -- "$2" 2>/dev/null || [ $tries -ge 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
"#;

/// The life line of a cluster's processes.
pub(crate) struct Supervisor {
    /// Closed by [`Self::finish`], or by the kernel when this process ends, however it ends.
    line: Option<PipeWriter>,
    holder: Child,
    supervisor: Child,
}

impl Supervisor {
    /// Starts it for a directory that does not exist yet, so that no moment is uncovered.
    pub(crate) fn start(dir: &Path) -> Result<Self> {
        let (reader, line) = std::io::pipe().context("cannot make a pipe")?;
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            // Not in this process's group: Ctrl-C is for this process, which they then clean up
            // after.
            command
                .args(["-c", script, "testkit"])
                .process_group(0)
                .stdout(Stdio::null());
            command
        };
        let holder = shell(HOLDER)
            .stdin(reader.try_clone()?)
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start /bin/sh")?;
        // It keeps our standard error: whoever reads that to its end knows that the cleaning is
        // done.
        let supervisor = shell(SUPERVISOR)
            .arg(holder.id().to_string())
            .arg(dir)
            .stdin(reader)
            .stderr(Stdio::inherit())
            .spawn()
            .context("cannot start /bin/sh")?;
        Ok(Self {
            line: Some(line),
            holder,
            supervisor,
        })
    }

    /// The process group that every child has to be in.
    pub(crate) fn group(&self) -> i32 {
        self.holder.id() as i32
    }

    /// Ends the group and collects its members, then waits until the directory is gone.
    pub(crate) fn finish<'a>(&mut self, children: impl IntoIterator<Item = &'a mut Child>) {
        drop(self.line.take());
        let _ = self.holder.wait();
        for child in children {
            let _ = child.wait();
        }
        let _ = self.supervisor.wait();
    }
}
