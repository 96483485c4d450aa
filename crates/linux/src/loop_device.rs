//! Loop devices (`loop(4)`), by descriptors: what is behind one is the file that was opened, whatever its path names by
//! now. The ioctls pass memory to the kernel and have no safe interface.
#![allow(unsafe_code)]

use crate::folder::FileId;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Getter, IntegerSetter, Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// `LOOP_*` of `linux/loop.h`.
const SET_FD: Opcode = 0x4C00;
const CLR_FD: Opcode = 0x4C01;
const SET_STATUS64: Opcode = 0x4C04;
const GET_STATUS64: Opcode = 0x4C05;
const SET_DIRECT_IO: Opcode = 0x4C08;
const CTL_GET_FREE: Opcode = 0x4C82;
/// `LO_FLAGS_AUTOCLEAR`: it is detached when nobody has it open or mounted.
const AUTOCLEAR: u32 = 4;
/// Others take free devices, too.
const ATTEMPTS: u32 = 50;
const CONTROL: &str = "/dev/loop-control";

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `LOOP_CTL_GET_FREE` returns a number instead of writing one.
struct GetFree;

// SAFETY: the request takes no argument, and its result is a number.
unsafe impl Ioctl for GetFree {
    type Output = IoctlOutput;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut rustix::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        output: IoctlOutput,
        _: *mut rustix::ffi::c_void,
    ) -> rustix::io::Result<IoctlOutput> {
        Ok(output)
    }
}

/// A loop device, held open: as long as it is, the kernel gives its number to no other file.
#[derive(Debug)]
pub struct LoopDevice {
    path: PathBuf,
    file: File,
}

impl LoopDevice {
    /// Puts a free loop device before an open file, which the page cache then does not hold a second time if its
    /// filesystem supports that. It ends by itself once it is neither open nor mounted.
    ///
    /// # Errors
    /// Those of loop(4); [`io::ErrorKind::ResourceBusy`] if others took every free one.
    pub fn attach(backing: &File) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let control = open_device(Path::new(CONTROL))?;
            // SAFETY: see `GetFree`.
            let number = unsafe { ioctl(&control, GetFree) }?;
            let path = PathBuf::from(format!("/dev/loop{number}"));
            let device = Self {
                file: open_device(&path)?,
                path,
            };
            match device.set(backing) {
                Err(Errno::BUSY) => {}
                set => {
                    set?;
                    return Ok(device);
                }
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    fn set(&self, backing: &File) -> Result<(), Errno> {
        let descriptor = usize::try_from(backing.as_raw_fd()).map_err(|_| Errno::BADF)?;
        // SAFETY: the request takes a descriptor, by value.
        unsafe { ioctl(&self.file, IntegerSetter::<SET_FD>::new_usize(descriptor)) }?;
        let configured = self.configure();
        if configured.is_err() {
            let _ = self.clear();
        }
        configured
    }

    fn configure(&self) -> Result<(), Errno> {
        let mut info = self.status()?;
        info.flags |= AUTOCLEAR;
        // SAFETY: the opcode matches the layout of the struct that the kernel reads.
        unsafe { ioctl(&self.file, Setter::<SET_STATUS64, LoopInfo>::new(info)) }?;
        // SAFETY: the request takes a number, by value.
        match unsafe { ioctl(&self.file, IntegerSetter::<SET_DIRECT_IO>::new_usize(1)) } {
            // Before kernel 4.10, and on filesystems without direct I/O.
            Err(Errno::INVAL | Errno::NOTTY) => Ok(()),
            set => set,
        }
    }

    /// Opens the devices whose backing file is one of these.
    ///
    /// # Errors
    /// If the devices cannot be listed, or one that is in use cannot be opened.
    pub fn of_files(files: &[FileId]) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/sys/block")? {
            let entry = entry?;
            // Free ones have none.
            if !entry.path().join("loop/backing_file").exists() {
                continue;
            }
            let path = Path::new("/dev").join(entry.file_name());
            let file = match open_device(&path) {
                // It has ended meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let device = Self { path, file };
            if device.backing()?.is_some_and(|file| files.contains(&file)) {
                found.push(device);
            }
        }
        Ok(found)
    }

    /// Its path in `/dev`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file behind it; `None` if there is none any more.
    ///
    /// # Errors
    /// Those of loop(4).
    pub fn backing(&self) -> io::Result<Option<FileId>> {
        match self.status() {
            Ok(info) => Ok(Some(FileId {
                device: info.device,
                inode: info.inode,
            })),
            Err(Errno::NXIO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn status(&self) -> Result<LoopInfo, Errno> {
        // SAFETY: the opcode matches the layout of the struct that the kernel writes.
        unsafe { ioctl(&self.file, Getter::<GET_STATUS64, LoopInfo>::new()) }
    }

    /// Detaches it; if others have it open or mounted, once they do not any more.
    ///
    /// # Errors
    /// Those of loop(4).
    pub fn detach(self) -> io::Result<()> {
        match self.clear() {
            // It has ended by itself.
            Err(Errno::NXIO) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn clear(&self) -> Result<(), Errno> {
        // SAFETY: the request takes no argument.
        unsafe { ioctl(&self.file, NoArg::<CLR_FD>::new()) }
    }
}

impl AsFd for LoopDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn open_device(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn the_layout_matches_the_header() {
        assert_eq!(size_of::<LoopInfo>(), 232);
        assert_eq!(std::mem::offset_of!(LoopInfo, flags), 52);
        assert_eq!(std::mem::offset_of!(LoopInfo, file_name), 56);
    }

    /// One that somebody else looks at, such as another test, is detached after that.
    fn await_end(file: FileId) {
        let give_up = Instant::now() + Duration::from_mins(1);
        while !LoopDevice::of_files(&[file]).unwrap().is_empty() {
            assert!(Instant::now() < give_up, "it is not detached");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_device_is_found_by_its_file_whatever_the_path() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let image = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        image.set_len(1 << 20).unwrap();
        let id = FileId::of(&image).unwrap();
        let device = LoopDevice::attach(&image).unwrap();
        assert_eq!(device.backing().unwrap(), Some(id));
        // The kernel calls it by its new name now.
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        let found = LoopDevice::of_files(&[id]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path(), device.path());
        let other = FileId {
            inode: id.inode + 1,
            ..id
        };
        assert!(LoopDevice::of_files(&[other]).unwrap().is_empty());
        drop(found);
        let second = open_device(device.path()).unwrap();
        device.detach().unwrap();
        drop(second);
        await_end(id);
    }

    #[test]
    fn a_device_ends_with_the_process_that_has_it() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let image = tempfile::tempfile().unwrap();
        image.set_len(1 << 20).unwrap();
        let id = FileId::of(&image).unwrap();
        drop(LoopDevice::attach(&image).unwrap());
        await_end(id);
    }
}
