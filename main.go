// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-etcd is the provider's plugin process.
package main

import (
	"flag"
	"log"
	"os"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/lean"
)

// version is set by the linker.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "run so that a debugger can attach, and print how to use it")
	flag.Parse()
	pool := &connection.Pool{}
	served := make(chan struct{})
	lean.Memory()
	if !*debug {
		if err := lean.Quiet(); err != nil {
			log.Fatal(err)
		}
		go orphaned(served, func() {
			_ = pool.Close()
			os.Exit(1)
		})
	}
	err := lean.Serve("registry.terraform.io/terraform-provider-etcd/etcd", *debug, provider.NewWithPool(version, pool))
	close(served)
	// The process lives on for a moment after Serve: enough to say goodbye to
	// the servers. What it fails with no longer matters.
	_ = pool.Close()
	if err != nil {
		log.Fatal(err)
	}
}

// parentPoll is how often the parent is looked for. The look is one system
// call.
const parentPoll = 250 * time.Millisecond

// orphaned calls f once this process has lost its parent, unless stop is closed
// before. A CLI that is killed tells its providers nothing, and nobody will
// ever take what they still do into a state; but their locks would be renewed
// until the last wait is over, and keep the next run from its work. (Where
// processes keep the number of a parent that is gone, as on Windows, that is
// so.)
func orphaned(stop <-chan struct{}, f func()) {
	parent := os.Getppid()
	tick := time.NewTicker(parentPoll)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
	f()
}
