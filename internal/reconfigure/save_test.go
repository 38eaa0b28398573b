// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/clock"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

// snapshotOf returns a database of that text, as far as this package knows: a multiple
// of 512 bytes, and their hash.
func snapshotOf(text string) []byte {
	db := slices.Repeat([]byte(text), 8192)
	hash := sha256.Sum256(db)
	return slices.Concat(db, hash[:])
}

// sender is a cluster of one that sends the given data at revision 3, of a database of a
// size. after is its answer after that; by default the answer before.
type sender struct {
	cluster.Cluster
	send  func(w io.Writer) error
	after *membership.Answer
	size  int64
}

func (s sender) Observe(context.Context, membership.ClusterID) (membership.Snapshot, error) {
	return membership.Snapshot{
		ClusterID: 1, Linearizable: true, Members: []membership.Member{{ID: 7, Name: "a", ClientURLs: []string{"http://a:1"}}},
		Answers: map[membership.MemberID]membership.Answer{7: {State: membership.Answered, MemberID: 7, ClusterID: 1, Leader: 7, Term: 2, ReadOK: true, Revision: 3, DBSize: s.size}},
	}, nil
}

func (s sender) Member(ctx context.Context, m membership.Member, id membership.ClusterID) membership.Answer {
	if s.after != nil {
		return *s.after
	}
	snap, _ := s.Observe(ctx, id)
	return snap.Answer(m.ID)
}

func (s sender) Snapshot(_ context.Context, _ membership.MemberID, _ time.Duration, w io.Writer) error {
	return s.send(w)
}

func saving(send func(w io.Writer) error) *Engine {
	return &Engine{Clock: clock.System{}, Process: &ProcessState{}, Cluster: sender{send: send}}
}

// sendingSnapshot returns an engine for a cluster that sends a snapshot.
func sendingSnapshot(snapshot []byte) *Engine {
	return saving(func(w io.Writer) error { _, err := w.Write(snapshot); return err })
}

// An incomplete or interrupted transfer leaves no file behind, and an existing
// file stays, even if it was created in the meantime.
func TestSaveWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection broke")
	write := func(p []byte) func(string, io.Writer) error {
		return func(_ string, w io.Writer) error { _, err := w.Write(p); return err }
	}
	whole := snapshotOf("a")
	flipped := slices.Clone(whole)
	flipped[500] ^= 1
	for name, tt := range map[string]struct {
		send      func(path string, w io.Writer) error
		before    bool
		overwrite bool
		fails     error
		bad       bool
		holds     string // content of the file afterwards: "new", "old" or "nothing"
	}{
		"whole":            {send: write(whole), holds: "new"},
		"nothing":          {send: write(nil), bad: true, holds: "nothing"},
		"a hash alone":     {send: write(whole[len(whole)-sha256.Size:]), bad: true, holds: "nothing"},
		"without its hash": {send: write(whole[:len(whole)-sha256.Size]), bad: true, holds: "nothing"},
		"cut off":          {send: write(whole[512:]), bad: true, holds: "nothing"},
		"a bit flipped":    {send: write(flipped), bad: true, holds: "nothing"},
		"broken off":       {send: func(_ string, w io.Writer) error { _, _ = w.Write(whole[:100]); return broken }, fails: broken, holds: "nothing"},
		"broken off at an old": {
			send: func(_ string, w io.Writer) error { _, _ = w.Write(whole[:100]); return broken }, before: true, overwrite: true, fails: broken, holds: "old",
		},
		"a file is there":  {send: write(whole), before: true, fails: fs.ErrExist, holds: "old"},
		"one may be there": {send: write(whole), before: true, overwrite: true, holds: "new"},
		"one comes meanwhile": {send: func(path string, w io.Writer) error {
			_, err := w.Write(whole)
			return errors.Join(err, os.WriteFile(path, []byte("old"), 0o600))
		}, fails: fs.ErrExist, holds: "old"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etcd.db")
			if tt.before {
				must.Write(t, path, "old")
			}
			e := saving(func(w io.Writer) error { return tt.send(path, w) })
			saved, err := e.Save(t.Context(), SaveRequest{Path: path, Overwrite: tt.overwrite, Limit: time.Minute})
			var bad *BadSnapshot
			switch {
			case tt.bad != errors.As(err, &bad), tt.fails != nil && !errors.Is(err, tt.fails), !tt.bad && tt.fails == nil && err != nil:
				t.Errorf("failed with %v", err)
			case err == nil && (saved.Size != int64(len(whole)) || saved.Member != 7 || saved.Backup != membership.Backup{Cluster: 1, Least: 3, Most: 3} || saved.SHA256 != fmt.Sprintf("%x", sha256.Sum256(whole))):
				t.Errorf("saved %+v", saved)
			}
			files, err := os.ReadDir(filepath.Dir(path))
			must.Succeed(t, err)
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
			if got != tt.holds || len(files) > 2 || got == "nothing" && len(files) > 0 {
				t.Errorf("the file holds %s, want %s; there are %v", got, tt.holds, files)
			}
		})
	}
}

