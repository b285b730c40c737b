//! The server: what it is started with, what it consists of, and how it ends.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{sync::watch, task::AbortHandle};

use crate::authn::Auth;
use crate::authn::user::User;
use crate::handlers::aggregated::Extension;
use crate::metrics::Metrics;
use crate::registry::Registry;
use crate::storage::{FileJournal, Store, Window};
use crate::testing::fault_injection::FaultPlan;
use crate::testing::request_log::{Records, RequestRecord};
use crate::transport::listener::{Authority, Listener};
use crate::transport::request_body::{Bodies, Limits};
use crate::transport::service::InProcessService;
use crate::{controllers, registry};

/// What a server is started with. The default keeps everything in memory.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A directory to keep everything in; none for memory alone.
    pub data: Option<PathBuf>,
    /// How much of the past is remembered for watches and lists.
    pub history: Window,
    /// Faults for tests.
    pub faults: FaultPlan,
    /// How much clients may ask of it at once.
    pub limits: Limits,
    /// How many of the latest requests [`Server::requests`] keeps.
    pub records: usize,
    /// Groups that somebody else in the process answers for.
    pub extensions: Vec<Extension>,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory could not be used.
    #[error("cannot use the directory {0}: {1}")]
    Directory(PathBuf, std::io::Error),
    /// What was kept could not be read.
    #[error(transparent)]
    Journal(#[from] crate::storage::JournalError),
    /// Keys or certificates could not be made or read.
    #[error("cannot set up keys and certificates: {0}")]
    Keys(String),
    /// No port could be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// Something that has to be there from the start could not be written.
    #[error("cannot write the first objects: {0}")]
    Bootstrap(String),
}

/// A running server; clones are the same one. It ends with [`Self::shutdown`], or with the last
/// clone.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
    _end: Arc<End>,
}

/// Everything the server consists of.
pub(crate) struct Inner {
    pub(crate) store: Arc<Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) auth: Auth,
    pub(crate) faults: FaultPlan,
    pub(crate) extensions: Vec<Extension>,
    pub(crate) records: Arc<Records>,
    pub(crate) metrics: Metrics,
    pub(crate) authority: Authority,
    pub(crate) bodies: Bodies,
    /// True once the server is ending: watches end, and nothing new is accepted.
    pub(crate) ending: watch::Sender<bool>,
    tasks: Mutex<Vec<AbortHandle>>,
    /// Where the last listener listens.
    address: Mutex<Option<SocketAddr>>,
}

/// Ends the server when the last clone goes.
struct End(Arc<Inner>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Server {
    /// Starts a server; it is ready when this returns.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let store = match &options.data {
            None => Store::in_memory(options.history),
            Some(directory) => {
                std::fs::create_dir_all(directory)
                    .map_err(|error| StartError::Directory(directory.clone(), error))?;
                let journal = FileJournal::open(directory)?;
                Store::with_journal(Box::new(journal), options.history)?
            }
        };
        let registry = Arc::new(Registry::with(&options.extensions));
        let authority = Authority::open(options.data.as_deref())?;
        let auth = Auth::open(&store, options.data.as_deref())?;
        let inner = Arc::new(Inner {
            store,
            registry,
            auth,
            faults: options.faults,
            extensions: options.extensions,
            records: Records::new(options.records),
            metrics: Metrics::default(),
            authority,
            bodies: Bodies::new(options.limits),
            ending: watch::Sender::new(false),
            tasks: Mutex::default(),
            address: Mutex::default(),
        });
        let definitions = registry::follow(&inner.store, &inner.registry);
        inner.spawn(definitions);
        // New keys and the first objects wait for the disk at the same time.
        let saving = options.data.map(|data| {
            let inner = inner.clone();
            tokio::task::spawn_blocking(move || inner.save_keys(&data))
        });
        controllers::start(&inner).await?;
        if let Some(saving) = saving {
            saving
                .await
                .map_err(|error| StartError::Keys(error.to_string()))??;
        }
        Ok(Self {
            _end: Arc::new(End(inner.clone())),
            inner,
        })
    }

    /// A door into the server in this process, without a socket. `who` is whoever comes through it;
    /// with none, the headers of each request have to say.
    pub fn in_process_service(&self, who: Option<User>) -> InProcessService {
        InProcessService::new(self.inner.clone(), who)
    }

    /// Serves HTTPS on an address until the listener is dropped.
    ///
    /// # Errors
    ///
    /// If the address cannot be listened on.
    pub async fn listen(&self, address: SocketAddr) -> Result<Listener, StartError> {
        let listener = Listener::bind(&self.inner, address).await?;
        *self
            .inner
            .address
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(listener.address());
        controllers::settle_own_service(&self.inner).await;
        Ok(listener)
    }

    /// A kubeconfig with which a program reaches the listener as `who`.
    pub fn kubeconfig(&self, listener: &Listener, who: &User) -> String {
        let token = self.inner.auth.token_for(who);
        listener.kubeconfig(&who.name, &token)
    }

    /// A bearer token of a user; it is good as long as the server, or as its directory.
    pub fn token(&self, who: &User) -> String {
        self.inner.auth.token_for(who)
    }

    /// All requests so far but the first `from`, as far as they are kept.
    pub fn requests(&self, from: usize) -> Vec<RequestRecord> {
        self.inner.records.from(from)
    }

    /// The faults, to add to them.
    pub fn faults(&self) -> &FaultPlan {
        &self.inner.faults
    }

    /// The newest revision.
    pub fn revision(&self) -> u64 {
        self.inner.store.revision()
    }

    /// Why nothing can be trusted any more, if so.
    pub fn trouble(&self) -> Option<String> {
        self.inner
            .store
            .trouble()
            .map(|trouble| trouble.to_string())
    }

    /// Waits until nothing can be kept any more, and answers why; that may never be. What was
    /// acknowledged is kept.
    pub async fn failed(&self) -> Arc<crate::storage::JournalError> {
        self.inner.store.failed().await
    }

    /// Ends watches, listeners and everything inside. What was acknowledged is kept.
    pub async fn shutdown(self) {
        self.inner.end();
        // Whatever is on its way to the journal arrives before this returns, and its file is free
        // again.
        self.inner.store.close().await;
    }
}

impl Inner {
    /// Whoever answers for a group and version in place of this server.
    pub(crate) fn extension(&self, group: &str, version: &str) -> Option<&Extension> {
        self.extensions
            .iter()
            .find(|extension| extension.group == group && extension.version == version)
    }

    /// Where the server is reached; none if it is not but inside the process.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes keys that are new into the server's directory.
    fn save_keys(&self, data: &Path) -> Result<(), StartError> {
        self.authority
            .save(data)
            .map_err(|error| StartError::Keys(error.to_string()))?;
        self.auth.save_new()
    }

    /// Runs a task for as long as the server.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let handle = tokio::spawn(task).abort_handle();
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(handle);
    }

    fn end(&self) {
        self.ending.send_replace(true);
        for task in self
            .tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain(..)
        {
            task.abort();
        }
    }
}
