package sqlitestore

// This file decides which file systems a store may lie on, without looking at one.

// networkFileSystem names the network (or user space) file system with the magic number of
// statfs, or answers "". SQLite's write-ahead log needs memory shared between processes and
// locks that the kernel of one machine decides; over a network, and over FUSE, which may
// hide one, both fail silently.
func networkFileSystem(magic uint32) string {
	switch magic { // the f_type numbers of statfs(2) on Linux
	case 0x6969:
		return "NFS"
	case 0x517B:
		return "SMB"
	case 0xFF534D42:
		return "CIFS"
	case 0xFE534D42:
		return "SMB2"
	case 0x65735546:
		return "FUSE"
	case 0x01021997:
		return "9P"
	case 0x00C36400:
		return "Ceph"
	case 0x5346414F:
		return "AFS"
	case 0x6B414653:
		return "kAFS"
	case 0x73757245:
		return "Coda"
	case 0x564C:
		return "NCP"
	case 0x0BD00BD0:
		return "Lustre"
	case 0x47504653:
		return "GPFS"
	case 0x7461636F:
		return "OCFS2"
	case 0x01161970:
		return "GFS2"
	case 0x19830326:
		return "BeeGFS"
	case 0xAAD7AAEA:
		return "PanFS"
	}
	return ""
}
