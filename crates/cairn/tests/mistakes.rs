//! Mistakes that authors of packages make, each in a copy of an example: what the program prints names the place, says
//! what is wrong and what to do. The words of a message may change; its place and what it has to mention may not.
#![allow(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// A replacement in one file, what is run after it, and what has to be printed.
struct Mistake {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    args: &'static [&'static str],
    says: &'static [&'static str],
}

const WEB: &str = ".registry/templates/cachingwebservice.example.org/v1/web.yaml";
const CACHE: &str = ".registry/templates/cachingwebservice.example.org/v1/cache.yaml";
const STATUS: &str = ".registry/templates/cachingwebservice.example.org/v1/status.yaml";
const REDIS: &str = ".registry/resources/example.org/redis/v1/redis.v1.crd.yaml";
const APP: &str = ".registry/app.yaml";
const INSTANCE: &str = "cacheme.yaml";

const VALIDATE: &[&str] = &["validate", "."];
const RENDER: &[&str] = &["render", ".", "-f", "cacheme.yaml"];

const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "a typo in a field of the instance",
        file: WEB,
        from: ".spec.nginxVersion",
        to: ".spec.nginxVerson",
        args: VALIDATE,
        says: &["web.yaml:15:30", "`.spec.nginxVerson`", "did you mean `nginxVersion`?"],
    },
    Mistake {
        name: "a typo in a field of a sibling whose kind is of the same package",
        file: WEB,
        from: ".cache.status.endpoint",
        to: ".cache.status.endpiont",
        args: VALIDATE,
        says: &["web.yaml:18:34", "`.cache.status.endpiont`", "did you mean `endpoint`?"],
    },
    Mistake {
        name: "a typo in the name of a sibling",
        file: WEB,
        from: ".cache.status.endpoint",
        to: ".cahce.status.endpoint",
        args: VALIDATE,
        says: &["web.yaml:18:21", "`.cahce`", "did you mean `cache`?"],
    },
    Mistake {
        name: "a name from the spec, where a sibling counts on one object",
        file: CACHE,
        from: "name: {{ .metadata.name }}-cache",
        to: "name: {{ .spec.nginxVersion }}-cache",
        args: VALIDATE,
        says: &["web.yaml:18:27", "`.spec.nginxVersion`", "cache.yaml:4:17", "range"],
    },
    Mistake {
        name: "a kind that is not static",
        file: CACHE,
        from: "kind: Redis",
        to: "kind: {{ .spec.nginxVersion }}",
        args: VALIDATE,
        says: &["cache.yaml:2:10", "kind", "two templates"],
    },
    Mistake {
        name: "a cycle",
        file: CACHE,
        from: "redisVersion: \"5\"",
        to: "redisVersion: {{ .web.status.version | quote }}",
        args: VALIDATE,
        says: &["cache.yaml:6:20", "`.web.status.version`", "web.yaml:18:21", "`.cache.status.endpoint`", "default"],
    },
    Mistake {
        name: "a line without its colon",
        file: CACHE,
        from: "kind: Redis",
        to: "kind Redis",
        args: VALIDATE,
        says: &["cache.yaml:3", "not YAML", "':'"],
    },
    Mistake {
        name: "a tab",
        file: CACHE,
        from: "  redisVersion",
        to: "\tredisVersion",
        args: VALIDATE,
        says: &["cache.yaml:6", "not YAML"],
    },
    Mistake {
        name: "lines that are printed behind a key",
        file: WEB,
        from: "nindent 6",
        to: "indent 2",
        args: VALIDATE,
        says: &["web.yaml:8", "not YAML", "indentation"],
    },
    Mistake {
        name: "a line that is indented too far",
        file: WEB,
        from: "  replicas:",
        to: "   replicas:",
        args: VALIDATE,
        says: &["web.yaml:7", "not YAML", "indentation"],
    },
    Mistake {
        name: "a colon in a value without quotes",
        file: WEB,
        from: "{{ .spec.nginxVersion }}",
        to: "{{ .spec.nginxVersion }}: x",
        args: VALIDATE,
        says: &["web.yaml:15", "not YAML", "quotes"],
    },
    Mistake {
        name: "a function that does not exist",
        file: WEB,
        from: "| quote",
        to: "| quoted",
        args: VALIDATE,
        says: &["web.yaml:18", "\"quoted\"", "did you mean `quote`?"],
    },
    Mistake {
        name: "a function that reads the machine",
        file: WEB,
        from: "| quote",
        to: "| env",
        args: VALIDATE,
        says: &["web.yaml:18", "on purpose"],
    },
    Mistake {
        name: "a function with too few arguments",
        file: WEB,
        from: "| quote",
        to: "| replace \"a\"",
        args: VALIDATE,
        says: &["web.yaml:18:46", "`replace` takes 3 arguments, not 2"],
    },
    Mistake {
        name: "an if that does not end",
        file: WEB,
        from: "apiVersion",
        to: "{{ if .spec.replicas }}\napiVersion",
        args: VALIDATE,
        says: &["web.yaml:", "{{ end }}"],
    },
    Mistake {
        name: "a partial that does not exist",
        file: CACHE,
        from: "spec:",
        to: "  labels: {{ include \"lib\" \"labels\" . }}\nspec:",
        args: VALIDATE,
        says: &["cache.yaml:5:14", "\"lib/labels\"", ".tpl"],
    },
    Mistake {
        name: "an object without a name",
        file: CACHE,
        from: "  name: {{ .metadata.name }}-cache",
        to: "  annotations: {a: b}",
        args: VALIDATE,
        says: &["cache.yaml:", "metadata.name is missing", "{{ .metadata.name }}"],
    },
    Mistake {
        name: "a kind that app.yaml does not mention",
        file: APP,
        from: "- crd: service/v1",
        to: "",
        args: VALIDATE,
        says: &["warning", "service.yaml", "`- crd: service/v1`"],
    },
    Mistake {
        name: "a scope that does not exist",
        file: APP,
        from: "Namespaced",
        to: "Namespace",
        args: VALIDATE,
        says: &["app.yaml:5", "\"Namespace\"", "did you mean `Namespaced`?"],
    },
    Mistake {
        name: "a CRD whose name is not made of its plural",
        file: REDIS,
        from: "name: redises.example.org",
        to: "name: redis.example.org",
        args: VALIDATE,
        says: &["redis.v1.crd.yaml:4", "`name: redises.example.org`"],
    },
    Mistake {
        name: "a schema without a type",
        file: REDIS,
        from: "          spec:\n            type: object",
        to: "          spec:",
        args: VALIDATE,
        says: &["redis.v1.crd.yaml:26", "properties.spec", "`type: object`"],
    },
    Mistake {
        name: "a field of the instance that the CRD does not have",
        file: INSTANCE,
        from: "replicas: 2",
        to: "replcas: 2",
        args: RENDER,
        says: &["warning", "cacheme.yaml:8:3", "`.spec.replcas`", "did you mean `replicas`?"],
    },
    Mistake {
        name: "a value of the wrong type in the instance",
        file: INSTANCE,
        from: "replicas: 2",
        to: "replicas: two",
        args: RENDER,
        says: &["cacheme.yaml", "spec.replicas", "integer"],
    },
    Mistake {
        name: "a field that the instance needs",
        file: INSTANCE,
        from: "  nginxVersion: \"1.17.4\"\n",
        to: "",
        args: RENDER,
        says: &["cacheme.yaml", "spec.nginxVersion: Required value"],
    },
    Mistake {
        name: "an instance of a kind that the package does not have",
        file: INSTANCE,
        from: "kind: CachingWebService",
        to: "kind: CashingWebService",
        args: RENDER,
        says: &["cacheme.yaml", "CashingWebService", "CachingWebService"],
    },
    Mistake {
        name: "a child that its own CRD refuses",
        file: CACHE,
        from: "\"5\"",
        to: "5",
        args: RENDER,
        says: &["cache.yaml:6", "spec.redisVersion", "string"],
    },
    Mistake {
        name: "a child in another namespace",
        file: CACHE,
        from: "metadata:",
        to: "metadata:\n  namespace: kube-system",
        args: RENDER,
        says: &["cache.yaml:", "\"kube-system\"", "\"default\""],
    },
    Mistake {
        name: "a status that its own CRD refuses",
        file: STATUS,
        from: "ready: ",
        to: "ready: \"yes\" # ",
        args: RENDER,
        says: &["status.yaml:", "ready", "boolean"],
    },
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// What the program says of a mistake, if it misses something of what it has to say.
fn missed(mistake: &Mistake) -> Option<String> {
    let Mistake { name, file, from, to, args, says } = mistake;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/caching-web-service");
    let place = tempfile::tempdir().expect("a directory");
    copy(&example, place.path());
    let path = place.path().join(file);
    let text = fs::read_to_string(&path).expect("the file");
    assert!(text.contains(from), "{name}: {file} has no {from:?}");
    fs::write(&path, text.replacen(from, to, 1)).expect("the file is written");
    let output = Command::new(env!("CARGO_BIN_EXE_cairn"))
        .args(*args)
        .current_dir(place.path())
        .stdin(Stdio::null())
        .output()
        .expect("cairn starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    // A warning does not fail; everything else ends with 1, and nothing ends in a panic.
    let code = i32::from(!says.contains(&"warning"));
    let lacks: Vec<_> = says.iter().filter(|words| !told.contains(**words)).collect();
    (output.status.code() != Some(code) || !lacks.is_empty())
        .then(|| format!("{name}: {:?}, lacks {lacks:?} in\n{told}", output.status.code()))
}

#[test]
fn every_mistake_is_told_with_its_place_and_what_to_do() {
    let missed: Vec<String> = MISTAKES.iter().filter_map(missed).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
