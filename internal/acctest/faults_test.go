// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// vanish deletes a machine outside Terraform, which a refresh of a cloud's machine
// resource would find.
func (f *Fleet) vanish(name string) {
	f.TB.Helper()
	f.Lose(name)
	f.Run("state", "rm", machine(name)).MustSucceed()
}

// wipe deletes the data of a machine and boots it again. It returns when the join script
// has refused to start.
func (f *Fleet) wipe(name string) {
	f.TB.Helper()
	f.Crash(name)
	for _, data := range []string{"data", "etcd.log"} {
		if err := os.RemoveAll(filepath.Join(f.Machines, name, data)); err != nil {
			f.TB.Fatal(err)
		}
	}
	events := len(f.Events(name))
	f.Repair(name)
	etcdtest.Eventually(f.TB, "the join script does not start "+name, func() error {
		text, err := os.ReadFile(filepath.Join(f.Machines, name, "etcd.log"))
		if err == nil && !strings.Contains(string(text), "etcd-join: ") {
			err = fmt.Errorf("the log: %s", text)
		}
		return err
	})
	if now := f.Events(name); len(now) != events {
		f.TB.Errorf("etcd was started: %v", now[events:])
	}
}
