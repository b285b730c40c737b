//! Which resources are served, in which versions, and what is known of them: the built-in ones as
//! recorded from the real server, and those that definitions add.

pub(crate) mod builtin;
pub(crate) mod convert;
pub(crate) mod custom;
pub(crate) mod strategy;
pub(crate) mod type_schemas;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

use objects::shape::Shapes;
use serde_json::{Value, json};

use crate::handlers::aggregated::Extension;
use crate::handlers::status::ApiError;

pub(crate) use crate::controllers::crds::{CLEANUP, DEFINITIONS, follow, set_condition};
pub(crate) use convert::{convert, to_stored};
pub use custom::Custom;
pub(crate) use custom::Scale;
pub(crate) use type_schemas::builtin as builtin_shapes;
pub use type_schemas::builtin_schema;

/// A resource in one of its versions.
#[derive(Debug)]
pub struct Served {
    /// The API group; empty for the core.
    pub group: String,
    /// The version.
    pub version: String,
    /// The plural, as URLs have it.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Short names for the command line.
    pub short_names: Vec<String>,
    /// Groups of resources it belongs to, such as `all`.
    pub categories: Vec<String>,
    /// What can be done with it.
    pub verbs: Vec<String>,
    /// Its subresources.
    pub subresources: Vec<Subresource>,
    /// Where its objects are in the store.
    pub table: Arc<str>,
    /// The `apiVersion` that its objects have in the store.
    pub stored_as: String,
    /// Whether that is the version served here.
    pub is_stored: bool,
    /// What the real server says of how it is stored.
    pub storage_hash: String,
    /// What a definition says of it; none for what is built in.
    pub custom: Option<Arc<Custom>>,
    /// The types of a built-in kind, once they have been read.
    types: OnceLock<Option<Arc<Shapes>>>,
}

/// A part of objects with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Such as `status`.
    pub name: String,
    /// The kind that it is read and written as.
    pub kind: String,
    /// That kind's group and version, where they differ from the resource's.
    pub group_version: Option<(String, String)>,
    /// What can be done with it.
    pub verbs: Vec<String>,
}

impl Served {
    /// As objects write it: `apps/v1`, `v1`.
    pub fn api_version(&self) -> String {
        api_version(&self.group, &self.version)
    }

    /// Whether a verb is served, on the resource or on a subresource.
    pub fn allows(&self, subresource: &str, verb: &str) -> bool {
        let verbs = if subresource.is_empty() {
            Some(&self.verbs)
        } else {
            self.subresource(subresource).map(|found| &found.verbs)
        };
        verbs.is_some_and(|verbs| verbs.iter().any(|served| served == verb))
    }

    /// A subresource by its name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources
            .iter()
            .find(|subresource| subresource.name == name)
    }

    /// Whether the status is written apart from the rest.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// What to warn of when it is used.
    pub(crate) fn deprecation(&self) -> Option<&str> {
        match (&self.custom, &*self.table) {
            (Some(custom), _) => custom.deprecation.as_deref(),
            (None, "endpoints") => {
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
            }
            (None, "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
            _ => None,
        }
    }

    /// As messages name the resource: `deployments.apps`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// As `APIResourceList` shows it and its subresources.
    fn discovered(&self) -> Vec<Value> {
        let mut own = json!({
            "name": self.plural, "singularName": self.singular, "namespaced": self.namespaced, "kind": self.kind,
            "verbs": self.verbs,
        });
        if !self.short_names.is_empty() {
            own["shortNames"] = json!(self.short_names);
        }
        if !self.categories.is_empty() {
            own["categories"] = json!(self.categories);
        }
        if !self.storage_hash.is_empty() {
            own["storageVersionHash"] = json!(self.storage_hash);
        }
        // A resource without verbs only holds its subresources.
        let mut all = if self.verbs.is_empty() {
            Vec::new()
        } else {
            vec![own]
        };
        for subresource in &self.subresources {
            let mut value = json!({
                "name": format!("{}/{}", self.plural, subresource.name), "singularName": "",
                "namespaced": self.namespaced, "kind": subresource.kind, "verbs": subresource.verbs,
            });
            if let Some((group, version)) = &subresource.group_version {
                value["group"] = json!(group);
                value["version"] = json!(version);
            }
            all.push(value);
        }
        all
    }
}

/// As objects write it: `apps/v1`, `v1`.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Where the objects of a resource are in the store.
pub fn table_name(group: &str, plural: &str) -> Arc<str> {
    if group.is_empty() {
        Arc::from(plural)
    } else {
        Arc::from(format!("{plural}.{group}"))
    }
}

type Versions = HashMap<String, HashMap<String, Arc<Served>>>;

