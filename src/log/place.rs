//! File systems that are no place for a ledger: shared with other machines, or not the kernel's own.
//!
//! A lock there may keep nobody out, a sync may promise nothing, and what HEAD says of this boot holds on one machine only.

/// On which file systems a ledger may be written. Reading is allowed everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileSystems {
    /// On those of this machine: network and FUSE file systems are refused.
    #[default]
    Local,
    /// On any: the caller knows that locks and syncs hold there, and that no other machine writes.
    Any,
}

/// The types that are refused, by the `f_type` of Linux' `statfs`, with their names.
const REFUSED: &[(u32, &str)] = &[
    (0x0000_517b, "smb"),
    (0x0000_564c, "ncp"),
    (0x0000_6969, "nfs"),
    (0x00c3_6400, "ceph"),
    (0x0102_1997, "9p"),
    (0x0116_1970, "gfs2"),
    (0x0bd0_0bd0, "lustre"),
    (0x1983_0326, "beegfs"),
    (0x4750_4653, "gpfs"),
    (0x5346_414f, "afs"),
    (0x6573_5546, "fuse"),
    (0x6b41_4653, "afs"),
    (0x7375_7245, "coda"),
    (0x7461_636f, "ocfs2"),
    (0x786f_4256, "vboxsf"),
    (0xaad7_aaea, "panfs"),
    (0xbacb_acbc, "hgfs"),
    (0xfe53_4d42, "smb"),
    (0xff53_4d42, "cifs"),
];

/// The name of a file system of this type, if a ledger may not be written there.
#[must_use]
pub fn refused_file_system(f_type: u32) -> Option<&'static str> {
    REFUSED.iter().find(|(refused, _)| *refused == f_type).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_other_machines_and_of_user_space_are_refused_by_name() {
        let named = [(0x6969, "nfs"), (0xff53_4d42, "cifs"), (0xfe53_4d42, "smb"), (0x0102_1997, "9p")];
        for (f_type, name) in named.into_iter().chain([(0x6573_5546, "fuse"), (0x00c3_6400, "ceph")]) {
            assert_eq!(refused_file_system(f_type), Some(name));
        }
        let mut types: Vec<u32> = REFUSED.iter().map(|(f_type, _)| *f_type).collect();
        types.dedup();
        assert!(types.len() == REFUSED.len() && types.is_sorted());
    }

    #[test]
    fn file_systems_of_this_machine_are_not_refused() {
        // ext4, xfs, btrfs, tmpfs, overlayfs, zfs, f2fs, bcachefs, and one that nobody knows.
        let local = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0x2fc1_2fc1, 0xf2f5_2010];
        for f_type in local.into_iter().chain([0xca45_1a4e, 0]) {
            assert_eq!(refused_file_system(f_type), None);
        }
    }
}
