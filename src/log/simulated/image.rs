//! A file system in memory: files, directories, and which of their changes a loss of power may undo.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path};

use super::dice::Dice;
use super::node::{Node, Temper};

/// What a file system promises about changes that were not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As ext4 does by default: directories change in order, the sync of a file takes earlier changes along, and a
    /// grown file has its data before its length, but for the page in which it ended.
    Ordered,
    /// No more than POSIX: each sector, length and name has its own fate.
    Worst,
}

type Id = usize;

/// A change of a directory.
#[derive(Debug, Clone)]
struct Change {
    dir: Id,
    /// The name that disappears.
    from: Option<String>,
    /// The name that appears, and what it names.
    to: Option<(String, Id)>,
}

#[derive(Debug, Clone)]
enum Entry {
    File(Node),
    Dir { cached: BTreeMap<String, Id>, disk: BTreeMap<String, Id> },
}

/// A file system.
#[derive(Debug, Clone)]
pub(super) struct Image {
    pub mode: Mode,
    entries: Vec<Entry>,
    /// Changes of directories that are not durable, oldest first.
    pending: Vec<Change>,
}

fn empty_dir() -> Entry {
    Entry::Dir { cached: BTreeMap::new(), disk: BTreeMap::new() }
}

fn apply(names: &mut BTreeMap<String, Id>, change: &Change) {
    if let Some(from) = &change.from {
        names.remove(from);
    }
    if let Some((to, id)) = &change.to {
        names.insert(to.clone(), *id);
    }
}

