// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package etcdtest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
)

// SnapshotStatus is the output of etcdutl snapshot status.
type SnapshotStatus struct {
	Revision, TotalKey, TotalSize int64
}

// EtcdutlStatus runs etcdutl snapshot status on the file at path. etcdutl reads
// the whole database; the test fails unless it is consistent.
func EtcdutlStatus(tb TB, path string) (out SnapshotStatus) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), WaitLimit)
	defer cancel()
	text, err := exec.CommandContext(ctx, EtcdutlBinary(tb, V36), "snapshot", "status", path, "--write-out=json").Output()
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			text = ended.Stderr
		}
		tb.Fatalf("etcdtest: etcdutl snapshot status %s: %v\n%s", path, err, text)
	}
	return out
}
