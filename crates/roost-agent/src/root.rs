//! The tree of files that is worked on: `/` on a host, any directory in tests. Every change goes through here, in
//! steps after each of which the power may fail.

use std::cell::Cell;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The largest file that is read as text.
const LARGEST_TEXT: u64 = 16 << 20;

/// Who owns a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// The user.
    pub user: u32,
    /// The group.
    pub group: u32,
}

impl Owner {
    /// Whoever runs this program; on a host, that is root.
    pub fn own() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }
}

/// A tree of files.
#[derive(Clone, Debug)]
pub struct Root {
    prefix: PathBuf,
    /// How many more changes happen before the power fails; only tests set it.
    fuse: Option<Rc<Cell<u64>>>,
}

impl Root {
    /// The tree under a directory.
    pub fn new(prefix: &Path) -> Self {
        Self { prefix: prefix.to_owned(), fuse: None }
    }

    /// The same tree, on which the power fails when the fuse is at zero.
    #[cfg(test)]
    pub(crate) fn with_fuse(prefix: &Path, fuse: Rc<Cell<u64>>) -> Self {
        Self { prefix: prefix.to_owned(), fuse: Some(fuse) }
    }

    /// Where an absolute path of the tree really is.
    pub fn at(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }

    /// The same path without links in it. Only a link at its very end stays, unless that is to be followed, too.
    ///
    /// What is written down under its real path can be put back even when a link on the way leads elsewhere by then.
    pub(crate) fn real(&self, path: &str, follow_last: bool) -> String {
        let mut beyond: Vec<&str> = Vec::new();
        let mut above = path.trim_end_matches('/');
        let mut may_resolve = follow_last;
        loop {
            let found = if may_resolve { fs::canonicalize(self.at(above)).ok() } else { None };
            let inside = found.as_ref().and_then(|found| found.strip_prefix(fs::canonicalize(&self.prefix).ok()?).ok());
            if let Some(inside) = inside {
                let mut real = format!("/{}", inside.to_string_lossy());
                for part in beyond.iter().rev() {
                    real = format!("{}/{part}", real.trim_end_matches('/'));
                }
                return real;
            }
            let Some((directory, name)) = above.rsplit_once('/') else { return path.to_owned() };
            beyond.push(name);
            above = directory;
            may_resolve = true;
        }
    }

    /// The text of a file that is there and is text.
    pub fn text(&self, path: &str) -> Option<String> {
        let mut text = String::new();
        File::open(self.at(path)).ok()?.take(LARGEST_TEXT).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Whether something is there, a link without an end included.
    pub fn exists(&self, path: &str) -> bool {
        self.look(path).is_some()
    }

    /// What is there; links are not followed.
    pub fn look(&self, path: &str) -> Option<Metadata> {
        fs::symlink_metadata(self.at(path)).ok()
    }

    /// Says that a change comes now; fails when the power does.
    pub(crate) fn change(&self) -> io::Result<()> {
        let Some(fuse) = &self.fuse else { return Ok(()) };
        match fuse.get().checked_sub(1) {
            Some(left) => fuse.set(left),
            None => return Err(io::Error::other("the power failed")),
        }
        Ok(())
    }

    /// Makes one directory whose parent is there, or takes the one that is.
    pub(crate) fn make_directory(&self, path: &str) -> io::Result<()> {
        self.change()?;
        match fs::create_dir(self.at(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }?;
        self.sync_parent(path)
    }

    /// Sets mode and owner; nothing happens where they are as wanted.
    pub(crate) fn set_mode_and_owner(&self, path: &str, mode: u32, owner: Owner) -> io::Result<()> {
        let target = self.at(path);
        let now = fs::symlink_metadata(&target)?;
        if (now.uid(), now.gid()) != (owner.user, owner.group) {
            self.change()?;
            std::os::unix::fs::lchown(&target, Some(owner.user), Some(owner.group))?;
        }
        // Changing the owner takes set-user-ID bits away, so the mode is looked at again.
        if !now.is_symlink() && fs::symlink_metadata(&target)?.mode() & 0o7777 != mode {
            self.change()?;
            fs::set_permissions(&target, Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Puts a file in place at once: whoever looks sees the old one or the new one, whole.
    pub(crate) fn write(&self, path: &str, contents: &mut dyn Read, mode: u32, owner: Owner) -> io::Result<()> {
        let target = self.at(path);
        let temporary = self.at(&temporary(path));
        self.remove_if_there(&temporary)?;
        self.change()?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        if let Err(error) = self.change() {
            // A cut in the middle of writing leaves a part.
            let mut part = [0; 7];
            let length = contents.read(&mut part)?;
            file.write_all(&part[..length])?;
            return Err(error);
        }
        io::copy(contents, &mut file)?;
        give(&file, owner)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        self.sync(&file)?;
        self.change()?;
        fs::rename(&temporary, &target)?;
        self.sync_parent(path)
    }

    /// Removes what a cut may have left of [`Root::write`].
    pub(crate) fn remove_temporary(&self, path: &str) -> io::Result<()> {
        self.remove_if_there(&self.at(&temporary(path)))
    }

    /// Makes a link with a target as it is written.
    pub(crate) fn link(&self, path: &str, target: &str, owner: Owner) -> io::Result<()> {
        let new = self.at(&temporary(path));
        self.remove_if_there(&new)?;
        self.change()?;
        std::os::unix::fs::symlink(target, &new)?;
        if owner != Owner::own() {
            std::os::unix::fs::lchown(&new, Some(owner.user), Some(owner.group))?;
        }
        self.change()?;
        fs::rename(&new, self.at(path))?;
        self.sync_parent(path)
    }

    /// Gives a file another name; the first one stays.
    pub(crate) fn hard_link(&self, path: &str, target: &str) -> io::Result<()> {
        let new = self.at(&temporary(path));
        self.remove_if_there(&new)?;
        self.change()?;
        fs::hard_link(self.at(target), &new)?;
        self.change()?;
        fs::rename(&new, self.at(path))?;
        // Renaming one name of a file over another does nothing, and leaves both.
        self.remove_if_there(&new)?;
        self.sync_parent(path)
    }

    /// Remembers a file or link under another name, with everything that belongs to it.
    pub(crate) fn keep(&self, path: &str, kept: &str) -> io::Result<()> {
        let (source, copy) = (self.at(path), self.at(kept));
        self.remove_if_there(&copy)?;
        self.change()?;
        match fs::hard_link(&source, &copy) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) => {
                copy_whole(&source, &copy)?;
            }
            other => other?,
        }
        self.sync_parent(kept)
    }

    /// A copy instead of a second name, for files that others change in place.
    pub(crate) fn keep_copy(&self, path: &str, kept: &str) -> io::Result<()> {
        let copy = self.at(kept);
        self.remove_if_there(&copy)?;
        self.change()?;
        copy_whole(&self.at(path), &copy)?;
        self.sync_parent(kept)
    }

    /// Puts back what was kept. Can be repeated as long as the kept name is there.
    pub(crate) fn restore(&self, kept: &str, path: &str) -> io::Result<()> {
        let (copy, target, new) = (self.at(kept), self.at(path), self.at(&temporary(path)));
        self.remove_if_there(&new)?;
        self.change()?;
        match fs::hard_link(&copy, &new) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::XDEV.raw_os_error()) => {
                copy_whole(&copy, &new)?;
            }
            other => other?,
        }
        self.change()?;
        fs::rename(&new, &target)?;
        self.remove_if_there(&new)?;
        self.sync_parent(path)
    }

    /// Removes a file or link, if it is there.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        self.remove_if_there(&self.at(path))?;
        self.sync_parent(path)
    }

