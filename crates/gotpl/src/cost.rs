//! What calls of functions cost, in units of work: about nanoseconds. Most costs are known before
//! the call, from the sizes of its arguments; what is not, a function counts as it goes.

use crate::value::{Kind, Value};

/// The cost of calling a function, known before it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Of a call as such.
    pub call: u32,
    /// Of each byte of the texts it is given.
    pub byte: u32,
    /// Of each element of the lists and dicts it is given. What is in those, it counts as it goes.
    pub element: u32,
}

impl Cost {
    /// Of a function whose cost nobody has stated: so much that it is noticed.
    pub const UNKNOWN: Cost = Cost {
        call: 10_000_000,
        byte: 1_000,
        element: 1_000,
    };

    /// Of a function that only looks at its arguments.
    pub const CALL: Cost = Cost::of(100, 0, 0);

    /// A call, each byte of text, each element of lists and dicts.
    pub const fn of(call: u32, byte: u32, element: u32) -> Cost {
        Cost {
            call,
            byte,
            element,
        }
    }

    /// What a call with these arguments costs.
    #[inline]
    pub(crate) fn with<'a>(
        &self,
        arguments: &[Value<'a>],
        size: impl Fn(&Value<'a>) -> usize,
    ) -> u64 {
        let mut cost = u64::from(self.call);
        if self.byte | self.element == 0 {
            return cost;
        }
        for argument in arguments {
            let (count, each) = match &argument.kind {
                Kind::Text(text) => (text.len(), self.byte),
                Kind::List(_) | Kind::Map(_) if self.element > 0 => (size(argument), self.element),
                _ => continue,
            };
            cost = cost.saturating_add((count as u64).saturating_mul(u64::from(each)));
        }
        cost
    }
}

/// Reads a text as bytes, at the speed of memory.
const BYTES: Cost = Cost::of(100, 1, 0);
/// Reads a text letter by letter.
const LETTERS: Cost = Cost::of(150, 10, 0);
/// Prints its arguments, which counts as it goes.
const PRINT: Cost = Cost::of(200, 1, 0);
/// Reads a text into a tree.
const PARSE: Cost = Cost::of(500, 40, 0);
/// Makes a list or dict of another.
const COPY: Cost = Cost::of(150, 0, 40);
/// Reads a number, which may be a text.
const NUMBER: Cost = Cost::of(100, 4, 0);
/// Calculates with decimals of any length.
const DECIMAL: Cost = Cost::of(5_000, 4, 0);
/// Reads a time or a duration by its layout.
const TIME: Cost = Cost::of(500, 20, 0);
/// Draws random bytes, which count as they are made.
const RANDOM: Cost = Cost::of(2_000, 10, 0);
/// Matches an expression, which counts by the expression as it goes.
const MATCH: Cost = Cost::of(300, 2, 0);
/// Makes a key or a signature; one by a given RSA key counts by its length as it goes.
const KEY: Cost = Cost::of(2_000_000, 10, 1_000);
/// Hashes a password slowly.
const PASSWORD: Cost = Cost::of(70_000_000, 10, 0);

/// The cost of a function of the libraries; none if it has not been stated.
pub(crate) fn cost(name: &str) -> Option<Cost> {
    Some(match name {
        "and" | "or" | "not" | "call" | "len" | "index" | "hello" | "plural" | "yesno" => {
            Cost::CALL
        }
        "default" | "empty" | "coalesce" | "all" | "any" | "ternary" | "fail" | "required" => {
            Cost::CALL
        }
        "typeOf" | "kindOf" | "typeIs" | "typeIsLike" | "kindIs" => Cost::CALL,
        "get" | "hasKey" | "set" | "unset" | "dig" => Cost::of(200, 1, 0),
        "first" | "mustFirst" | "last" | "mustLast" => Cost::CALL,
        "list" | "tuple" => Cost::CALL,
        "dict" | "pluck" => Cost::of(300, 2, 0),
        "eq" | "ne" | "lt" | "le" | "gt" | "ge" => BYTES,

        "slice" | "mustSlice" => Cost::of(150, 1, 40),
        "concat" | "rest" | "mustRest" | "initial" | "mustInitial" | "append" | "mustAppend"
        | "push" | "mustPush" => COPY,
        "prepend" | "mustPrepend" | "reverse" | "mustReverse" | "compact" | "mustCompact"
        | "chunk" | "mustChunk" => COPY,
        "uniq" | "mustUniq" | "without" | "mustWithout" | "has" | "mustHas" => COPY,
        "keys" | "values" | "pick" | "omit" => Cost::of(300, 2, 100),
        "deepCopy" | "mustDeepCopy" | "deepEqual" => Cost::of(150, 1, 40),
        "merge" | "mustMerge" | "mergeOverwrite" | "mustMergeOverwrite" => Cost::of(300, 0, 100),

        "print" | "println" | "printf" | "toString" | "toStrings" | "cat" => PRINT,
        "quote" | "squote" => Cost::of(200, 10, 0),
        "join" => Cost::of(200, 1, 40),
        "sortAlpha" => Cost::of(200, 1, 100),
        "split" | "splitn" | "splitList" => Cost::of(200, 4, 0),
        "html" | "js" | "urlquery" | "urlencode" => LETTERS,

        "contains" | "hasPrefix" | "hasSuffix" | "trimPrefix" | "trimSuffix" | "trunc"
        | "substr" | "repeat" => BYTES,
        "trim" | "trimAll" | "trimall" | "upper" | "lower" => LETTERS,
        "indent" | "nindent" | "replace" => Cost::of(150, 4, 0),
        "title" | "untitle" | "swapcase" | "nospace" | "initials" | "abbrev" | "abbrevboth" => {
            LETTERS
        }
        "snakecase" | "kebabcase" | "camelcase" | "wrap" | "wrapWith" => Cost::of(200, 40, 0),
        "length" | "lengthis" | "truncatechars" | "wordcount" | "capfirst" | "rjust" | "ljust"
        | "center" => LETTERS,
        "striptags" | "pluralize" => LETTERS,

        "int" | "int64" | "float64" | "atoi" | "toDecimal" | "add" | "add1" | "sub" | "mul"
        | "div" | "mod" => NUMBER,
        "max" | "biggest" | "min" | "maxf" | "minf" | "round" | "ceil" | "floor" => NUMBER,
        "until" | "untilStep" | "seq" | "divisibleby" | "filesizeformat" | "apnumber"
        | "intcomma" | "ordinal" => Cost::of(300, 4, 0),
        "add1f" | "addf" | "subf" | "mulf" | "divf" => DECIMAL,

        "now" | "unixEpoch" | "ago" | "duration" | "durationRound" | "mustToDuration" => TIME,
        "date" | "dateInZone" | "date_in_zone" | "htmlDate" | "htmlDateInZone" | "toDate"
        | "mustToDate" => Cost::of(3_000, 40, 0),
        "dateModify" | "date_modify" | "mustDateModify" | "must_date_modify" => TIME,
        "durationSeconds"
        | "durationMilliseconds"
        | "durationMicroseconds"
        | "durationNanoseconds" => TIME,
        "durationMinutes" | "durationHours" | "durationDays" | "durationWeeks" => TIME,
        "durationRoundTo" | "durationTruncateTo" => TIME,

        "b64enc" | "b64dec" | "b32enc" | "b32dec" => Cost::of(150, 8, 0),
        "sha1sum" | "sha256sum" | "sha512sum" => Cost::of(1_500, 8, 0),
        "adler32sum" => Cost::of(200, 2, 0),
        "encryptAES" | "decryptAES" => Cost::of(3_000, 30, 0),
        "bcrypt" | "htpasswd" => PASSWORD,
        "derivePassword" => Cost::of(200_000_000, 10, 0),
        "genPrivateKey" | "genCA" | "genSelfSignedCert" | "buildCustomCert" => KEY,
        "genCAWithKey" | "genSelfSignedCertWithKey" | "genSignedCert" | "genSignedCertWithKey" => {
            KEY
        }

        "randAlphaNum" | "randAlpha" | "randNumeric" | "randAscii" | "randBytes" | "randInt"
        | "uuidv4" => RANDOM,
        "shuffle" | "random" => Cost::of(2_000, 40, 0),

        "regexMatch" | "mustRegexMatch" | "regexFind" | "mustRegexFind" | "regexFindAll"
        | "mustRegexFindAll" => MATCH,
        "regexReplaceAll"
        | "mustRegexReplaceAll"
        | "regexReplaceAllLiteral"
        | "mustRegexReplaceAllLiteral" => MATCH,
        "regexSplit" | "mustRegexSplit" => MATCH,
        "regexQuoteMeta" => LETTERS,
        "semver" => Cost::of(1_000, 10, 0),
        "semverCompare" => Cost::of(20_000, 400, 0),

        "base" | "dir" | "clean" | "ext" | "isAbs" | "osBase" | "osDir" | "osClean" | "osExt"
        | "osIsAbs" => LETTERS,
        "urlParse" => Cost::of(1_000, 20, 0),
        "urlJoin" => Cost::of(2_000, 20, 100),

        "toJson" | "mustToJson" | "toPrettyJson" | "mustToPrettyJson" | "toRawJson"
        | "mustToRawJson" => Cost::of(300, 10, 0),
        "toYaml" | "mustToYaml" | "toYamlPretty" | "toToml" | "mustToToml" => Cost::of(500, 20, 0),
        "fromJson" | "fromJsonArray" | "mustFromJson" => PARSE,
        "fromYaml" | "fromYamlArray" | "fromToml" => Cost::of(1_000, 200, 0),

        "include" => Cost::of(300, 1, 0),
        "tpl" => Cost::of(1_000, 20, 0),
        "lookup" => Cost::of(10_000, 10, 0),
        _ => return None,
    })
}