impl Image {
    /// An empty one.
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, entries: vec![empty_dir()], pending: Vec::new() }
    }

    fn names(&self, id: Id) -> Option<&BTreeMap<String, Id>> {
        match self.entries.get(id)? {
            Entry::Dir { cached, .. } => Some(cached),
            Entry::File(_) => None,
        }
    }

    /// What is at `path`.
    pub(super) fn find(&self, path: &Path) -> Option<Id> {
        path.components().try_fold(0, |id, part| match part {
            Component::Normal(name) => self.names(id)?.get(name.to_str()?).copied(),
            _ => Some(id),
        })
    }

    pub(super) fn is_file(&self, id: Id) -> bool {
        matches!(self.entries[id], Entry::File(_))
    }

    /// The file at `path`.
    pub(super) fn file_at(&self, path: &Path) -> Option<&Node> {
        match &self.entries[self.find(path)?] {
            Entry::File(node) => Some(node),
            Entry::Dir { .. } => None,
        }
    }

    pub(super) fn file(&self, id: Id) -> &Node {
        match &self.entries[id] {
            Entry::File(node) => node,
            Entry::Dir { .. } => panic!("a directory"),
        }
    }

    pub(super) fn file_mut(&mut self, id: Id) -> &mut Node {
        match &mut self.entries[id] {
            Entry::File(node) => node,
            Entry::Dir { .. } => panic!("a directory"),
        }
    }

    /// Every file.
    pub(super) fn files_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.entries.iter_mut().filter_map(|entry| match entry {
            Entry::File(node) => Some(node),
            Entry::Dir { .. } => None,
        })
    }

    /// The names in a directory.
    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let id = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        let names = self.names(id).ok_or(io::ErrorKind::NotADirectory)?;
        Ok(names.keys().cloned().collect())
    }

    fn parent(&self, path: &Path) -> io::Result<(Id, String)> {
        let dir = path.parent().and_then(|dir| self.find(dir)).ok_or(io::ErrorKind::NotFound)?;
        Ok((dir, path.file_name().unwrap().to_str().unwrap().to_owned()))
    }

    fn change(&mut self, change: Change) {
        if let Entry::Dir { cached, .. } = &mut self.entries[change.dir] {
            apply(cached, &change);
        }
        self.pending.push(change);
    }

    fn create(&mut self, path: &Path, entry: Entry) -> io::Result<Id> {
        if self.find(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let (dir, name) = self.parent(path)?;
        let id = self.entries.len();
        self.entries.push(entry);
        self.change(Change { dir, from: None, to: Some((name, id)) });
        Ok(id)
    }

    pub(super) fn create_file(&mut self, path: &Path) -> io::Result<Id> {
        self.create(path, Entry::File(Node::new()))
    }

    pub(super) fn create_dir(&mut self, path: &Path) -> io::Result<()> {
        self.create(path, empty_dir()).map(drop)
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find(path).ok_or(io::ErrorKind::NotFound)?;
        let (dir, name) = self.parent(path)?;
        self.change(Change { dir, from: Some(name), to: None });
        Ok(())
    }

    /// Renames within one directory; a file in its place is replaced.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let id = self.find(from).ok_or(io::ErrorKind::NotFound)?;
        if let Some(there) = self.find(to) {
            if self.names(there).is_some_and(|names| !names.is_empty()) {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
            if self.is_file(there) != self.is_file(id) {
                return Err(io::ErrorKind::NotADirectory.into());
            }
        }
        let ((dir, from), (other, to)) = (self.parent(from)?, self.parent(to)?);
        assert_eq!(dir, other, "renamed within one directory only");
        self.change(Change { dir, from: Some(from), to: Some((to, id)) });
        Ok(())
    }

    /// Makes changes of directories durable: all of them where there is a journal, else those of one directory.
    fn commit(&mut self, only: Option<Id>) {
        for change in std::mem::take(&mut self.pending) {
            if only.is_some_and(|dir| dir != change.dir) {
                self.pending.push(change);
            } else if let Entry::Dir { disk, .. } = &mut self.entries[change.dir] {
                apply(disk, &change);
            }
        }
    }

    pub(super) fn sync_dir(&mut self, path: &Path) -> io::Result<()> {
        let id = self.find(path).ok_or(io::ErrorKind::NotFound)?;
        self.commit((self.mode == Mode::Worst).then_some(id));
        Ok(())
    }

    pub(super) fn sync_file(&mut self, id: Id, data_only: bool) {
        let (mode, resized) = (self.mode, self.file(id).is_resized());
        self.file_mut(id).sync(mode, data_only);
        if mode == Mode::Ordered && (resized || !data_only) {
            self.commit(None);
        }
    }

    /// What is found after a loss of power.
    pub(super) fn crash(&self, dice: &mut Dice) -> Self {
        let mode = self.mode;
        let temper = dice.pick(&[Temper::Old, Temper::New, Temper::Mixed, Temper::Mixed]);
        let mut dirs: BTreeMap<Id, BTreeMap<String, Id>> = BTreeMap::new();
        for (id, entry) in self.entries.iter().enumerate() {
            if let Entry::Dir { disk, .. } = entry {
                dirs.insert(id, disk.clone());
            }
        }
        let kept = match temper {
            Temper::Old => 0,
            Temper::New => self.pending.len(),
            Temper::Mixed => dice.roll(self.pending.len() + 1),
        };
        for (index, change) in self.pending.iter().enumerate() {
            let keeps = if mode == Mode::Ordered { index < kept } else { temper.keeps(dice) };
            if keeps {
                apply(dirs.get_mut(&change.dir).unwrap(), change);
            }
        }
        let entries = self.entries.iter().enumerate().map(|(id, entry)| match entry {
            Entry::File(node) => {
                // Files differ in their fates, even if each has a simple one.
                let temper = if temper == Temper::Mixed {
                    dice.pick(&[Temper::Old, Temper::New, Temper::Mixed, Temper::Mixed])
                } else {
                    temper
                };
                Entry::File(node.crash(mode, temper, dice))
            }
            Entry::Dir { .. } => {
                let names = dirs.remove(&id).unwrap_or_default();
                Entry::Dir { cached: names.clone(), disk: names }
            }
        });
        Self { mode, entries: entries.collect(), pending: Vec::new() }
    }
}
