//! `cairn template` without a cluster: files of templates and values, everything that is wrong with
//! them, and a talk on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::support::{cairn, told};

/// How long an answer of the program may take.
const PATIENCE: Duration = Duration::from_secs(60);

const SHOP: &str = "\
apiVersion: templates.stacks.crossplane.io/v1alpha1
kind: Template
metadata:
  name: shop
labels:
  app: $(NAME)
objects:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: $(NAME)
  spec:
    replicas: $((REPLICAS))
    selector:
      matchLabels:
        tier: web
    template:
      metadata:
        labels:
          tier: web
- apiVersion: v1
  kind: Secret
  metadata:
    name: $(NAME)
  stringData:
    password: $(PASSWORD)
parameters:
- name: NAME
  description: What everything is called
  value: shop
- name: REPLICAS
  type: int
  value: \"2\"
- name: PASSWORD
  displayName: Password
  description: The password of the shop
  required: true
";

const FILLED: &str = "\
apiVersion: v1
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata:
    labels:
      app: shop
    name: shop
  spec:
    replicas: 3
    selector:
      matchLabels:
        app: shop
        tier: web
    template:
      metadata:
        labels:
          app: shop
          tier: web
- apiVersion: v1
  kind: Secret
  metadata:
    labels:
      app: shop
    name: shop
  stringData:
    password: secret
kind: List
";

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).expect("a file");
    }
    place
}

