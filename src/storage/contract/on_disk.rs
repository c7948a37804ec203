//! The store on disk, in a temporary directory that can be copied as a power cut would leave it.

use super::Bench;
use crate::ids::NodeId;
use crate::storage::LogStore;
use crate::storage::rocks::{Rocks, RocksOptions};
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct OnDisk {
    dir: TempDir,
    rocks: Option<Rocks>,
}

pub fn options(dir: &Path) -> RocksOptions {
    RocksOptions {
        dir: dir.to_owned(),
        node_id: NodeId(1),
        reserve_bytes: 0,
        accept_data_loss: false,
    }
}

impl OnDisk {
    pub fn new() -> OnDisk {
        let dir = tempfile::tempdir().unwrap();
        let rocks = Rocks::open(options(dir.path())).unwrap();
        rocks.recovered().unwrap();
        OnDisk { dir, rocks: Some(rocks) }
    }

    pub fn rocks(&self) -> &Rocks {
        self.rocks.as_ref().unwrap()
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Opens the directory. What is in its files now is on the disk.
    fn start(&mut self) {
        self.rocks = None;
        let mut synced = HashMap::new();
        walk(self.path(), self.path(), &mut |path, _| {
            let file = fs::metadata(self.path().join(path)).unwrap();
            synced.insert(file.ino(), file.len());
        });
        let rocks = Rocks::open(options(self.path())).unwrap();
        rocks.faults().synced.extend(synced);
        self.rocks = Some(rocks);
    }

    /// Files whose contents a power cut can take: path, inode, bytes.
    fn losable(&self) -> Vec<(PathBuf, u64, u64)> {
        let mut files = Vec::new();
        walk(self.path(), self.path(), &mut |path, is_dir| {
            if !is_dir && path.extension().is_some_and(|extension| extension == "log") {
                let path = self.path().join(path);
                let file = fs::metadata(&path).unwrap();
                files.push((path, file.ino(), file.len()));
            }
        });
        files.sort();
        files
    }
}

impl Bench for OnDisk {
    fn store(&self) -> &dyn LogStore {
        self.rocks()
    }

    fn restart(&mut self) {
        self.rocks().close().unwrap();
        self.start();
    }

    fn crash(&mut self, choose: &mut dyn FnMut(usize) -> usize) {
        let io = self.rocks().io();
        // What its threads have begun they end.
        self.rocks = None;
        let synced = std::mem::take(&mut io.faults.lock().synced);
        for (path, inode, len) in self.losable() {
            damage(&path, synced.get(&inode).copied().unwrap_or(0), len, choose);
        }
        // Another start of the machine.
        fs::write(self.path().join("boot"), "before").unwrap();
        self.start();
    }
}

/// Loses some of what a file has beyond `from`: its end, or a hole of zeros.
fn damage(file: &Path, from: u64, len: u64, choose: &mut dyn FnMut(usize) -> usize) {
    if from >= len {
        return;
    }
    let at = from + choose((len - from) as usize) as u64;
    let open = OpenOptions::new().write(true).open(file).unwrap();
    match choose(2) {
        0 => open.set_len(at).unwrap(),
        1 => open.write_all_at(&vec![0; (len - at).min(4096) as usize], at).unwrap(),
        _ => {}
    }
}

/// Copies a directory in use; what RocksDB removes meanwhile it does not need.
pub fn copy_all(from: &Path, to: &Path) {
    walk(from, from, &mut |path, is_dir| {
        let target = to.join(path);
        if is_dir {
            fs::create_dir_all(&target).unwrap();
        } else {
            match fs::copy(from.join(path), &target) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => assert!(result.is_ok(), "{result:?}"),
            }
        }
    });
}

fn walk(root: &Path, directory: &Path, each: &mut dyn FnMut(&Path, bool)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_dir = path.is_dir();
        each(path.strip_prefix(root).unwrap(), is_dir);
        if is_dir {
            walk(root, &path, each);
        }
    }
}
