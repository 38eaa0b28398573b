// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-etcd is the provider's plugin process.
package main

import (
	"flag"
	"log"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// version is set by the linker.
var version = "dev"

func main() {
	debugged := flag.Bool("debug", false, "run so that a debugger can attach, and print how to use it")
	flag.Parse()
	pool := &connection.Pool{}
	served := make(chan struct{})
	// At 100, a refresh of 100 resources uses a fifth more CPU time.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(56 << 20) // above it, memory counts more than time; not a hard limit
	}
	var opts []tf6server.ServeOpt
	if *debugged {
		opts = append(opts, tf6server.WithManagedDebug())
	} else {
		for _, variable := range quiet(os.Environ()) {
			_ = os.Setenv(variable, "ERROR") // a failure only costs time
		}
		go orphaned(served, func() {
			_ = pool.Close()
			os.Exit(1)
		})
	}
	run := backend.NewRun()
	serve := func() tfprotov6.ProviderServer { return provider.Server(provider.New(version, pool, run)) }
	err := tf6server.Serve("registry.terraform.io/terraform-provider-etcd/etcd", serve, opts...)
	close(served)
	// The process keeps running for a short time after Serve, long enough to
	// close the connections. An error no longer matters.
	_ = pool.Close()
	if err != nil {
		log.Fatal(err)
	}
}

// quiet returns the variables that set the log levels of the plugin libraries
// and of this provider, or nil if TF_LOG or a TF_LOG_ variable is not empty.
// Without a level, each call writes lines at level trace, which a CLI that does
// not log parses and drops. That takes a third of the CPU time of a refresh of
// 100 resources.
func quiet(environment []string) []string {
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && (name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_")) {
			return nil
		}
	}
	return []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER_ETCD"}
}

// parentPoll is the interval between checks of the parent process. A check is
// one system call.
const parentPoll = 250 * time.Millisecond

// orphaned calls f once this process has lost its parent, unless stop is closed
// first. A killed CLI does not notify its providers. The results of their work
// never reach a state, but they renew their locks until the last wait ends,
// which blocks the next Terraform run. That still happens if a process keeps
// the ID of a dead parent, as on Windows.
func orphaned(stop <-chan struct{}, f func()) {
	parent := os.Getppid()
	tick := time.NewTicker(parentPoll) //nolint:forbidigo // of the process, not of a run
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
