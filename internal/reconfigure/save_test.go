// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// sender is a cluster of one that sends what it is told to.
type sender struct {
	cluster.Cluster
	send func(w io.Writer) error
}

func (s sender) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	return membership.Snapshot{
		ClusterID: 1, Linearizable: true, Members: []membership.Member{{ID: 7, Name: "a", ClientURLs: []string{"http://a:1"}}},
		Answers: map[membership.MemberID]membership.Answer{7: {State: membership.Answered, MemberID: 7, ClusterID: 1, Leader: 7, Term: 2, ReadOK: true}},
	}, nil
}

func (s sender) Snapshot(_ context.Context, _ membership.MemberID, _ time.Duration, w io.Writer) (cluster.SnapshotHeader, error) {
	return cluster.SnapshotHeader{Revision: 5}, s.send(w)
}

// whole is a database with its hash behind it.
func whole(size int) []byte {
	data := make([]byte, size)
	data[0] = 1
	hash := sha256.Sum256(data)
	return slices.Concat(data, hash[:])
}

// What is not whole, and what breaks off, leaves no file behind, nor anything
// else; and what is there already stays, also if it has come meanwhile.
func TestSaveWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	write := func(p []byte) func(string, io.Writer) error {
		return func(_ string, w io.Writer) error { _, err := w.Write(p); return err }
	}
	flipped := whole(1024)
	flipped[500] ^= 1
	for name, tt := range map[string]struct {
		send      func(path string, w io.Writer) error
		before    bool
		overwrite bool
		fails     error
		bad       bool
		holds     string // of the file afterwards: "new", "old" or "nothing"
	}{
		"whole":            {send: write(whole(1024)), holds: "new"},
		"nothing":          {send: write(nil), bad: true, holds: "nothing"},
		"a hash alone":     {send: write(whole(1024)[1024:]), bad: true, holds: "nothing"},
		"without its hash": {send: write(whole(1024)[:1024]), bad: true, holds: "nothing"},
		"cut off":          {send: write(whole(1024)[512:]), bad: true, holds: "nothing"},
		"a bit flipped":    {send: write(flipped), bad: true, holds: "nothing"},
		"broken off":       {send: func(_ string, w io.Writer) error { _, _ = w.Write(whole(512)[:100]); return broken }, fails: broken, holds: "nothing"},
		"broken off at an old": {
			send: func(_ string, w io.Writer) error { _, _ = w.Write(whole(512)[:100]); return broken }, before: true, overwrite: true, fails: broken, holds: "old",
		},
		"a file is there":  {send: write(whole(1024)), before: true, fails: fs.ErrExist, holds: "old"},
		"one may be there": {send: write(whole(1024)), before: true, overwrite: true, holds: "new"},
		"one comes meanwhile": {send: func(path string, w io.Writer) error {
			_, err := w.Write(whole(1024))
			return errors.Join(err, os.WriteFile(path, []byte("old"), 0o600))
		}, fails: fs.ErrExist, holds: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etcd.db")
			if tt.before {
				if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			e := &Engine{Clock: clock.System{}, Process: &ProcessState{}, Cluster: sender{send: func(w io.Writer) error { return tt.send(path, w) }}}
			saved, err := e.Save(t.Context(), SaveRequest{Path: path, Overwrite: tt.overwrite, Limit: time.Minute}, func(Step) {})
			var bad *BadSnapshot
			switch {
			case tt.bad != errors.As(err, &bad), tt.fails != nil && !errors.Is(err, tt.fails), !tt.bad && tt.fails == nil && err != nil:
				t.Errorf("failed with %v", err)
			case err == nil && (saved.Size != 1024+sha256.Size || saved.Member != 7 || saved.Revision != 5):
				t.Errorf("saved %+v", saved)
			}
			files, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			got := "new"
			switch {
			case errors.Is(err, fs.ErrNotExist):
				got = "nothing"
			case err != nil:
				t.Fatal(err)
			case string(text) == "old":
				got = "old"
			}
			if got != tt.holds || len(files) > 1 || got == "nothing" && len(files) > 0 {
				t.Errorf("the file holds %s, want %s; there are %v", got, tt.holds, files)
			}
		})
	}
}

// A member that sends without end fills no disk.
func TestSaveEndsWhatHasNoEnd(t *testing.T) {
	t.Parallel()
	sent := 0
	e := &Engine{Clock: clock.System{}, Process: &ProcessState{}, Cluster: sender{send: func(w io.Writer) error {
		for piece := make([]byte, 1<<20); sent < 300; sent++ {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	}}}
	dir := t.TempDir()
	_, err := e.Save(t.Context(), SaveRequest{Path: filepath.Join(dir, "etcd.db"), Limit: time.Minute}, func(Step) {})
	files, _ := os.ReadDir(dir)
	if !errors.As(err, new(*oversized)) || sent != slack>>20 || len(files) != 0 {
		t.Errorf("after %d MB of a database of no size: %v, and there are %v", sent, err, files)
	}
}

func TestSaveNowhere(t *testing.T) {
	e := &Engine{Clock: clock.System{}, Process: &ProcessState{}, Cluster: sender{send: func(io.Writer) error { return nil }}}
	dir := t.TempDir()
	for _, nowhere := range []string{filepath.Join(dir, "no", "such"), filepath.Join(dir, "file")} {
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := e.Save(t.Context(), SaveRequest{Path: filepath.Join(nowhere, "etcd.db"), Overwrite: true, Limit: time.Minute}, func(Step) {})
		var missing *NoDirectory
		if !errors.As(err, &missing) || missing.Path != nowhere || err.Error() != "there is no directory "+nowhere {
			t.Errorf("got %v", err)
		}
	}
}
