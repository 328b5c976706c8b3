package sqlitestore

// This file decides which file systems a store may lie on, without looking at one.

// networkFileSystem names the network (or user space) file system with the magic number of
// statfs, or answers "". SQLite's write-ahead log needs memory shared between processes and
// locks that the kernel of one machine decides; over a network, and over FUSE, which may
// hide one, both fail silently.
func networkFileSystem(magic uint32) string {
	return networkMagics[magic]
}

// networkMagics are the f_type numbers of statfs(2) on Linux.
var networkMagics = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFF534D42: "CIFS",
	0xFE534D42: "SMB2",
	0x65735546: "FUSE",
	0x01021997: "9P",
	0x00C36400: "Ceph",
	0x5346414F: "AFS",
	0x6B414653: "kAFS",
	0x73757245: "Coda",
	0x564C:     "NCP",
	0x0BD00BD0: "Lustre",
	0x47504653: "GPFS",
	0x7461636F: "OCFS2",
	0x01161970: "GFS2",
	0x19830326: "BeeGFS",
	0xAAD7AAEA: "PanFS",
}
