// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package onecluster tests the lives of etcd_cluster and etcd_member with a real
// Terraform or OpenTofu, and with real etcd. The provider that the CLI starts is the
// test binary, because the product does not serve etcd_cluster yet.
package onecluster

import (
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
)

// program is the provider's binary: the name under which the CLI starts this one.
var program string

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == acctest.ProviderName {
		serve()
		return
	}
	dir, err := os.MkdirTemp("", "onecluster-provider-")
	if err != nil {
		log.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	program = filepath.Join(dir, acctest.ProviderName)
	if err := os.Symlink(self, program); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// serve serves the provider until the CLI ends.
func serve() {
	go func() {
		for parent := os.Getppid(); os.Getppid() == parent; {
			time.Sleep(50 * time.Millisecond)
		}
		os.Exit(1) // the CLI was killed, as in the product
	}()
	pool := &connection.Pool{}
	run := backend.NewRun()
	etcd := provider.NewForRun("test", pool, run)
	err := tf6server.Serve("registry.terraform.io/terraform-provider-etcd/etcd", func() tfprotov6.ProviderServer { return provider.Server(etcd()) })
	_ = pool.Close()
	if err != nil {
		log.Fatal(err)
	}
}
