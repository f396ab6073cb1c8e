//! The only place that reads the process's surroundings: environment, working directory, clock, random source.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;

use loopx::ledger::Uptime;
use loopx::time::Timestamp;

/// What the process was started with.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `LOOPX_DIR`.
    pub dir: Option<PathBuf>,
    /// `LOOPX_GOAL`.
    pub goal: Option<String>,
    /// `LOOPX_AGENT`.
    pub agent: Option<String>,
    /// `LOOPX_SESSION`.
    pub session: Option<String>,
    /// Whether `LOOPX_FORCE_FILESYSTEM` is set.
    pub force_filesystem: bool,
    /// `PATH`, for checks.
    pub path: Option<OsString>,
    /// `HOME`, for checks.
    pub home: Option<OsString>,
    /// Where the list of this user's ledgers is kept, if anywhere: `LOOPX_STATE_HOME`, else `loopx` in
    /// `XDG_STATE_HOME`, else `.local/state/loopx` at home. A value that is no absolute path means nowhere.
    pub state_home: Option<PathBuf>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// The command, for those who wait for the lock.
    pub command: String,
}

impl Environment {
    /// Reads it. An empty variable is an absent one.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
    pub fn read() -> Self {
        let os = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| os(name).map(|value| value.to_string_lossy().into_owned());
        let words: Vec<String> =
            std::env::args_os().skip(1).take(2).map(|word| word.to_string_lossy().into_owned()).collect();
        let under = |name: &str, below: &str| os(name).map(|value| PathBuf::from(value).join(below));
        let state_home = os("LOOPX_STATE_HOME").map(PathBuf::from);
        let state_home = state_home.or_else(|| under("XDG_STATE_HOME", "loopx"));
        let state_home = state_home.or_else(|| under("HOME", ".local/state/loopx"));
        Self {
            dir: os("LOOPX_DIR").map(PathBuf::from),
            goal: text("LOOPX_GOAL"),
            agent: text("LOOPX_AGENT"),
            session: text("LOOPX_SESSION"),
            force_filesystem: os("LOOPX_FORCE_FILESYSTEM").is_some(),
            path: os("PATH"),
            home: os("HOME"),
            state_home: state_home.filter(|home| home.is_absolute()),
            cwd: std::env::current_dir().unwrap_or_default(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            command: words.join(" "),
        }
    }
}

/// The time now. A build with debug assertions takes it from `LOOPX_TEST_NOW` if that is set, so that tests can hold
/// it still; a release never does.
#[expect(clippy::disallowed_methods, reason = "this is the one clock")]
pub fn now() -> Timestamp {
    #[cfg(debug_assertions)]
    if let Some(fixed) = std::env::var("LOOPX_TEST_NOW").ok().and_then(|text| Timestamp::parse_loose(&text)) {
        return fixed;
    }
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_epoch.as_micros()).unwrap_or(i64::MAX))
}

/// How long the machine has been running. Where [`now`] is held still it says what `LOOPX_TEST_UPTIME` says (`90s`, `2h`),
/// or nothing.
pub fn uptime() -> Option<Uptime> {
    #[cfg(debug_assertions)]
    #[expect(clippy::disallowed_methods, reason = "the one clock, held still")]
    if std::env::var_os("LOOPX_TEST_NOW").is_some() {
        let said = std::env::var("LOOPX_TEST_UPTIME").ok()?;
        let ms = said.parse::<loopx::time::DurationMs>().ok()?.0;
        return Some(Uptime { boot: "test".to_owned(), ms });
    }
    since_start()
}

#[cfg(target_os = "linux")]
fn since_start() -> Option<Uptime> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let since = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ms = u64::try_from(since.tv_sec).ok()?.checked_mul(1_000)?;
    Some(Uptime { boot: boot.trim().to_owned(), ms: ms + u64::try_from(since.tv_nsec / 1_000_000).ok()? })
}

#[cfg(not(target_os = "linux"))]
fn since_start() -> Option<Uptime> {
    None
}

/// A fresh ULID.
#[expect(clippy::disallowed_methods, reason = "this is the one source of ids")]
pub fn ulid() -> ulid::Ulid {
    ulid::Ulid::new()
}
