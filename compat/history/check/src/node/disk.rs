//! A file system for the data directory alone, so that it can be filled: ext4 in a file, or else tmpfs. Only root may
//! mount; for others there is none, and the reason why.

use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

/// Ten minutes of load fit several times.
const BYTES: u64 = 3 << 29;

pub struct Disk {
    mounted: PathBuf,
    image: Option<PathBuf>,
}

impl Disk {
    /// Mounts one on `dir/disk`.
    pub fn mount(dir: &Path) -> Result<Disk> {
        if !rustix::process::geteuid().is_root() {
            bail!("only root can mount a file system");
        }
        let mounted = dir.join("disk");
        fs::create_dir_all(&mounted)?;
        let image = dir.join("disk.img");
        match ext4(&image, &mounted) {
            Ok(()) => Ok(Disk { mounted, image: Some(image) }),
            Err(no_ext4) => {
                let _ = fs::remove_file(&image);
                let size = format!("size={BYTES}");
                let mut tmpfs = Command::new("mount");
                tmpfs.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&mounted);
                run(&mut tmpfs).with_context(|| format!("no ext4 ({no_ext4:#}), no tmpfs"))?;
                Ok(Disk { mounted, image: None })
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.mounted
    }

    pub fn kind(&self) -> &'static str {
        if self.image.is_some() { "ext4 in a file" } else { "tmpfs" }
    }

    /// Takes the free space, but for `leave` bytes.
    pub fn fill(&self, leave: u64) -> Result<()> {
        let stat = rustix::fs::statvfs(&self.mounted)?;
        let free = stat.f_bavail * stat.f_frsize;
        let ballast = File::create(self.ballast())?;
        let size = free.saturating_sub(leave);
        if size > 0 {
            rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), 0, size)?;
        }
        Ok(())
    }

    pub fn free(&self) -> Result<()> {
        match fs::remove_file(self.ballast()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn ballast(&self) -> PathBuf {
        self.mounted.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mut unmount = Command::new("umount");
        if run(unmount.arg(&self.mounted)).is_err() {
            // Something still has a file open; it goes when that does.
            let _ = run(Command::new("umount").arg("-l").arg(&self.mounted));
        }
        let _ = fs::remove_dir(&self.mounted);
        if let Some(image) = &self.image {
            let _ = fs::remove_file(image);
        }
    }
}

fn ext4(image: &Path, on: &Path) -> Result<()> {
    File::create(image)?.set_len(BYTES)?;
    run(Command::new("mkfs.ext4").args(["-q", "-F", "-m", "0"]).arg(image))?;
    run(Command::new("mount").args(["-o", "loop"]).arg(image).arg(on))
}

fn run(command: &mut Command) -> Result<()> {
    let out = command.output().with_context(|| format!("{command:?}"))?;
    if !out.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&out.stderr).trim());
    }
    Ok(())
}