fn output(place: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let args: Vec<&str> = ["template"].iter().chain(args).copied().collect();
    let output = cairn(place, &args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn values_are_typed_kept_in_files_or_name_their_template_and_give_the_same() {
    let values = "apiVersion: templates.stacks.crossplane.io/v1alpha1\nkind: TemplateParameters\nfile: shop.yaml\n\
                  parameters: {PASSWORD: secret, REPLICAS: '3'}\n";
    let stored = values.replace("file: shop.yaml", "name: shop");
    let place = place(&[
        ("shop.yaml", SHOP),
        (
            "values.env",
            "# what we run\nexport PASSWORD='secret'\nREPLICAS=3 # enough\n",
        ),
        ("values.yaml", values),
        ("stored.yaml", &stored),
    ]);
    for args in [
        &[
            "process",
            "shop.yaml",
            "-p",
            "PASSWORD=secret",
            "-p",
            "REPLICAS=3",
        ][..],
        &["process", "shop.yaml", "--param-file", "values.env"],
        &[
            "process",
            "shop.yaml",
            "--param-file",
            "values.yaml",
            "--local",
        ],
        &["process", "shop.yaml", "--param-file", "stored.yaml"],
        &["process", "values.yaml", "--local"],
    ] {
        assert_eq!(
            output(place.path(), args),
            (Some(0), FILLED.to_owned(), String::new()),
            "{args:?}"
        );
    }
    let (code, stdout, stderr) = output(
        place.path(),
        &[
            "process",
            "shop.yaml",
            "--param-file",
            "values.env",
            "-p",
            "REPLICAS=5",
        ],
    );
    assert!(
        code == Some(0) && stdout.contains("replicas: 5"),
        "{stdout}"
    );
    assert_eq!(
        stderr,
        "warning: values.env: REPLICAS was given before, and that value is used\n"
    );
    let (_, stdout, _) = output(
        place.path(),
        &[
            "process",
            "values.yaml",
            "--result",
            "template",
            "-o",
            "json",
            "-l",
            "a=b,c=d",
        ],
    );
    let template: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(template["kind"], "Template");
    assert_eq!(template["parameters"][2]["value"], "secret");
    assert_eq!(
        template["objects"][1]["metadata"]["labels"],
        serde_json::json!({"a": "b", "app": "shop", "c": "d"})
    );
}

#[test]
fn parameters_are_a_table_for_people_and_a_list_for_programs() {
    let place = place(&[("shop.yaml", SHOP)]);
    let table = "NAME       TYPE     REQUIRED   DEFAULT   DESCRIPTION\n\
                 NAME       string   no         shop      What everything is called\n\
                 REPLICAS   int      no         2         -\n\
                 PASSWORD   string   yes        -         The password of the shop\n";
    assert_eq!(
        output(place.path(), &["params", "shop.yaml"]),
        (Some(0), table.to_owned(), String::new())
    );
    let (_, stdout, _) = output(place.path(), &["params", "shop.yaml", "-o", "json"]);
    let list: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(
        list[1],
        serde_json::json!({"name": "REPLICAS", "type": "int", "value": "2", "required": false})
    );
}

#[test]
fn what_is_wrong_is_told_at_once_with_its_line_and_nothing_is_printed() {
    let broken = SHOP.replace("value: \"2\"", "value: 2");
    let both = SHOP.replace("name: $(NAME)\n  stringData", "name: ${NAME}\n  stringData");
    let place = place(&[
        ("shop.yaml", SHOP),
        ("broken.yaml", &broken),
        ("both.yaml", &both),
        ("pod.yaml", "apiVersion: v1\nkind: Pod\n"),
        ("two.yaml", &format!("{SHOP}---\n{SHOP}")),
        ("empty.yaml", "# nothing\n"),
        ("bad.env", "A=1\nB\n"),
        (
            "values.yaml",
            "kind: TemplateParameters\nparameters: {PASSWORD: 1}\nother: x\n",
        ),
        ("nowhere.yaml", "kind: TemplateParameters\nparameters: {}\n"),
    ]);
    for (args, code, parts) in [
        (
            &["process", "shop.yaml"][..],
            1,
            &[
                "error: shop.yaml:34:3: parameters[2]: the parameter PASSWORD is required",
                "hint: give one with `-p PASSWORD=VALUE`",
            ][..],
        ),
        (
            &[
                "process",
                "shop.yaml",
                "-p",
                "REPLICAS=many",
                "-p",
                "PASWORD=x",
            ],
            1,
            &[
                "error: the template has no parameter PASWORD\nhint: is PASSWORD meant?",
                "is of type int, and `many` is no whole number",
                "PASSWORD is required",
            ],
        ),
        (
            &["process", "broken.yaml"],
            1,
            &[
                "error: broken.yaml:33:10: parameters[1].value: `value` of the parameter REPLICAS is a text, and this is the number 2\n  33 |   value: 2\n     |          ^\nhint: write it in quotes",
            ],
        ),
        (
            &["process", "both.yaml"],
            1,
            &[
                "both.yaml:11:11: objects[0].metadata.name: the template writes references in two ways",
            ],
        ),
        (
            &["process", "pod.yaml"],
            1,
            &["pod.yaml:2:7: kind: this is a Pod, not a Template"],
        ),
        (
            &["process", "two.yaml"],
            1,
            &["two.yaml holds several objects"],
        ),
        (&["process", "empty.yaml"], 1, &["empty.yaml is empty"]),
        (
            &["process", "shop.yaml", "--param-file", "bad.env"],
            1,
            &["bad.env:2: a line is `NAME=value`\n  2 | B\n"],
        ),
        (
            &["process", "shop.yaml", "--param-file", "values.yaml"],
            1,
            &[
                "values.yaml:2:24: parameters.PASSWORD: the value of PASSWORD is a text",
                "values.yaml:3:1: other: there is no field `other` here",
            ],
        ),
        (
            &["process", "nowhere.yaml"],
            1,
            &["nowhere.yaml holds values, but does not name their template"],
        ),
        (
            &["process", "absent.yaml"],
            1,
            &["there is no file `absent.yaml`"],
        ),
        (
            &["process", "absent", "--local"],
            1,
            &["there is no file `absent`", "only a file is read here"],
        ),
        (
            &["process", "library/absent", "--local"],
            1,
            &["there is no file `library/absent`", "only a file is read"],
        ),
        (
            &["store", "absent"],
            1,
            &["there is no file `absent`", "only a file is read here"],
        ),
        (
            &["store", "pod.yaml"],
            1,
            &["pod.yaml:2:7: kind: this is a Pod, not a Template"],
        ),
        (
            &["process", "shop.yaml", "-p", "x"],
            2,
            &["`x` is no value for a parameter"],
        ),
        (
            &["process", "shop.yaml", "-p", "A=1", "-p", "A=2"],
            2,
            &["the parameter A was given more than once"],
        ),
        (
            &["process", "shop.yaml", "-i"],
            2,
            &["there is no terminal to ask on"],
        ),
        (
            &[
                "process",
                "shop.yaml",
                "-p",
                "PASSWORD=x",
                "--dialect",
                "braces",
            ],
            1,
            &["shop.yaml:6:8: labels.app: `$(NAME)` cannot be the value of a label"],
        ),
    ] {
        let (found, stdout, stderr) = output(place.path(), args);
        assert_eq!(found, Some(code), "{args:?}\n{stderr}");
        assert!(code == 0 || stdout.is_empty(), "{args:?}\n{stdout}");
        for part in parts {
            assert!(stderr.contains(part), "{args:?} lacks {part:?}:\n{stderr}");
        }
    }
}

/// What is beyond ASCII: letters of two and three bytes, a flag of eight, and tabs.
const FOREIGN: &str = "\
apiVersion: v1
kind: Template
metadata: {name: größe, anotations: {}}
objects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: '名前', lables: x}, data: {text: '$(NAME) $(MISSING)'}}
parameters:
- {description: '🇩🇪 für\t名', nmae: A, value: 1}
- {name: NAME, descripton: 'straße'}
- {name: 'UNUSED'}
---
";

