// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package joinscript renders the POSIX shell script that decides, on the
// machine and directly before etcd starts, how etcd may start there: as the
// member it already is, as a founder, as a member that has just been
// announced, not yet, or never.
//
// The script is static text (join.sh) with a few assignments at its top. It
// needs sh, awk, sed, date and curl, and runs under dash and busybox alike.
package joinscript

import (
	_ "embed"
	"strconv"
	"strings"
	"time"
)

// The exit codes of the script besides 0 ("start etcd").
const (
	// ExitRetry says that etcd must not start yet and that the script should
	// be run again (sysexits: EX_TEMPFAIL).
	ExitRetry = 75
	// ExitNever says that this identity has run before and that its data is
	// gone. It must never start: a member that comes back with an empty log
	// can vote acknowledged writes away. (sysexits: EX_CONFIG; for systemd's
	// RestartPreventExitStatus.)
	ExitNever = 78
)

// DefaultWait is how long one run of the script waits to be announced. It
// leaves room for etcd's own start inside the 90 seconds that systemd gives a
// unit to start, the commands before it included.
const DefaultWait = 45 * time.Second

// Params are what is known of a member when its configuration is made. The
// script prefers what it finds in its environment (ETCD_NAME,
// ETCD_INITIAL_ADVERTISE_PEER_URLS), because that is what etcd will obey.
type Params struct {
	// Name is the member's name.
	Name string
	// PeerURLs are the member's own peer URLs. Empty if they are filled in on
	// the machine, as ETCD_INITIAL_ADVERTISE_PEER_URLS.
	PeerURLs []string
	// Peers are the peer URLs of the members that are known now. The script
	// adds those in ETCD_JOIN_PEERS and ETCD_INITIAL_CLUSTER, those that a
	// founder's registry names, and those that the peers themselves list.
	Peers []string
	// Founder is true for a member whose environment tells it to form a
	// cluster. How is read from the environment (ETCD_INITIAL_CLUSTER,
	// ETCD_DISCOVERY, ETCD_DISCOVERY_TOKEN), not given here.
	Founder bool
	// Wait is how long one run waits to be announced before it exits with
	// ExitRetry, in whole seconds, rounded up. DefaultWait if it is not
	// positive.
	Wait time.Duration
}

//go:embed join.sh
var text string

// Render returns the script for p: always the same text for the same p,
// whatever characters its values hold.
func Render(p Params) string {
	wait := p.Wait
	if wait <= 0 {
		wait = DefaultWait
	}
	founder := "0"
	if p.Founder {
		founder = "1"
	}
	// One pass over the text, so that no value is read as a placeholder.
	return strings.NewReplacer(
		"own_name=''\n", "own_name="+quote(p.Name)+"\n",
		"own_urls=''\n", "own_urls="+quote(strings.Join(p.PeerURLs, ","))+"\n",
		"known_peers=''\n", "known_peers="+quote(strings.Join(p.Peers, ","))+"\n",
		"founder=0\n", "founder="+founder+"\n",
		"wait_seconds=45\n", "wait_seconds="+strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)+"\n",
	).Replace(text)
}

// quote returns s as one word of a POSIX shell. A NUL cannot stand in a shell
// script at all and is dropped.
func quote(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
