// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// SaveRequest describes a snapshot file.
type SaveRequest struct {
	// Path is the file. Overwrite allows Save to replace an existing file.
	Path      string
	Overwrite bool
	// Replaces is what a state says of the file at Path; nil if no state has it. The record
	// beside the file says the same, and more reliably: see [SaveRequest.replaced].
	Replaces *membership.Backup
	// From is the member whose data is saved, 0 for any suitable member.
	From membership.MemberID
	// Limit limits the transfer.
	Limit time.Duration
}

// Saved is a snapshot in a file.
type Saved struct {
	Member membership.MemberID
	// Size is the size of the file in bytes, SHA256 the hash of the whole file,
	// in hexadecimal.
	Size   int64
	SHA256 string
	// Backup is what the member said of its data before and after the transfer.
	Backup   membership.Backup
	Warnings []membership.Warning
	Snapshot membership.Snapshot
}

// BackupKept means that the new snapshot must not take the place of an earlier one.
// The file at Path was not changed.
type BackupKept struct {
	Path     string
	Was, Now membership.Backup
	Code     membership.Code
}

// Error implements error.
func (k *BackupKept) Error() string {
	return "the new snapshot does not replace " + k.Path + ": it is " + string(k.Code)
}

// CheckBackup returns a [*BackupKept] if the snapshot must not take the place of the
// one at path.
func CheckBackup(path string, was, now membership.Backup) error {
	if d := membership.DecideReplaceBackup(was, now); d.Verdict != membership.Go {
		return &BackupKept{Path: path, Was: was, Now: now, Code: d.Code}
	}
	return nil
}

// BadSnapshot means that the received data is not a complete snapshot. The file
// was not created.
type BadSnapshot struct {
	// Size is the number of bytes received.
	Size int64
	// Got and Want are hashes in hexadecimal, empty if the size alone shows
	// that data is missing.
	Got, Want string
}

// Error implements error.
func (b *BadSnapshot) Error() string {
	if b.Want == "" {
		return fmt.Sprintf("%d bytes were received, which is no whole database with a hash behind it", b.Size)
	}
	return fmt.Sprintf("the database has the hash %s, and %s is what stands behind it", b.Got, b.Want)
}

// errReplaced means that the member that sent a snapshot is not known to be the one
// that was asked before, so nothing is known of the data.
var errReplaced = errors.New("after the transfer, this member of this cluster does not answer at its address")

// Save saves the data of a member to a file that only its owner can read. The
// file appears complete or not at all: Save writes it under another name in the
// same directory, syncs it, reads it again and compares it with the hash at its
// end, as etcdutl does before a restore. An existing file is not changed,
// unless it may be overwritten. Errors: [*Refusal], [fs.ErrExist],
// [*IsDirectory], [*NoDirectory], [*Unfinished], errors of the file system, or
// errors of the endpoints.
func (e *Engine) Save(ctx context.Context, r SaveRequest) (out Saved, err error) {
	if err := Free(ctx, r); err != nil {
		return out, err
	}
	before, err := e.look(ctx, 0)
	if err != nil {
		return out, err
	}
	was := r.replaced(recorded(ctx, r.Path))
	err = e.repeat(ctx, ActionSave, "", func() error {
		s, err := e.look(ctx, before.ClusterID)
		if err != nil {
			return err
		}
		d := membership.DecideSave(s, before, r.From, was)
		if err := permitted(ActionSave, "", s, d); err != nil {
			return err
		}
		out.Member, out.Warnings, out.Snapshot = d.Facts.Subject, d.Warnings, s
		err = e.saveTo(ctx, r, &out)
		log.Debug(ctx, log.Membership, "snapshot", "id", out.Member, "bytes", out.Size, "answer", err)
		if err != nil {
			// Another observation does not fix a failed transfer.
			return stopping(&Unfinished{Action: ActionSave, Member: out.Member, Snapshot: s, Err: err})
		}
		return nil
	})
	if refusal, ok := errors.AsType[*Refusal](err); ok && (refusal.Decision.Code == membership.BackupOlder || refusal.Decision.Code == membership.BackupOfAnother) {
		s := refusal.Snapshot
		now := membership.Backup{Cluster: s.ClusterID, Least: s.Answer(refusal.Decision.Facts.Subject).Revision}
		err = &BackupKept{Path: r.Path, Was: *was, Now: now, Code: refusal.Decision.Code}
	}
	return out, err
}

func (e *Engine) saveTo(ctx context.Context, r SaveRequest, out *Saved) (err error) {
	file, err := newPartial(r.Path)
	if err != nil {
		return err
	}
	defer func() {
		_ = file.Close()
		_ = os.Remove(file.Name()) // already gone on success
	}()
	if err := e.receive(ctx, r, file, out); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if out.SHA256, err = verify(ctx, file, out.Size); err != nil {
		return err
	}
	known := recorded(ctx, r.Path)
	if was := r.replaced(known); was != nil {
		if err := CheckBackup(r.Path, *was, out.Backup); err != nil {
			return err
		}
		r.Overwrite = true
	}
	undo, err := writeRecord(r.Path, append([]fileRecord{{out.SHA256, out.Backup.Cluster.String(), out.Backup.Most}}, known...))
	if err != nil {
		return err
	}
	if err = place(ctx, file, r); err != nil {
		undo()
	}
	return err
}

// receive writes the data that the member sends. The same member of the same cluster
// must answer before and after it: the data is at a revision in between.
func (e *Engine) receive(ctx context.Context, r SaveRequest, file *os.File, out *Saved) error {
	before := out.Snapshot.Answer(out.Member)
	count := &counting{to: file, most: 2*max(before.DBSize, 0) + slack}
	err := e.Cluster.Snapshot(ctx, out.Member, r.Limit, count)
	if out.Size = count.n; err != nil {
		return err
	}
	m, _ := out.Snapshot.Member(out.Member)
	after := e.Cluster.Member(ctx, m, out.Snapshot.ClusterID)
	if !after.IsOf(out.Member, out.Snapshot.ClusterID) {
		return errReplaced
	}
	out.Backup = membership.Backup{Cluster: after.ClusterID, Least: before.Revision, Most: after.Revision}
	return nil
}

// slack is how many bytes a snapshot may exceed twice the reported size of the
// database, which grows while it is sent.
const slack = 64 << 20

// errOversized means that a snapshot is much larger than the database size that
// the member reported. The rest was not received.
var errOversized = errors.New("twice what the member told of its database and more")

// counting counts the bytes written, up to a limit.
type counting struct {
	to      io.Writer
	n, most int64
}

// Write implements io.Writer.
func (c *counting) Write(p []byte) (int, error) {
	if c.n+int64(len(p)) > c.most {
		return 0, fmt.Errorf("the snapshot is longer than %d bytes, %w", c.most, errOversized)
	}
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}
