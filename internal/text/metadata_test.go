// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"fmt"
	"os/exec"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
)

func TestMalformedTexts(t *testing.T) {
	const key = "/_terraform/etcd/cdf818194e3a8c32/members/joiner-1f"
	bad := &cluster.Malformed{Kind: "ownership record", Key: key, Value: `"hands off"`, Err: errors.New("invalid character 'h' looking for beginning of value")}
	const wayOut = "If nothing needs it, delete it and apply again. Without an ownership record the provider does not remove a member that it added and that is not in the state, " +
		"so compare the member list with the state first:\n\n  etcdctl member list\n  etcdctl del " + key
	for _, test := range []struct {
		got, want Message
	}{
		{
			Explain("add", "d", fmt.Errorf("reading: %w", bad)),
			Message{"Cannot add member d", "The ownership record " + key + " is not what this version of the provider writes (invalid character 'h' looking for beginning of value). " +
				"It holds \"hands off\". This version cannot read it, so it stopped before its next change. Find out who wrote it:\n\n  etcdctl get " + key + "\n\n" + wayOut},
		},
		{
			Explain("remove", "d", &cluster.Malformed{Kind: "ownership record", Key: key, Value: `"{}"`, Format: 2, Newer: true, Err: errors.New("x")}),
			Message{"Cannot remove member d", "A newer version of the provider wrote the ownership record " + key + " (format 2). This version cannot read it, so it stopped before its next change. " +
				"Upgrade the provider, then apply again:\n\n  terraform init -upgrade\n\n" + wayOut},
		},
		{
			TurnLeft("d", &cluster.NotDeleted{Key: "/_terraform/etcd/1f/turns/d", Err: errors.New("etcdserver: no leader")}),
			Message{"Replacement of member d is still on record", "The node was removed. The record of a replacement of d that has not ended, if there is one, could not be deleted " +
				"(cannot delete /_terraform/etcd/1f/turns/d: etcdserver: no leader). While it is there, no other living member is replaced. Delete it once the cluster answers:\n\n  " +
				"etcdctl del /_terraform/etcd/1f/turns/d"},
		},
		{
			TurnLeft("d", errors.New("no endpoint answered")),
			Message{"Replacement of member d is still on record", "The node was removed. The record of a replacement of d that has not ended, if there is one, could not be deleted " +
				"(no endpoint answered). While it is there, no other living member is replaced. Delete it once the cluster answers:\n\n  " +
				"etcdctl get --prefix --keys-only /_terraform/etcd/\n  etcdctl del KEY\n\nKEY is the one that ends in /turns/d."},
		},
	} {
		if test.got != test.want {
			t.Errorf("\ngot  %s\n     %s\nwant %s\n     %s", test.got.Summary, test.got.Detail, test.want.Summary, test.want.Detail)
		}
	}
}

// Test that a shell parses any key as one word.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"/_terraform/etcd/1/members/name:a", "/a b", "/it's", "/$(touch x)`touch x`;&|<>\"\\*?[]{}~#!", "/a\nb\x1b", "/é", "/\xff", "/\u202e",
	} {
		out, err := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+shellWord(key)).Output()
		if err != nil || string(out) != key {
			t.Errorf("%q as %s: %q, %v", key, shellWord(key), out, err)
		}
	}
}