/// Everything that is served at one moment.
#[derive(Debug, Default)]
pub struct Kinds {
    groups: HashMap<String, Versions>,
    /// The resources that definitions add, by the name of the definition.
    custom: BTreeMap<String, Vec<Arc<Served>>>,
}

impl Kinds {
    /// A resource by its URL.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.groups.get(group)?.get(version)?.get(plural)
    }

    /// What is said of a path in a group that has no such resource.
    pub(crate) fn missing(&self, group: &str) -> ApiError {
        let builtin = |versions: &Versions| {
            versions
                .values()
                .flat_map(HashMap::values)
                .any(|served| served.custom.is_none())
        };
        if self.groups.get(group).is_some_and(builtin) {
            ApiError::no_resource()
        } else {
            ApiError::no_page()
        }
    }

    /// The resource of a kind, as owner references and `apiVersion` with `kind` name it.
    pub fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        self.groups
            .get(group)?
            .get(version)?
            .values()
            .find(|served| served.kind == kind)
    }

    /// Everything in a group and version, sorted by its plural; none if there is no such version.
    pub fn of_version(&self, group: &str, version: &str) -> Option<Vec<&Arc<Served>>> {
        let mut all: Vec<_> = self.groups.get(group)?.get(version)?.values().collect();
        all.sort_by(|a, b| a.plural.cmp(&b.plural));
        Some(all)
    }

    /// Every resource in every version.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.groups
            .values()
            .flat_map(HashMap::values)
            .flat_map(HashMap::values)
    }

    /// Every resource once, in one of its versions: those that can be listed and deleted.
    pub fn tables(&self) -> Vec<Arc<Served>> {
        let mut tables: BTreeMap<&str, &Arc<Served>> = BTreeMap::new();
        for served in self
            .all()
            .filter(|served| served.verbs.iter().any(|verb| verb == "list"))
        {
            if served.is_stored || !tables.contains_key(&*served.table) {
                tables.insert(&served.table, served);
            }
        }
        tables.into_values().cloned().collect()
    }

    /// The resource in the version that its objects are stored in.
    pub fn stored(&self, table: &str) -> Option<&Arc<Served>> {
        self.all()
            .find(|served| &*served.table == table && served.is_stored)
    }

    /// What the definitions add, by their names.
    pub fn custom(&self) -> &BTreeMap<String, Vec<Arc<Served>>> {
        &self.custom
    }

    fn insert(&mut self, served: Arc<Served>) {
        let versions = self.groups.entry(served.group.clone()).or_default();
        versions
            .entry(served.version.clone())
            .or_default()
            .insert(served.plural.clone(), served);
    }

    /// As `APIResourceList` shows a group and version.
    pub fn resource_list(&self, group: &str, version: &str) -> Option<Value> {
        let resources: Vec<Value> = self
            .of_version(group, version)?
            .into_iter()
            .flat_map(|served| served.discovered())
            .collect();
        let mut list = json!({
            "kind": "APIResourceList", "groupVersion": api_version(group, version), "resources": resources,
        });
        if !group.is_empty() {
            list["apiVersion"] = "v1".into();
        }
        Some(list)
    }
}

/// What is served now; it changes with the definitions.
#[derive(Debug)]
pub struct Registry {
    builtin: Vec<Arc<Served>>,
    now: RwLock<Arc<Kinds>>,
}

impl Default for Registry {
    /// What is built in.
    fn default() -> Self {
        let registry = Self {
            builtin: builtin::read(),
            now: RwLock::default(),
        };
        registry.replace(BTreeMap::new());
        registry
    }
}

impl Registry {
    /// What is built in.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is built in, and what others in the process answer for.
    pub(crate) fn with(extensions: &[Extension]) -> Self {
        let mut builtin = builtin::read();
        for Extension {
            group,
            version,
            resources,
            ..
        } in extensions
        {
            builtin.extend(
                builtin::of_version(group, version, resources)
                    .into_iter()
                    .map(Arc::new),
            );
        }
        let registry = Self {
            builtin,
            now: RwLock::default(),
        };
        registry.replace(BTreeMap::new());
        registry
    }

    /// What is served now.
    pub fn now(&self) -> Arc<Kinds> {
        self.now
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Serves what is built in, and these.
    fn replace(&self, custom: BTreeMap<String, Vec<Arc<Served>>>) {
        let mut kinds = Kinds::default();
        for served in &self.builtin {
            kinds.insert(served.clone());
        }
        for served in custom.values().flatten() {
            kinds.insert(served.clone());
        }
        kinds.custom = custom;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(kinds);
    }

    /// Adds, changes or takes away what a definition serves.
    pub(crate) fn set(&self, definition: &str, versions: Vec<Arc<Served>>) {
        let mut custom = self.now().custom.clone();
        if versions.is_empty() {
            custom.remove(definition);
        } else {
            custom.insert(definition.to_owned(), versions);
        }
        self.replace(custom);
    }
}
