// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// SaveRequest asks for a snapshot in a file.
type SaveRequest struct {
	// Path is the file. Overwrite allows to replace one that is there.
	Path      string
	Overwrite bool
	// From is the member whose data it is to be, 0 for any that is fit.
	From membership.MemberID
	// Limit is how long it may take.
	Limit time.Duration
}

// Saved is a snapshot in a file.
type Saved struct {
	Member membership.MemberID
	// Size is that of the file in bytes, SHA256 that of the database in it, in
	// hexadecimal, as it stands in the last 32 bytes.
	Size     int64
	SHA256   string
	Revision int64
	Version  string
	Warnings []membership.Warning
	Snapshot membership.Snapshot
}

// BadSnapshot means that what was received is no whole snapshot. The file was
// not made.
type BadSnapshot struct {
	// Size is that of what was received, in bytes.
	Size int64
	// Got and Want are hashes in hexadecimal, empty where the size alone shows
	// that something is missing.
	Got, Want string
}

// Error implements error.
func (b *BadSnapshot) Error() string {
	if b.Want == "" {
		return fmt.Sprintf("%d bytes were received, which is no whole database with a hash behind it", b.Size)
	}
	return fmt.Sprintf("the database has the hash %s, and %s is what stands behind it", b.Got, b.Want)
}

// block is what the size of a database is a multiple of.
const block = 512

// reportEvery is the time between two words about a transfer.
const reportEvery = 2 * time.Second

// Save saves the data of a member to a file that only its owner can read. The
// file appears whole or not at all: it is written under another name beside it,
// brought to the disk, read again and compared with the hash at its end, as
// etcdutl does before it restores one. One that is there already is left alone,
// unless it may be overwritten. Errors: [*Refusal], [fs.ErrExist],
// [*BadSnapshot], those of the file system, or what the endpoints answered.
func (e *Engine) Save(ctx context.Context, r SaveRequest, report func(Step)) (Saved, error) {
	var out Saved
	if err := Free(r); err != nil {
		return out, err
	}
	snap, err := e.observe(ctx, 0)
	if err != nil {
		return out, err
	}
	err = e.untilStable(ctx, ActionSave, "", snap.ClusterID, func(s membership.Snapshot) membership.Decision {
		return membership.DecideSnapshot(s, r.From)
	}, func(s membership.Snapshot, d membership.Decision) error {
		out.Member, out.Warnings, out.Snapshot = d.Facts.Subject, d.Warnings, s
		if err := e.saveTo(ctx, r, &out, report); err != nil {
			// What went wrong on the way is not cured by another look.
			return stopping(&Unfinished{Action: ActionSave, Member: out.Member, Snapshot: s, Err: err})
		}
		return nil
	})
	return out, err
}

// NoDirectory means that there is no directory Path for a file.
type NoDirectory struct{ Path string }

// Error implements error.
func (n *NoDirectory) Error() string { return "there is no directory " + n.Path }

// Free reports why the file cannot be made, as far as can be told without
// making it: [*NoDirectory], or an [fs.PathError] with [fs.ErrExist].
func Free(r SaveRequest) error {
	dir := filepath.Dir(r.Path)
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return &NoDirectory{Path: dir}
	}
	if r.Overwrite {
		return nil
	}
	if _, err := os.Lstat(r.Path); err == nil {
		return &fs.PathError{Op: "create", Path: r.Path, Err: fs.ErrExist}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (e *Engine) saveTo(ctx context.Context, r SaveRequest, out *Saved, report func(Step)) (err error) {
	dir, base := filepath.Split(r.Path)
	if dir == "" {
		dir = "."
	}
	file, err := os.CreateTemp(dir, "."+base+".*.partial") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // gone already where all went well
	}()
	total := out.Snapshot.Answer(out.Member).DBSize
	told := e.Clock.Now()
	tell := func(kind StepKind, bytes int64) {
		report(Step{Kind: kind, Member: out.Member, Bytes: bytes, Total: total, Snapshot: out.Snapshot})
		told = e.Clock.Now()
	}
	tell(StepSave, 0)
	count := &counting{to: file, most: 2*max(total, 0) + slack, each: func(n int64) {
		if e.Clock.Now().Sub(told) >= reportEvery {
			tell(StepSave, n)
		}
	}}
	header, err := e.Cluster.Snapshot(ctx, out.Member, r.Limit, count)
	if err != nil {
		return err
	}
	out.Revision, out.Version, out.Size = header.Revision, header.Version, count.n
	if err := file.Sync(); err != nil {
		return err
	}
	tell(StepVerify, count.n)
	if out.SHA256, err = verify(file, count.n); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := place(file.Name(), r); err != nil {
		return err
	}
	return syncDir(dir)
}

// verify reads a snapshot and compares the hash of the database with the one
// that stands behind it.
func verify(file io.ReadSeeker, size int64) (string, error) {
	if size <= sha256.Size || size%block != sha256.Size {
		return "", &BadSnapshot{Size: size}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, file, size-sha256.Size); err != nil {
		return "", err
	}
	want, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	if got := hash.Sum(nil); !bytes.Equal(got, want) {
		return "", &BadSnapshot{Size: size, Got: fmt.Sprintf("%x", got), Want: fmt.Sprintf("%x", want)}
	}
	return fmt.Sprintf("%x", want), nil
}

// place gives the file its name. A link, unlike a renaming, fails where a file
// of that name has appeared meanwhile.
func place(from string, r SaveRequest) error {
	if r.Overwrite {
		return os.Rename(from, r.Path)
	}
	err := os.Link(from, r.Path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links.
	if err := Free(r); err != nil {
		return err
	}
	return os.Rename(from, r.Path)
}

// syncDir brings the name of a file to the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	// Some file systems cannot, and then there is nothing more to be done.
	_ = d.Sync()
	return nil
}

// slack is by how much a snapshot may exceed twice the size that the member told
// of its database, which grows while it is sent.
const slack = 64 << 20

// oversized means that a snapshot is much larger than the database is of which the
// member spoke. The rest was not received.
type oversized struct{ most int64 }

// Error implements error.
func (o *oversized) Error() string {
	return fmt.Sprintf("the snapshot is longer than %d bytes, twice what the member told of its database and more", o.most)
}

// counting counts what is written, up to a limit.
type counting struct {
	to      io.Writer
	n, most int64
	each    func(n int64)
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	if c.n+int64(len(p)) > c.most {
		return 0, &oversized{c.most}
	}
	n, err := c.to.Write(p)
	c.n += int64(n)
	c.each(c.n)
	return n, err
}
