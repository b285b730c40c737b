//! How two texts differ, line by line, for those who read a failure.

/// The lines of both, marked by whose they are.
pub fn lines(expected: &str, answered: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), answered.lines().collect());
    // The length of the longest common part of what is left of both, from every pair of lines on.
    let mut common = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut text) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        let (sign, line) = if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
            ("          ", old[i - 1])
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            i += 1;
            ("-expected ", old[i - 1])
        } else {
            j += 1;
            ("+answered ", new[j - 1])
        };
        text.push_str(sign);
        text.push_str(line);
        text.push('\n');
    }
    text
}
