// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package userdata

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/must"
)

// help is what a version says about its flags.
func help(t *testing.T, v etcdtest.Version) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), etcdtest.Binary(t, v), "--help").CombinedOutput()
	must.Succeed(t, err)
	return string(out)
}

// The successor of each experimental flag of 3.5 and 3.6 is a flag or a feature gate of 3.7,
// and of 3.6, where it can be changed before the upgrade.
func TestSuccessorsOfExperimentalFlags(t *testing.T) {
	t.Parallel()
	before, after := help(t, etcdtest.V36), help(t, etcdtest.V37)
	flags := regexp.MustCompile(`--experimental-([a-z0-9-]+)`).FindAllStringSubmatch(help(t, etcdtest.V35)+before, -1)
	if len(flags) < 20 || strings.Contains(after, "--experimental-") {
		t.Errorf("%d flags", len(flags))
	}
	for _, f := range flags {
		name := strings.ToUpper(strings.ReplaceAll(f[1], "-", "_"))
		o := Options{bin: "/usr/bin", Environment: map[string]string{"ETCD_EXPERIMENTAL_" + name: "true"}}
		var e *OptionError
		if err := o.CheckVersion("3.7.3"); !errors.As(err, &e) || e.Problem != RemovedVariable {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, version := range []string{"3.6.16", "3.5.35", "3.10", "", "3.7"} {
			if err := o.CheckVersion(version); err != nil {
				t.Errorf("%s at %q: %v", name, version, err)
			}
		}
		if name == "ENABLE_V2V3" {
			continue // it has none
		}
		flag, gate, _ := strings.Cut(e.Allowed[0], " with ")
		text := "--" + strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(flag, "ETCD_")), "_", "-")
		for _, of := range []string{before, after} {
			if !slices.Contains(strings.Fields(of), text) || gate != "" && !strings.Contains(of, gate+"=true|false") {
				t.Errorf("%s: there is no %s %s", name, text, gate)
			}
		}
	}
}
