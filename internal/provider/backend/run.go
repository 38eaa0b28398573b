// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"os/user"
	"sync"

	"github.com/google/uuid"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
)

// Run is what a run of the provider takes from the process that it runs in, except
// for files and connections. Tests have several runs in one process, in simulated
// time.
type Run struct {
	// Clock is the time of every wait.
	Clock clock.Clock
	// Getenv returns an environment variable.
	Getenv func(name string) string
	// Random is the source of tokens and IDs.
	Random io.Reader
	// Self identifies the run to the runs that wait for its locks.
	Self func() claim.Holder
}

// NewRun returns the run of this process.
func NewRun() *Run {
	r := &Run{Clock: clock.System{}, Getenv: os.Getenv, Random: rand.Reader}
	// The lookup of a user can take time, and most calls need no lock.
	r.Self = sync.OnceValue(r.self)
	return r
}

func (r *Run) self() claim.Holder {
	who, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return claim.Holder{Who: who + "@" + host, PID: os.Getpid(), Run: r.UUID()}
}

// ID returns a random ID.
func (r *Run) ID() string {
	id := make([]byte, 8)
	if _, err := io.ReadFull(r.Random, id); err != nil {
		panic(err) // the system has no random numbers
	}
	return hex.EncodeToString(id)
}

// UUID returns a random UUID.
func (r *Run) UUID() string { return uuid.Must(uuid.NewRandomFromReader(r.Random)).String() }
