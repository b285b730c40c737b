//! A line from the terminal that nobody sees. The terminal is itself again afterwards, also after
//! Ctrl-C.

use std::io::Read;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use super::ask::ended;
use crate::terminal::error::Failure;
use crate::terminal::printer::Printer;

/// The terminal as it was, put back at the end.
struct Quiet(Termios);

impl Quiet {
    fn new() -> Result<Quiet, Failure> {
        let failed =
            |error: rustix::io::Errno| Failure::new(format!("cannot hide what is typed: {error}"));
        let before = tcgetattr(std::io::stdin()).map_err(failed)?;
        let mut quiet = before.clone();
        // Signals come as letters, so that there is time to put the terminal back.
        quiet
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).map_err(failed)?;
        Ok(Quiet(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // There is nothing else to try if the terminal is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Asks for a line that is not shown. Nothing is: not even what is typed before the question is on
/// the screen.
pub(crate) fn read(question: &str, printer: &Printer) -> Result<String, Failure> {
    let quiet = Quiet::new()?;
    printer.ask(question);
    let typed = letters();
    drop(quiet);
    printer.say("");
    let bytes = typed?;
    String::from_utf8(bytes).map_err(|_| Failure::new("what was typed is not UTF-8"))
}

fn letters() -> Result<Vec<u8>, Failure> {
    let mut line: Vec<u8> = Vec::new();
    let mut letter = [0];
    loop {
        let read = std::io::stdin().read(&mut letter);
        match read.map_err(|error| Failure::new(format!("cannot read the answer: {error}")))? {
            0 => return Err(ended()),
            _ => match letter[0] {
                b'\n' | b'\r' => return Ok(line),
                // Ctrl-C, Ctrl-D and Ctrl-\.
                3 | 4 | 28 => return Err(ended()),
                // Backspace takes a whole character.
                8 | 127 => while line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
                // Ctrl-U begins again.
                21 => line.clear(),
                byte => line.push(byte),
            },
        }
    }
}
