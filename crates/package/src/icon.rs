//! The pictures of a package: their types, whether they are what their names say, and as data URIs.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::problem::Problems;

/// The picture formats by file ending, the best first.
const FORMATS: [(&str, &str); 5] = [
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
];

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    /// How good its format is; less is better.
    pub(crate) rank: usize,
    pub(crate) media_type: &'static str,
    pub(crate) base64: String,
}

impl Picture {
    /// The picture in a file, whose ending the layout has accepted.
    pub(crate) fn read(file: &str, bytes: &[u8], problems: &mut Problems) -> Option<Self> {
        let ending = file.rsplit('.').next()?;
        let (rank, (_, media_type)) = FORMATS
            .iter()
            .enumerate()
            .find(|(_, (known, _))| *known == ending)?;
        if bytes.is_empty() {
            problems.error(file, "the picture is empty", None);
            return None;
        }
        if let Some(is) = sniff(bytes).filter(|is| is != media_type) {
            let hint = FORMATS
                .iter()
                .find(|(_, known)| *known == is)
                .map(|(ending, _)| format!("end it in `.{ending}`"));
            problems.error(
                file,
                format!("this is a picture of type {is}, not {media_type}"),
                hint,
            );
            return None;
        }
        if let Some((width, height)) = size(bytes).filter(|(width, height)| width != height) {
            let what = format!("the icon has {width} by {height} pixels");
            problems.warning(
                file,
                what,
                Some("icons are shown as squares: make it as wide as high".to_owned()),
            );
        }
        Some(Self {
            rank,
            media_type,
            base64: STANDARD.encode(bytes),
        })
    }

    /// As RFC 2397 writes it.
    pub(crate) fn data_uri(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64)
    }
}

/// The format that the first bytes tell; none when they tell none.
fn sniff(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        _ => bytes
            .windows(4)
            .take(4096)
            .any(|four| four == b"<svg")
            .then_some("image/svg+xml"),
    }
}

/// Width and height of a bitmap that has them at a fixed place.
fn size(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let little = |at: usize| {
        Some(u32::from(u16::from_le_bytes(
            bytes.get(at..at + 2)?.try_into().ok()?,
        )))
    };
    match sniff(bytes)? {
        "image/png" => Some((big(16)?, big(20)?)),
        "image/gif" => Some((little(6)?, little(8)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Picture;
    use crate::problem::Problems;

    /// The beginning of a bitmap file of a size.
    fn png(width: u32, height: u32) -> Vec<u8> {
        [
            &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..],
            &width.to_be_bytes(),
            &height.to_be_bytes(),
        ]
        .concat()
    }

    #[test]
    fn a_picture_is_what_its_name_says_or_is_refused() {
        let table: [(&str, Vec<u8>, Option<&str>, &str); 7] = [
            ("icon.svg", b"<svg/>".to_vec(), Some("image/svg+xml"), ""),
            ("icon.png", png(8, 8), Some("image/png"), ""),
            (
                "icon.png",
                png(8, 9),
                Some("image/png"),
                "icon.png: warning: the icon has 8 by 9 pixels",
            ),
            (
                "a.icon.jpeg",
                vec![0xff, 0xd8, 0xff, 0xe0],
                Some("image/jpeg"),
                "",
            ),
            (
                "icon.gif",
                b"GIF89a\x01\0\x01\0".to_vec(),
                Some("image/gif"),
                "",
            ),
            (
                "icon.svg",
                png(1, 1),
                None,
                "icon.svg: error: this is a picture of type image/png, not image/svg+xml",
            ),
            (
                "icon.png",
                Vec::new(),
                None,
                "icon.png: error: the picture is empty",
            ),
        ];
        for (file, bytes, expected, said) in table {
            let mut problems = Problems::default();
            let picture = Picture::read(file, &bytes, &mut problems);
            assert_eq!(
                picture.map(|picture| picture.media_type),
                expected,
                "{file}"
            );
            let texts: Vec<String> = problems.sorted().iter().map(ToString::to_string).collect();
            assert_eq!(texts.join("\n"), said, "{file}");
        }
    }

    #[test]
    fn a_data_uri_is_the_one_of_the_seed() {
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n";
        let uri = Picture::read("icon.svg", svg, &mut Problems::default())
            .map(|picture| picture.data_uri());
        let seed =
            "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4K";
        assert_eq!(uri.as_deref(), Some(seed));
    }
}
