// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// partition contains all processes whose peer ports have links, and cuts them off
// from each other. All members dial a member at the same URL. To tell them apart,
// the link asks the kernel which process holds the other end of a connection.
type partition struct {
	mu        sync.Mutex
	processes []*Process
}

func (n *partition) add(p *Process) {
	n.mu.Lock()
	n.processes = append(n.processes, p)
	n.mu.Unlock()
	p.link.mu.Lock()
	p.link.source = n.source
	p.link.mu.Unlock()
}

func (n *partition) all() []*Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.processes)
}

// separate cuts the links between different sides, and heals all other links.
func (n *partition) separate(side map[*Process]int) {
	all := n.all()
	for _, to := range all {
		for _, from := range all {
			if to != from {
				to.link.setCutFrom(from, side[to] != side[from])
			}
		}
	}
}

// source returns the process that dialled conn, or nil if none of them did.
func (n *partition) source(conn net.Conn) *Process {
	inode, err := socketInode(conn.RemoteAddr(), conn.LocalAddr())
	if err != nil {
		return nil // the client has disconnected already
	}
	for _, p := range n.all() {
		if pid := p.PID(); pid != 0 && holdsSocket(pid, inode) {
			return p
		}
	}
	return nil
}

// Split separates the peers of the cluster into two sides: the given members
// and all others. Clients still reach all of them. It replaces the effect of an
// earlier Split. Options.Links must be set.
func (c *Cluster) Split(members ...*Process) {
	c.tb.Helper()
	side := map[*Process]int{}
	for _, p := range members {
		side[p] = 1
	}
	c.separate(side)
}

// Heal undoes [Cluster.Split].
func (c *Cluster) Heal() {
	c.tb.Helper()
	c.separate(nil)
}

func (c *Cluster) separate(side map[*Process]int) {
	c.tb.Helper()
	if c.links == nil {
		c.tb.Fatalf("etcdtest: members cannot be cut off from each other without Options.Links")
	}
	if _, err := os.Stat(tcpTable); err != nil {
		c.tb.Fatalf("etcdtest: members cannot be cut off from each other on this system: %v", err)
	}
	all := c.links.all()
	for p := range maps.Keys(side) {
		if !slices.Contains(all, p) {
			c.tb.Fatalf("etcdtest: %s is no process of this cluster", p.Name)
		}
	}
	c.links.separate(side)
}

// tcpTable is Linux's list of IPv4 TCP sockets.
const tcpTable = "/proc/net/tcp"

// socketInode returns the inode of the IPv4 loopback socket with these local
// and remote addresses.
func socketInode(local, remote net.Addr) (string, error) {
	table, err := os.ReadFile(tcpTable)
	if err != nil {
		return "", err
	}
	localEnd, err := tableAddress(local)
	if err != nil {
		return "", err
	}
	remoteEnd, err := tableAddress(remote)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[1] == localEnd && f[2] == remoteEnd && f[9] != "0" {
			return f[9], nil
		}
	}
	return "", os.ErrNotExist
}

// tableAddress formats an address as in tcpTable: its four bytes are one number
// in the byte order of the machine.
func tableAddress(addr net.Addr) (string, error) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || tcp.IP.To4() == nil {
		return "", fmt.Errorf("%v is no IPv4 address of TCP", addr)
	}
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(tcp.IP.To4()), tcp.Port), nil
}

func holdsSocket(pid int, inode string) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false // the process has just ended
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && target == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