#[test]
fn all_that_is_wrong_with_a_template_is_told_with_its_place_whatever_precedes_it() {
    let place = place(&[
        ("t.yaml", FOREIGN),
        ("ok.yaml", "kind: Template\napiVersion: v1\nobjects: []\n"),
    ]);
    let (code, stdout, stderr) = output(place.path(), &["validate", "t.yaml", "--local"]);
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    for part in [
        "error: t.yaml:3:25: metadata.anotations: metadata has no field `anotations`\n  3 | metadata: {name: größe, \
         anotations: {}}\n    |                         ^\nhint: did you mean `annotations`?\n",
        // Columns are characters: a flag has two, a tab one.
        "error: t.yaml:7:29: parameters[0].nmae: a parameter has no field `nmae`\n",
        "t.yaml:8:16: parameters[1].descripton: a parameter has no field `descripton`",
    ] {
        assert!(stderr.contains(part), "lacks {part:?}:\n{stderr}");
    }
    let caret = |what: &str| {
        let at = stderr
            .find(what)
            .unwrap_or_else(|| panic!("{what}:\n{stderr}"));
        let mut lines = stderr[at..].lines().skip(1);
        let (line, pointer) = (
            lines.next().unwrap_or_default(),
            lines.next().unwrap_or_default(),
        );
        (line.to_owned(), pointer.chars().count() - 1)
    };
    // What stands before it: a flag and two letters of Chinese are wider than their characters, a
    // tab is a space.
    let (line, column) = caret("has no field `nmae`");
    let before = line.split("nmae").next().unwrap_or_default();
    let wide = unicode_width::UnicodeWidthStr::width(before);
    assert!(!line.contains('\t'), "{line}");
    assert_eq!(column, wide, "{line}");

    let (code, stdout, _) = output(
        place.path(),
        &["validate", "t.yaml", "--local", "-o", "json"],
    );
    let found: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(code, Some(1));
    assert_eq!(
        (&found[0]["line"], &found[0]["column"]),
        (&3.into(), &25.into()),
        "{found}"
    );

    let (code, stdout, stderr) = output(place.path(), &["validate", "ok.yaml", "--local"]);
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(0), "ok.yaml: ok\n", "")
    );
    let broken = "a: ä\nb: 名前: x\n";
    std::fs::write(place.path().join("broken.yaml"), broken).expect("a file");
    let (_, _, stderr) = output(place.path(), &["validate", "broken.yaml", "--local"]);
    let expected = "error: broken.yaml:2:6: this is not YAML: mapping values are not allowed in this context\n  \
                    2 | b: 名前: x\n    |        ^\n";
    assert!(stderr.starts_with(expected), "{stderr}");
}

#[test]
fn the_proposals_name_for_labels_is_understood() {
    let text = "kind: Template\napiVersion: v1\nobjectLabels: {shop: $(NAME)}\nobjects:\n\
                - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\nparameters: [{name: NAME, value: x}]\n";
    let place = place(&[("t.yaml", text)]);
    let (code, stdout, stderr) = output(
        place.path(),
        &["process", "t.yaml", "--local", "-o", "json"],
    );
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let list: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(
        list["items"][0]["metadata"]["labels"],
        serde_json::json!({"shop": "x"})
    );
    let (code, _, stderr) = output(
        place.path(),
        &["process", "t.yaml", "--local", "-p", "NAME=no label!"],
    );
    assert_eq!(code, Some(1));
    assert!(
        stderr.starts_with("error: t.yaml:3:22: objectLabels.shop: "),
        "{stderr}"
    );
}

#[test]
fn an_openshift_template_is_taken_as_it_is() {
    let text = "kind: Template\napiVersion: template.openshift.io/v1\nmetadata: {name: t}\nobjects:\n- kind: Route\n  apiVersion: v1\n  \
                metadata: {name: '${NAME}', namespace: fixed}\n  spec: {port: '${{PORT}}', token: '${TOKEN}'}\nparameters:\n\
                - {name: NAME, value: web}\n- {name: PORT, value: '80'}\n- {name: TOKEN, generate: expression, from: 'x[0-9]{4}'}\n";
    let place = place(&[("t.yaml", text)]);
    let (code, stdout, stderr) = output(
        place.path(),
        &["process", "t.yaml", "--local", "-o", "json"],
    );
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let list: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let route = &list["items"][0];
    assert_eq!(
        (&route["apiVersion"], &route["metadata"]),
        (
            &"route.openshift.io/v1".into(),
            &serde_json::json!({"name": "web"})
        )
    );
    assert_eq!(route["spec"]["port"], 80);
    let token = route["spec"]["token"].as_str().expect("a token");
    assert!(
        token.len() == 5
            && token.starts_with('x')
            && token[1..].bytes().all(|byte| byte.is_ascii_digit()),
        "{token}"
    );
    let (_, again, _) = output(place.path(), &["process", "t.yaml", "-o", "json"]);
    assert_ne!(stdout, again, "a token is drawn for each run");
}