// The data is at a revision between two answers of its member. If another process may have
// sent it, the file before stays.
func TestSaveBetweenTwoAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after membership.Answer
		fails error
	}{
		"the same member": {membership.Answer{State: membership.Answered, MemberID: 7, ClusterID: 1, Revision: 5}, nil},
		"another cluster": {membership.Answer{State: membership.Answered, MemberID: 7, ClusterID: 2, Revision: 5}, errReplaced},
		"another member":  {membership.Answer{State: membership.Answered, MemberID: 8, ClusterID: 1, Revision: 5}, errReplaced},
		"no answer":       {membership.Answer{State: membership.Silent, MemberID: 7, ClusterID: 1, Revision: 5}, errReplaced},
	} {
		path := filepath.Join(t.TempDir(), "etcd.db")
		must.Write(t, path, "old")
		e := saving(nil)
		e.Cluster = sender{send: func(w io.Writer) error { _, err := w.Write(snapshotOf("a")); return err }, after: &c.after}
		saved, err := e.Save(t.Context(), SaveRequest{Path: path, Overwrite: true, Limit: time.Minute})
		text, readErr := os.ReadFile(path)
		if !errors.Is(err, c.fails) || readErr != nil || (string(text) == "old") != (c.fails != nil) {
			t.Errorf("%s: %v, want %v; the file holds %.9q (%v)", name, err, c.fails, text, readErr)
		}
		if c.fails == nil && saved.Backup != (membership.Backup{Cluster: 1, Least: 3, Most: 5}) {
			t.Errorf("%s: %+v", name, saved.Backup)
		}
	}
}

// A member that sends endlessly does not fill the disk.
func TestSaveEndsWhatHasNoEnd(t *testing.T) {
	t.Parallel()
	sent := 0
	e := saving(func(w io.Writer) error {
		for piece := make([]byte, 1<<20); sent < 300; sent++ {
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
		return nil
	})
	dir := t.TempDir()
	_, err := e.Save(t.Context(), SaveRequest{Path: filepath.Join(dir, "etcd.db"), Limit: time.Minute})
	files, _ := os.ReadDir(dir)
	if !errors.Is(err, errOversized) || sent != slack>>20 || len(files) != 0 {
		t.Errorf("after %d MB of a database of no size: %v, and there are %v", sent, err, files)
	}
}

func TestSaveNowhere(t *testing.T) {
	e := sendingSnapshot(nil)
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "file"), "")
	for _, nowhere := range []string{filepath.Join(dir, "no", "such"), filepath.Join(dir, "file")} {
		_, err := e.Save(t.Context(), SaveRequest{Path: filepath.Join(nowhere, "etcd.db"), Overwrite: true, Limit: time.Minute})
		var missing *NoDirectory
		if !errors.As(err, &missing) || missing.Path != nowhere || err.Error() != "there is no directory "+nowhere {
			t.Errorf("got %v", err)
		}
	}
	for _, r := range []SaveRequest{{Path: dir}, {Path: dir, Overwrite: true}, {Path: dir + "/", Overwrite: true}, {Path: dir + "/.."}} {
		if err := Free(t.Context(), r); !errors.As(err, new(*IsDirectory)) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if err := Free(t.Context(), SaveRequest{Path: filepath.Join(dir, "new") + "/"}); !errors.As(err, new(*NoDirectory)) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, _, err := Fingerprint(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the hash of a directory: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Fingerprint(ended, filepath.Join(dir, "file")); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// A link at the path does not lead to another file: it is kept, or replaced.
func TestSaveFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, path := filepath.Join(dir, "target"), filepath.Join(dir, "etcd.db")
	must.Succeed(t, errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink(target, path)))
	e := sendingSnapshot(snapshotOf("a"))
	r := SaveRequest{Path: path, Limit: time.Minute}
	if _, err := e.Save(t.Context(), r); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it was replaced: %v", err)
	}
	r.Overwrite = true
	if _, err := e.Save(t.Context(), r); err != nil {
		t.Error(err)
	}
	at, err := os.Lstat(path)
	text, readErr := os.ReadFile(target)
	if err != nil || !at.Mode().IsRegular() || readErr != nil || string(text) != "old" {
		t.Errorf("%v, %v; the target holds %q, %v", at, err, text, readErr)
	}
}

// The files of killed processes are removed, but not those that another process
// is writing, or that only have a similar name.
func TestSaveRemovesWhatKilledOnesLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "etcd.db")
	write := func(name string) string {
		name = filepath.Join(dir, name)
		must.Write(t, name, "")
		return name
	}
	dead := write(".etcd.db.123.partial")
	others := []string{write(".etcd.db.mine.partial"), write(".etcd.db2.123.partial"), write("etcd.db.123.partial"), write(".etcd.db.123")}
	writing, err := newPartial(path)
	must.Succeed(t, err)
	defer func() { _ = writing.Close() }()
	_, err = sendingSnapshot(snapshotOf("a")).Save(t.Context(), SaveRequest{Path: path, Limit: time.Minute})
	must.Succeed(t, err)
	for _, name := range append(others, writing.Name(), path) {
		if _, err := os.Lstat(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dead, err)
	}
}

// The memory of the provider does not grow with the database, neither while it saves a
// snapshot nor while a refresh reads the file.
func TestSaveNeedsLittleMemory(t *testing.T) {
	const size, most = 256 << 20, 32 << 20
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, largest := heap(), uint64(0)
	piece, hash := make([]byte, 1<<20), sha256.New()
	e := saving(nil)
	e.Cluster = sender{size: size, send: func(w io.Writer) error {
		for range size / len(piece) {
			_, _ = hash.Write(piece)
			if _, err := w.Write(piece); err != nil {
				return err
			}
			largest = max(largest, heap())
		}
		_, err := w.Write(hash.Sum(nil))
		return err
	}}
	path := filepath.Join(t.TempDir(), "etcd.db")
	_, err := e.Save(t.Context(), SaveRequest{Path: path, Limit: time.Minute})
	must.Succeed(t, err)
	if _, n, err := Fingerprint(t.Context(), path); err != nil || n < size {
		t.Fatal(n, err)
	}
	largest = max(largest, heap())
	if largest > before+most {
		t.Errorf("the heap grew from %d to %d MiB", before>>20, largest>>20)
	}
}
