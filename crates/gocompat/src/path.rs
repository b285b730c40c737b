//! Go's `path`: slash-separated names, whatever they name. On Unix `path/filepath` gives the same
//! answers.

/// The last element, `.` for no path and `/` for slashes only.
#[must_use]
pub fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(0, |last| last + 1);
    let name = &path[..end];
    let start = name
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    if name.is_empty() {
        b"/"
    } else {
        &name[start..]
    }
}

/// All but the last element, cleaned.
#[must_use]
pub fn dir(path: &[u8]) -> Vec<u8> {
    clean(
        &path[..path
            .iter()
            .rposition(|&byte| byte == b'/')
            .map_or(0, |slash| slash + 1)],
    )
}

/// The shortest equivalent: no doubled slashes, no `.`, and `..` applied where there is something
/// to leave.
#[must_use]
pub fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = is_abs(path);
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            b".." if rooted => {}
            _ => kept.push(part),
        }
    }
    let joined = kept.join(&b'/');
    match (rooted, joined.is_empty()) {
        (true, _) => [b"/", joined.as_slice()].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

/// From the last dot of the last element on; a name that begins with its only dot is all extension.
#[must_use]
pub fn ext(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'.' || byte == b'/') {
        Some(at) if path[at] == b'.' => &path[at..],
        _ => b"",
    }
}

/// Whether it begins with a slash.
#[must_use]
pub fn is_abs(path: &[u8]) -> bool {
    path.starts_with(b"/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_and_cleaned() {
        for (path, want_base, want_dir, want_clean, want_ext) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("///", "/", "/", "/", ""),
            ("a", "a", ".", "a", ""),
            ("a/b.c/", "b.c", "a/b.c", "a/b.c", ""),
            ("/a/../../b.tar.gz", "b.tar.gz", "/", "/b.tar.gz", ".gz"),
            ("../a/./..//b", "b", "..", "../b", ""),
            (".hidden", ".hidden", ".", ".hidden", ".hidden"),
            ("a.b/c", "c", "a.b", "a.b/c", ""),
            ("..", "..", ".", "..", "."),
        ] {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(text(base(path.as_bytes())), want_base, "base {path}");
            assert_eq!(text(&dir(path.as_bytes())), want_dir, "dir {path}");
            assert_eq!(text(&clean(path.as_bytes())), want_clean, "clean {path}");
            assert_eq!(text(ext(path.as_bytes())), want_ext, "ext {path}");
        }
    }
}