/// A terminal with the program on it; results go to a pipe.
struct Talk {
    child: Child,
    terminal: File,
    line: File,
    pieces: Receiver<Vec<u8>>,
    seen: String,
    /// How much of it was expected.
    at: usize,
}

impl Talk {
    fn start(place: &Path, args: &[&str]) -> Talk {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal).expect("granted");
        unlockpt(&terminal).expect("unlocked");
        let name = ptsname(&terminal, Vec::new()).expect("a name");
        let open = || {
            File::options()
                .read(true)
                .write(true)
                .open(name.to_str().expect("a path"))
                .expect("its other end")
        };
        let child = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(args)
            .current_dir(place)
            .env("NO_COLOR", "1")
            .stdin(open())
            .stdout(Stdio::piped())
            .stderr(open())
            .spawn()
            .expect("cairn starts");
        let terminal = File::from(terminal);
        let mut reader = terminal.try_clone().expect("a second handle");
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 1024];
            while let Ok(read @ 1..) = reader.read(&mut piece) {
                if sender.send(piece[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Talk {
            child,
            line: open(),
            terminal,
            pieces,
            seen: String::new(),
            at: 0,
        }
    }

    /// Waits until something is on the screen, after all that was waited for before.
    fn expect(&mut self, text: &str) {
        loop {
            if let Some(found) = self.seen[self.at..].find(text) {
                self.at += found + text.len();
                return;
            }
            let Ok(piece) = self.pieces.recv_timeout(PATIENCE) else {
                let _ = self.child.kill();
                panic!("{text:?} did not come:\n{}", self.seen);
            };
            self.seen.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    fn answer(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).expect("typed");
    }

    /// Whether the terminal shows what is typed.
    fn echoes(&self) -> bool {
        tcgetattr(&self.line)
            .expect("a terminal")
            .local_modes
            .contains(LocalModes::ECHO)
    }

    fn end(self) -> (Option<i32>, String) {
        let output = self.child.wait_with_output().expect("cairn ends");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    }
}

#[test]
fn on_a_terminal_it_asks_for_what_is_missing_and_shows_no_password() {
    let place = place(&[("shop.yaml", SHOP)]);
    let mut talk = Talk::start(
        place.path(),
        &["template", "process", "shop.yaml", "-p", "REPLICAS=3"],
    );
    talk.expect("shop asks for one value");
    talk.expect("The password of the shop");
    talk.expect("PASSWORD (not shown): ");
    assert!(!talk.echoes());
    talk.answer("\r");
    talk.expect("a value is required");
    talk.expect("PASSWORD (not shown): ");
    talk.answer("wrong\x15secreX\x7ft\r");
    let seen = talk.seen.clone();
    assert_eq!(talk.end(), (Some(0), FILLED.to_owned()));
    assert!(!seen.contains("secre") && !seen.contains("wrong"), "{seen}");
}

#[test]
fn asked_for_everything_it_tells_defaults_and_checks_types_at_once() {
    let place = place(&[("shop.yaml", SHOP)]);
    let mut talk = Talk::start(place.path(), &["template", "process", "shop.yaml", "-i"]);
    talk.expect("NAME (empty: shop): ");
    assert!(talk.echoes());
    talk.answer("\n");
    talk.expect("REPLICAS (int, empty: 2): ");
    talk.answer("several\n");
    talk.expect("`several` is no whole number");
    talk.expect("REPLICAS (int, empty: 2): ");
    talk.answer("3\n");
    talk.expect("PASSWORD (not shown): ");
    talk.answer("secret\r");
    assert_eq!(talk.end(), (Some(0), FILLED.to_owned()));
}

#[test]
fn whoever_leaves_a_talk_finds_the_terminal_as_it_was() {
    let place = place(&[("shop.yaml", SHOP)]);
    let mut talk = Talk::start(place.path(), &["template", "process", "shop.yaml"]);
    talk.expect("PASSWORD (not shown): ");
    talk.answer("sec\x03");
    talk.expect("the answers ended before all was answered");
    assert!(talk.echoes());
    assert_eq!(talk.end(), (Some(1), String::new()));
    let asked = cairn(
        place.path(),
        &["template", "process", "shop.yaml", "--no-input"],
    );
    assert!(told(&["process"], &asked).contains("PASSWORD is required"));
}
