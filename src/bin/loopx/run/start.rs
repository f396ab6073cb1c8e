//! Getting going: init, connect, doctor, prime.

use std::fs;
use std::path::{Path, PathBuf};

use loopx::app::{self, place};
use loopx::id::LedgerId;
use loopx::ledger::Ledger;
use loopx::log::{LogError, VerifyOptions};
use loopx::scratch;
use loopx::time::DurationMs;
use serde_json::{Value, json};

use super::Session;
use super::look::headed;
use crate::cli;
use crate::environment;
use crate::failure::{Failure, exit};
use crate::render::{Output, count, event_word as word, thing};

/// `init`
pub fn init(session: &Session<'_>, args: &cli::Init) -> Result<Output, Failure> {
    let mut directory = session.directory();
    if session.global.dir.is_none() && session.environment.dir.is_none() {
        if let Some(found) = place::find(&directory)? {
            let message = format!("a ledger for this directory exists at {}", found.display());
            return Err(Failure::new("ledger.exists", exit::REFUSED, message).hint("loopx connect"));
        }
        directory = place::home(&directory)?;
    }
    fs::create_dir_all(&directory).map_err(|error| LogError::writing_blob(&directory, error))?;
    let mut ledger = app::init(session.file_systems(), &directory, &session.env(), args.track)?;
    ledger.set_uptime(Box::new(environment::uptime));
    session.note(&ledger);
    ledger.keep_pace(environment::now());
    let id = ledger.state().ledger.map(|id| id.to_string()).unwrap_or_default();
    let path = directory.join(place::DIRECTORY);
    let text = format!(
        "ledger {id} created in {}\n  then  {}\n",
        path.display(),
        session.voice.command("start-goal --goal-text \"...\" --accept \"...\"")
    );
    let output = Output::text(text).with("ledger", id).with("path", path.display().to_string());
    Ok(headed(output, &ledger))
}

/// `connect`
pub fn connect(session: &Session<'_>) -> Result<Output, Failure> {
    let ledger = session.open()?;
    let state = ledger.state();
    let root = session.root()?;
    let id = state.ledger.map(|id| id.to_string()).unwrap_or_default();
    let mut text = format!("ledger {id} in {}, {}\n", root.display(), count(ledger.head().seq.0, "record"));
    for row in thing::goals(state).iter().chain(&thing::agents(state)).chain(&thing::owners(state)) {
        text.push_str(&format!("  {}\n", row.text));
    }
    text.push_str(&format!("  then  {}\n", session.voice.command("next")));
    let objects = |rows: Vec<thing::Row>| Value::Array(rows.into_iter().map(|row| row.json).collect());
    let output = Output::text(text)
        .with("ledger", id)
        .with("path", root.display().to_string())
        .with("goals", objects(thing::goals(state)))
        .with("agents", objects(thing::agents(state)))
        .with("owners", objects(thing::owners(state)));
    Ok(headed(output, &ledger))
}

/// `prime`
pub fn prime() -> Output {
    Output::text(include_str!("prime.txt")).with("prime", include_str!("prime.txt"))
}

/// One thing that `doctor` looked at.
struct Finding {
    name: &'static str,
    sound: bool,
    text: String,
    repair: Option<&'static str>,
}

/// `doctor`: only looks. Exit 6 if something wants attention.
pub fn doctor(session: &Session<'_>) -> Result<Output, Failure> {
    let mut found = vec![finding("program", true, concat!("loopx ", env!("CARGO_PKG_VERSION")), None)];
    match session.root() {
        Err(failure) => found.push(finding("ledger", false, failure.message, Some("loopx init"))),
        Ok(root) => {
            found.push(lock(&root));
            found.push(permission(&root));
            found.push(integrity(&root));
            if let Ok(ledger) = session.open() {
                found.push(clock(session, &ledger));
                found.push(people(&ledger));
                found.push(blobs(&root));
            }
            found.push(quarantine(&root));
            found.push(leftovers(&root));
        }
    }
    let sound = found.iter().all(|finding| finding.sound);
    let mut text = String::new();
    for finding in &found {
        let mark = if finding.sound { "ok  " } else { "look" };
        text.push_str(&format!(
            "{mark}  {:<10} {}\n",
            finding.name,
            loopx::project::escape::terminal(&finding.text)
        ));
        if let Some(repair) =
            finding.repair.filter(|_| !finding.sound).map(|repair| session.voice.complete(repair))
        {
            text.push_str(&format!("      repair     {repair}\n"));
        }
    }
    let findings: Vec<Value> = found
        .iter()
        .map(|f| json!({"name": f.name, "ok": f.sound, "text": f.text, "repair": f.repair}))
        .collect();
    let mut output = Output::text(text).with("findings", findings).with("sound", sound);
    output.exit = if sound { exit::DONE } else { exit::FINDINGS };
    Ok(output)
}

fn finding(
    name: &'static str,
    sound: bool,
    text: impl Into<String>,
    repair: Option<&'static str>,
) -> Finding {
    Finding { name, sound, text: text.into(), repair }
}

fn integrity(root: &Path) -> Finding {
    let report =
        loopx::log::verify(root, &VerifyOptions::default(), &mut |_, _| std::ops::ControlFlow::Continue(()));
    match report {
        Err(error) => finding("ledger", false, error.to_string(), Some("loopx verify")),
        Ok(report) => match report.error() {
            Some(error) => finding("ledger", false, error.to_string(), Some("loopx verify")),
            None => {
                let text = format!(
                    "{} in {}, durable to #{}",
                    count(report.head.seq.0, "record"),
                    count(report.segments.len(), "segment"),
                    report.durable
                );
                finding("ledger", true, text, None)
            }
        },
    }
}

