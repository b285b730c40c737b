//! What the server itself keeps secret: the key that signs service accounts' tokens, and the random
//! tokens of users who have no account. They are in a file of their own where the server is to
//! outlive the process.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, RwLock},
};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde_json::{Value, json};

use super::jwt::Key;
use super::user::User;
use crate::transport::listener::write_private;

/// The file in the server's directory.
const FILE: &str = "auth.json";

/// The server's secrets.
pub(crate) struct Secrets {
    /// What signs the tokens of service accounts.
    pub(crate) key: Key,
    pkcs8: Vec<u8>,
    path: Option<PathBuf>,
    /// Whether they were nowhere but here when this began.
    is_new: bool,
    users: RwLock<HashMap<String, User>>,
    /// Held while the file is written, so that the newest state is what stays.
    writing: Mutex<()>,
}

impl Secrets {
    /// Reads what is in a directory, or makes new ones, which [`Self::save_new`] keeps.
    pub(crate) fn open(data: Option<&Path>) -> Result<Self, String> {
        let path = data.map(|data| data.join(FILE));
        let kept = match &path {
            Some(path) => match std::fs::read_to_string(path) {
                Ok(text) => {
                    Some(parse(&text).ok_or_else(|| format!("{} is damaged", path.display()))?)
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
            },
            None => None,
        };
        let is_new = kept.is_none();
        let (pkcs8, users) = match kept {
            Some(kept) => kept,
            // The administrator will want a token, and this way it is written together with the
            // key.
            None => (
                Key::generate()?,
                HashMap::from([(random()?, User::admin())]),
            ),
        };
        let key = Key::read(&pkcs8)?;
        Ok(Self {
            key,
            pkcs8,
            path,
            is_new,
            users: RwLock::new(users),
            writing: Mutex::default(),
        })
    }

    /// Writes new secrets into the directory.
    pub(crate) fn save_new(&self) -> Result<(), String> {
        if self.is_new { self.save() } else { Ok(()) }
    }

    /// The token of a user; the same as before if there was one.
    pub(crate) fn token_of(&self, user: &User) -> Result<String, String> {
        let find = |users: &HashMap<String, User>| {
            users
                .iter()
                .find(|(_, known)| *known == user)
                .map(|(token, _)| token.clone())
        };
        if let Some(token) = find(&self.users.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(token);
        }
        let new = random()?;
        let token = {
            let mut users = self.users.write().unwrap_or_else(PoisonError::into_inner);
            find(&users).unwrap_or_else(|| {
                let token = new;
                users.insert(token.clone(), user.clone());
                token
            })
        };
        self.save()?;
        Ok(token)
    }

    /// Whose token this is.
    pub(crate) fn user_of(&self, token: &str) -> Option<User> {
        self.users
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(token)
            .cloned()
    }

    fn save(&self) -> Result<(), String> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let users: HashMap<String, Value> = {
            let users = self.users.read().unwrap_or_else(PoisonError::into_inner);
            let shown = |user: &User| json!({"name": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra});
            users
                .iter()
                .map(|(token, user)| (token.clone(), shown(user)))
                .collect()
        };
        let text = json!({"key": STANDARD.encode(&self.pkcs8), "users": users}).to_string();
        let new = path.with_extension("json.new");
        let directory = path.parent().unwrap_or(path);
        let written = write_private(&new, &text)
            .and_then(|()| std::fs::rename(&new, path))
            .and_then(|()| std::fs::File::open(directory)?.sync_all());
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))
    }
}

/// A token that nobody can guess.
fn random() -> Result<String, String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn parse(text: &str) -> Option<(Vec<u8>, HashMap<String, User>)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let key = STANDARD.decode(value["key"].as_str()?).ok()?;
    let mut users = HashMap::new();
    for (token, user) in value["users"].as_object()? {
        let user = User {
            name: user["name"].as_str()?.to_owned(),
            uid: user["uid"].as_str()?.to_owned(),
            groups: serde_json::from_value(user["groups"].clone()).ok()?,
            extra: serde_json::from_value(user["extra"].clone()).ok()?,
        };
        users.insert(token.clone(), user);
    }
    Some((key, users))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_and_tokens_outlive_the_process_in_a_file_that_others_cannot_read() {
        let scratch = tempfile::tempdir().unwrap();
        let ann = User::new("ann", &["crew"]);
        let (token, signed) = {
            let secrets = Secrets::open(Some(scratch.path())).unwrap();
            secrets.save_new().unwrap();
            (
                secrets.token_of(&ann).unwrap(),
                secrets.key.sign(&json!({"a": 1})).unwrap(),
            )
        };
        let again = Secrets::open(Some(scratch.path())).unwrap();
        assert_eq!(again.user_of(&token), Some(ann.clone()));
        assert_eq!(again.token_of(&ann).unwrap(), token);
        assert!(again.key.verify(&signed).is_ok());
        assert_eq!(again.user_of("nonsense"), None);
        let mode = std::fs::metadata(scratch.path().join(FILE))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(scratch.path().join(FILE), "{").unwrap();
        assert!(Secrets::open(Some(scratch.path())).is_err_and(|error| error.contains("damaged")));
    }

    #[test]
    fn two_servers_have_different_secrets() {
        let (one, two) = (Secrets::open(None).unwrap(), Secrets::open(None).unwrap());
        let token = one.token_of(&User::admin()).unwrap();
        assert_eq!(
            (one.user_of(&token), two.user_of(&token)),
            (Some(User::admin()), None)
        );
    }
}
