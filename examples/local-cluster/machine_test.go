// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package localcluster tests the machines of the local-cluster example.
package localcluster

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
)

// TestMachine runs the cases of machine_test.sh with each shell.
func TestMachine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("machine_test.sh")
	if err != nil {
		t.Fatal(err)
	}
	cases := regexp.MustCompile(`(?m)^case_(\w+)\(\)`).FindAllStringSubmatch(string(text), -1)
	if len(cases) < 8 {
		t.Errorf("found only %d cases", len(cases))
	}
	for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}, {"busybox", "sh"}} {
		for _, c := range cases {
			t.Run(shell[0]+"/"+c[1], func(t *testing.T) {
				t.Parallel() // most of the time passes in waiting
				etcdtest.Need(t, shell[0])
				test := exec.CommandContext(etcdtest.WaitContext(t), "sh", append([]string{"machine_test.sh", c[1], t.TempDir()}, shell...)...)
				if out, err := test.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

func TestShellcheck(t *testing.T) {
	path := etcdtest.Need(t, "shellcheck")
	if out, err := exec.CommandContext(t.Context(), path, "--norc", "--shell=sh", "--severity=style", "machine.sh", "machine_test.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