/// Whether someone holds the lock now. A lock file that nobody holds is no finding.
fn lock(root: &Path) -> Finding {
    let path = root.join("log").join("lock");
    let held = fs::File::open(&path).map(|file| match file.try_lock_shared() {
        Ok(()) => None,
        Err(_) => Some(fs::read_to_string(&path).unwrap_or_default()),
    });
    match held {
        Err(error) => finding("lock", false, format!("{}: {error}", path.display()), Some("loopx verify")),
        Ok(None) => finding("lock", true, "free", None),
        Ok(Some(holder)) if holder.trim().is_empty() => {
            finding("lock", true, "held now by another process", None)
        }
        Ok(Some(holder)) => finding("lock", true, format!("held now by {}", holder.trim()), None),
    }
}

/// Whether a writer would get through: every file that one opens is opened for writing, and nothing is written.
fn permission(root: &Path) -> Finding {
    let log = root.join("log");
    let last = fs::read_dir(&log).ok().and_then(|files| {
        let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".jsonl")).max()
    });
    let names = ["lock", "sync.lock", "HEAD"].into_iter().map(str::to_owned).chain(last);
    for name in names {
        let path = log.join(name);
        match fs::OpenOptions::new().append(true).open(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let text =
                    format!("{} cannot be written: {error}; reading works, writing does not", path.display());
                return finding("directory", false, text, Some("ls -la .loopx .loopx/log"));
            }
            _ => {}
        }
    }
    match foreign_owner(root) {
        Some(uid) => {
            let text = format!("{} belongs to user {uid}; reading works, writing does not", root.display());
            finding("directory", false, text, Some("ls -la .loopx .loopx/log"))
        }
        None => finding("directory", true, root.display().to_string(), None),
    }
}

/// The user that the ledger belongs to, if that is not the one who runs this.
#[cfg(unix)]
fn foreign_owner(root: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let (owner, me) = (fs::metadata(root).ok()?.uid(), fs::metadata("/proc/self").ok()?.uid());
    (owner != me).then_some(owner)
}

#[cfg(not(unix))]
fn foreign_owner(_root: &Path) -> Option<u32> {
    None
}

/// Whether everything that records say is kept is kept.
fn blobs(root: &Path) -> Finding {
    match super::audit::blobs(root) {
        Err(failure) => finding("blobs", false, failure.message, Some("loopx verify")),
        Ok(found) if found.missing.is_empty() && found.altered.is_empty() => {
            finding("blobs", true, format!("{} kept", count(found.sound, "file")), None)
        }
        Ok(found) => {
            let text = format!("{} missing, {} altered", found.missing.len(), found.altered.len());
            finding("blobs", false, text, Some("loopx verify"))
        }
    }
}

fn clock(session: &Session<'_>, ledger: &Ledger) -> Finding {
    if let Some(warning) = session.clock_warning(ledger) {
        return finding("clock", false, warning, Some("date -u"));
    }
    let now = (session.env().now)();
    let since = DurationMs(now.ms_since(ledger.state().now));
    let jump = ledger.state().jump.as_ref();
    let jump = jump.map(|jump| format!("; last jumped {} at #{}", word(&jump.direction), jump.seq));
    finding("clock", true, format!("last record {since} ago{}", jump.unwrap_or_default()), None)
}

fn people(ledger: &Ledger) -> Finding {
    let state = ledger.state();
    let agents = state.agents.values().filter(|agent| !agent.retired).count();
    let owners = state.owners.values().filter(|owner| !owner.revoked).count();
    finding(
        "people",
        true,
        format!("{}, {} (unsigned)", count(agents, "agent"), count(owners, "owner")),
        None,
    )
}

fn quarantine(root: &Path) -> Finding {
    let kept = match fs::read_dir(root.join("quarantine")) {
        Ok(files) => files.map(|_| 1).sum(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
        Err(error) => return finding("quarantine", false, error.to_string(), None),
    };
    finding("quarantine", true, format!("{} of torn bytes kept", count(kept, "file")), None)
}

/// What processes that were killed left behind: harmless, and only in the way of a tidy disk.
fn leftovers(root: &Path) -> Finding {
    let shelves =
        fs::read_dir(root.join("blobs")).into_iter().flatten().filter_map(|shelf| Some(shelf.ok()?.path()));
    let places = ["snap", "idx"].map(|name| root.join(name)).into_iter().chain(shelves);
    let mut found: Vec<PathBuf> = places.flat_map(|place| scratch::abandoned(&place)).collect();
    found.extend(unfinished(root));
    let Some(first) = found.first() else { return finding("leftovers", true, "none", None) };
    let text = format!(
        "{} of processes that are gone may be deleted: {}",
        count(found.len(), "file"),
        first.display()
    );
    let more = if found.len() > 1 { " …" } else { "" };
    finding("leftovers", true, text + more, None)
}

/// Ledgers beside this one that were never finished: begun before this one, so nobody is at work on them.
fn unfinished(root: &Path) -> Vec<PathBuf> {
    let Some((parent, name)) = root.parent().zip(root.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    let begun = |path: &PathBuf| {
        let id = path
            .file_name()?
            .to_str()?
            .strip_prefix(name)?
            .strip_prefix(".new-")?
            .parse::<LedgerId>()
            .ok()?;
        let this =
            fs::read_to_string(root.join("log/FORMAT")).ok()?.lines().nth(1)?.parse::<LedgerId>().ok()?;
        Some(id < this)
    };
    let entries = fs::read_dir(parent).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    entries.filter(|path| begun(path) == Some(true)).collect()
}
