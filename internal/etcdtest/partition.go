// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Split separates the peers of the cluster into two sides: the given members
// and all others. Clients still reach all of them. It replaces the effect of an
// earlier Split. Options.Links must be set.
func (c *Cluster) Split(members ...*Process) {
	c.tb.Helper()
	if _, err := os.Stat(tcpTable); err != nil || !c.opts.Links {
		c.tb.Fatalf("etcdtest: members cannot be cut off from each other without Options.Links and %s: %v", tcpTable, err)
	}
	all := c.withLinks()
	for _, to := range all {
		for _, from := range all {
			if to != from {
				to.link.setCutFrom(from, slices.Contains(members, to) != slices.Contains(members, from))
			}
		}
	}
}

// Heal undoes [Cluster.Split].
func (c *Cluster) Heal() { c.tb.Helper(); c.Split() }

// withLinks returns all processes of the cluster, of which each has a link.
func (c *Cluster) withLinks() []*Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.linked)
}

// source returns the process that dialled conn, or nil if none of them did. All members
// dial a member at the same URL. To tell them apart, it asks the kernel which process
// holds the other end of the connection.
func (c *Cluster) source(conn net.Conn) *Process {
	inode := socketInode(conn.RemoteAddr(), conn.LocalAddr())
	for _, p := range c.withLinks() {
		if pid := p.PID(); inode != "" && pid != 0 && holdsSocket(pid, inode) {
			return p
		}
	}
	return nil
}

// tcpTable is Linux's list of IPv4 TCP sockets.
const tcpTable = "/proc/net/tcp"

// socketInode returns the inode of the IPv4 loopback socket with these local
// and remote addresses, or "" if it is closed already.
func socketInode(local, remote net.Addr) string {
	table, _ := os.ReadFile(tcpTable)
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[1] == tableAddress(local) && f[2] == tableAddress(remote) && f[9] != "0" {
			return f[9]
		}
	}
	return ""
}

// tableAddress formats an address as in tcpTable: its four bytes are one number
// in the byte order of the machine.
func tableAddress(addr net.Addr) string {
	tcp := addr.(*net.TCPAddr)
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port)
}

func holdsSocket(pid int, inode string) bool {
	sockets, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(sockets, func(path string) bool {
		target, err := os.Readlink(path)
		return err == nil && target == "socket:["+inode+"]"
	})
}
