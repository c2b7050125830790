//! PMIx as a key-value space: `srun --mpi=pmix`, PRRTE's `prterun`, Open MPI's `mpirun`.

use super::pmix_library::{Library, Process, WHOLE_JOB};
use super::{Identity, KeyValueSpace, Result};

struct Pmix {
    library: Library,
    own: Process,
    identity: Identity,
}

/// Whether a launcher offers PMIx.
pub(super) fn is_there(variable: &impl Fn(&str) -> Option<String>) -> bool {
    let has = |name: &str| variable(name).is_some();
    let servers = ["PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3", "PMIX_SERVER_URI4"];
    has("PMIX_NAMESPACE")
        && has("PMIX_RANK")
        && (servers.into_iter().any(has) || has("PMIX_SERVER_URI41"))
}

/// Connects; `None`: this process was started alone.
pub(super) fn connect() -> Result<Option<Box<dyn KeyValueSpace>>> {
    let library = Library::load()?;
    let own = library.init()?;
    let job = Process { rank: WHOLE_JOB, ..own };
    let size = library.number(&job, "pmix.job.size")?;
    // Not every launcher tells it.
    let app_number = library.number(&own, "pmix.appnum").unwrap_or(0);
    let identity = Identity { rank: own.rank, size, app_number };
    if size <= 1 {
        library.finalize()?;
        return Ok(None);
    }
    Ok(Some(Box::new(Pmix { library, own, identity })))
}

impl KeyValueSpace for Pmix {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn put(&mut self, what: &str, text: &str) -> Result<()> {
        self.library.put(&format!("ftmpi-{what}"), text)
    }

    fn fence(&mut self) -> Result<()> {
        self.library.fence()
    }

    fn get(&mut self, what: &str, of: u32) -> Result<String> {
        self.library.text(&Process { rank: of, ..self.own }, &format!("ftmpi-{what}"))
    }

    fn finalize(&mut self) -> Result<()> {
        self.library.finalize()
    }

    fn abort(&mut self, code: i32, text: &str) {
        self.library.abort(code, &format!("MPI_Abort with code {code} {text}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_known_by_its_variables() {
        let with = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            is_there(&move |name: &str| names.iter().any(|known| known == name).then(String::new))
        };
        assert!(with(&["PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI41"]));
        assert!(!with(&["PMIX_RANK"]) && !with(&["PMIX_NAMESPACE", "PMIX_RANK"]));
    }
}