    /// Removes a directory if it is there and empty, and says whether it is gone.
    pub(crate) fn remove_empty(&self, path: &str) -> io::Result<bool> {
        self.change()?;
        match fs::remove_dir(self.at(path)) {
            Ok(()) => self.sync_parent(path).map(|()| true),
            Err(error) if is_absent(&error) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes whatever is there, with everything under it.
    pub(crate) fn remove_whole(&self, path: &str) -> io::Result<()> {
        self.change()?;
        let target = self.at(path);
        let removed = match fs::symlink_metadata(&target) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&target),
            Ok(_) => fs::remove_file(&target),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if is_absent(&error) => Ok(()),
            other => other,
        }
    }

    /// Gives a directory another name.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.change()?;
        fs::rename(self.at(from), self.at(to))?;
        self.sync_parent(to)
    }

    fn remove_if_there(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_err() {
            return Ok(());
        }
        self.change()?;
        fs::remove_file(path)
    }

    /// A name is on the disk when its directory is.
    pub(crate) fn sync_parent(&self, path: &str) -> io::Result<()> {
        match self.at(path).parent().map(File::open) {
            Some(Ok(directory)) => self.sync(&directory),
            _ => Ok(()),
        }
    }

    /// Waits until a file is on the disk. Where the power only pretends to fail, the disk need not be waited for.
    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        if self.fuse.is_some() { Ok(()) } else { file.sync_all() }
    }
}

/// Whether nothing is there, be it for want of the directory that it would lie in.
fn is_absent(error: &io::Error) -> bool {
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_loop || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Only root can give files away; others need not, since all is theirs.
fn give(file: &File, owner: Owner) -> io::Result<()> {
    let found = file.metadata()?;
    if (found.uid(), found.gid()) == (owner.user, owner.group) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(owner.user), Some(owner.group))
}

/// The name beside a path under which something new is made ready.
fn temporary(path: &str) -> String {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    format!("{directory}/.{name}.roost-new")
}

/// Copies a file or link with owner, mode, times and extended attributes as far as the standard tools of every host do.
fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if found.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        return match (Owner { user: found.uid(), group: found.gid() }) {
            owner if owner == Owner::own() => Ok(()),
            owner => std::os::unix::fs::lchown(to, Some(owner.user), Some(owner.group)),
        };
    }
    fs::copy(from, to)?;
    let file = OpenOptions::new().append(true).open(to)?;
    give(&file, Owner { user: found.uid(), group: found.gid() })?;
    file.set_permissions(found.permissions())?;
    file.set_times(fs::FileTimes::new().set_accessed(found.accessed()?).set_modified(found.modified()?))?;
    copy_attributes(from, to)?;
    file.sync_all()
}

/// Labels of security modules and capabilities live in extended attributes.
fn copy_attributes(from: &Path, to: &Path) -> io::Result<()> {
    let mut names = vec![0_u8; 64 * 1024];
    let length = match rustix::fs::llistxattr(from, &mut names) {
        Ok(length) => length,
        Err(rustix::io::Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for name in names[..length].split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0_u8; 64 * 1024];
        let length = rustix::fs::lgetxattr(from, name, &mut value)?;
        rustix::fs::lsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty())?;
    }
    Ok(())
}
