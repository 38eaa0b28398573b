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
)

// version is set by the linker.
var version = "dev"

func main() {
	debugged := flag.Bool("debug", false, "run so that a debugger can attach, and print how to use it")
	flag.Parse()
	pool := &connection.Pool{}
	served := make(chan struct{})
	// With the usual 100 a refresh of 100 resources costs the processors a fifth more.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(56 << 20) // from here on memory counts more than time; it is no ceiling
	}
	var opts []tf6server.ServeOpt
	if *debugged {
		opts = append(opts, tf6server.WithManagedDebug())
	} else {
		for _, variable := range quiet(os.Environ()) {
			_ = os.Setenv(variable, "ERROR") // it costs time if it fails, and nothing else
		}
		go orphaned(served, func() {
			_ = pool.Close()
			os.Exit(1)
		})
	}
	serve := func() tfprotov6.ProviderServer { return provider.Server(provider.NewWithPool(version, pool)()) }
	err := tf6server.Serve("registry.terraform.io/terraform-provider-etcd/etcd", serve, opts...)
	close(served)
	// The process lives on for a moment after Serve: enough to say goodbye to
	// the servers. What it fails with no longer matters.
	_ = pool.Close()
	if err != nil {
		log.Fatal(err)
	}
}

// quiet returns the variables by which the plugin libraries and this provider
// read the levels of their loggers, unless any variable of the environment says
// something about logs (TF_LOG and all that begin with TF_LOG_). Without a level
// each call writes lines at the level trace, which a CLI that logs nothing parses
// and drops: a third of what a refresh of 100 resources costs the processors.
func quiet(environment []string) []string {
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if value != "" && (name == "TF_LOG" || strings.HasPrefix(name, "TF_LOG_")) {
			return nil
		}
	}
	return []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER_ETCD"}
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
