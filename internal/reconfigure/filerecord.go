// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// fileRecord says what a snapshot file contains. It is beside the file, because no state
// has it while a resource is replaced, after a killed run, or in another workspace. It
// speaks of the file that has its hash, and of no other.
type fileRecord struct {
	SHA256   string `json:"sha256"`
	Cluster  string `json:"cluster_id"`
	Revision int64  `json:"revision"`
}

// recordOf returns the path of the record of a file.
func recordOf(path string) string { return hidden(path, ".receipt") }

// recorded returns the record that speaks of the file at path, if one does.
func recorded(ctx context.Context, path string) (fileRecord, bool) {
	var all []fileRecord
	text, err := os.ReadFile(recordOf(path))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if at, gone := os.Lstat(path); err != nil || gone != nil || !at.Mode().IsRegular() {
		return fileRecord{}, false
	}
	sum, _, err := Fingerprint(ctx, path)
	i := slices.IndexFunc(all, func(r fileRecord) bool { return r.SHA256 == sum })
	if err != nil || i < 0 {
		return fileRecord{}, false
	}
	return all[i], true
}

// replaced returns the backup that a snapshot at the path takes the place of: what the
// record says of the file, or else what the state says of a file that is there. It is nil
// if neither knows the file.
func (r SaveRequest) replaced(ctx context.Context) *membership.Backup {
	if is, ok := recorded(ctx, r.Path); ok {
		id, _ := membership.ParseClusterID(is.Cluster) // 0 is no cluster's
		return &membership.Backup{Cluster: id, Most: is.Revision}
	}
	if _, err := os.Lstat(r.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return r.Replaces
}

// writeRecord records a file that is about to appear at path, beside the one that is there:
// whichever of them a kill leaves, its record speaks of it. undo is for a file that does not
// appear.
func writeRecord(ctx context.Context, path string, next fileRecord) (undo func(), err error) {
	all := []fileRecord{next}
	if is, ok := recorded(ctx, path); ok {
		all = append(all, is)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	name := recordOf(path)
	_ = os.Remove(name + ".new") // of a killed process
	file, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownerOnly)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		_ = os.Remove(name + ".new")
	}
	return func() {
		if len(all) == 1 {
			_ = os.Remove(name)
		}
	}, err
}

// RemoveSnapshot removes a snapshot file and its record.
func RemoveSnapshot(path string) error {
	err := os.Remove(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(recordOf(path))
	}
	return err
}
