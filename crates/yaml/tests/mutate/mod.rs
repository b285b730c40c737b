//! Makes texts and values that look like YAML, from a seed: mutations of the golden texts and
//! made-up soup.

use serde_json::{Value, json};

/// A small generator of pseudo-random numbers (xorshift), so that a seed tells everything.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as usize) % bound.max(1)
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Pieces that mean something to YAML, from which soup is made.
const PIECES: &[&str] = &[
    "a",
    "b",
    "key",
    "value",
    "- ",
    "-",
    "? ",
    "?",
    ": ",
    ":",
    ":\n",
    "\n",
    "\n  ",
    "\n ",
    "\n    ",
    "\n- ",
    "\n  - ",
    " ",
    "  ",
    "\t",
    "[",
    "]",
    "{",
    "}",
    ", ",
    ",",
    "#",
    " # c",
    "&x ",
    "*x",
    "*x ",
    "!!str ",
    "!!int ",
    "!",
    "!t ",
    "|",
    ">",
    "|-\n",
    ">+\n",
    "|2\n",
    "'",
    "\"",
    "''",
    "\\",
    "\\n",
    "\\x41",
    "\\\n",
    "---",
    "\n---\n",
    "\n...\n",
    "%YAML 1.1\n",
    "%TAG ! x\n",
    "<<",
    "<<: *x",
    "<<: ",
    "1",
    "0x1F",
    "1.5",
    "true",
    "no",
    "~",
    "null",
    ".inf",
    "1e3",
    "0777",
    "2001-01-01",
    "é",
    "日",
    "😀",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\r\n",
    "\r",
    "@",
    "`",
    "=",
    "\"a\": ",
    "'b'",
    "{a: 1}",
    "[a, b]",
    "{{ .x }}",
    "k: v\n",
    "a: &x {b: 1}\n",
    "<",
    "\u{7f}",
    "\u{1}",
    "word word ",
    "--",
    "...",
    "~: ",
    "1: ",
];

/// The texts of the golden vectors.
pub fn seeds() -> Vec<String> {
    let files = [
        include_str!("../golden/aliases.jsonl"),
        include_str!("../golden/blocks.jsonl"),
        include_str!("../golden/keys.jsonl"),
        include_str!("../golden/malformed.jsonl"),
        include_str!("../golden/quotes.jsonl"),
        include_str!("../golden/scalars.jsonl"),
        include_str!("../golden/structures.jsonl"),
        include_str!("../golden/tags.jsonl"),
        include_str!("../golden/whitespace.jsonl"),
        include_str!("../golden/write.jsonl"),
    ];
    let mut texts = Vec::new();
    for line in files.iter().flat_map(|file| file.lines()) {
        let vector: Value = serde_json::from_str(line).expect("a vector is JSON");
        texts.extend(vector["text"].as_str().map(str::to_owned));
    }
    texts.sort();
    texts.dedup();
    texts
}

/// One thing to ask.
pub fn question(random: &mut Random, seeds: &[String]) -> Value {
    match random.below(20) {
        0..=10 => json!({ "op": "read", "text": text(random, seeds) }),
        11..=13 => json!({ "op": "strict", "text": text(random, seeds) }),
        14 => json!({ "op": "documents", "text": text(random, seeds) }),
        15..=17 => json!({ "op": "write", "json": value(random, seeds, 0) }),
        _ => json!({ "op": "pretty", "json": value(random, seeds, 0) }),
    }
}

/// A text: a mutated seed, two seeds put together, or soup.
pub fn text(random: &mut Random, seeds: &[String]) -> String {
    match random.below(4) {
        0 => soup(random, 24),
        1 => {
            let (first, second) = (random.below(seeds.len()), random.below(seeds.len()));
            let indented = seeds[second].replace('\n', random.pick(&["\n", "\n  ", "\n "]));
            format!(
                "{}{}{indented}",
                seeds[first],
                random.pick(&["\n", "", "\n  ", "\n- ", ": ", " "])
            )
        }
        _ => {
            let at = random.below(seeds.len());
            let mut text = seeds[at].clone();
            for _ in 0..=random.below(4) {
                mutate(random, &mut text);
            }
            text
        }
    }
}

fn soup(random: &mut Random, most: usize) -> String {
    (0..=random.below(most))
        .map(|_| random.pick(PIECES))
        .collect()
}

/// Changes a text in one place.
fn mutate(random: &mut Random, text: &mut String) {
    let from = text.floor_char_boundary(random.below(text.len() + 1));
    let to = text
        .floor_char_boundary((from + random.below(6)).min(text.len()))
        .max(from);
    match random.below(5) {
        0 => text.replace_range(from..to, ""),
        1 => {
            let copy = text[from..to].to_owned();
            let at = text.floor_char_boundary(random.below(text.len() + 1));
            text.insert_str(at, &copy);
        }
        2 => text.truncate(from),
        3 => text.replace_range(from..to, random.pick(PIECES)),
        _ => text.insert_str(from, random.pick(PIECES)),
    }
}

/// A value to write.
pub fn value(random: &mut Random, seeds: &[String], depth: usize) -> Value {
    match random.below(if depth > 4 { 7 } else { 11 }) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => json!(random.below(1000)),
        3 => match random.below(4) {
            0 => json!(random.below(1_000_000) as f64 / 64.0),
            1 => {
                json!((random.below(usize::MAX) as f64) * 10f64.powi(random.below(40) as i32 - 20))
            }
            2 => json!(random.below(usize::MAX) as i64),
            _ => json!(-(random.below(1 << 40) as f64)),
        },
        4 => json!(soup(random, 30)),
        5 => json!(text(random, seeds)),
        6 => json!(
            (0..random.below(60))
                .map(|_| random.pick(&["word ", "lorem", " ", "x"]))
                .collect::<String>()
        ),
        7 | 8 => Value::Array(
            (0..random.below(4))
                .map(|_| value(random, seeds, depth + 1))
                .collect(),
        ),
        _ => {
            let mut map = serde_json::Map::new();
            for _ in 0..random.below(5) {
                let key = if random.below(3) == 0 {
                    soup(random, 4)
                } else {
                    format!("k{}", random.below(20))
                };
                map.insert(key, value(random, seeds, depth + 1));
            }
            Value::Object(map)
        }
    }
}
