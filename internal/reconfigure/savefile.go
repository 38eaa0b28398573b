// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

const (
	// hashSize is the size of the hash after a database. The size of a database
	// is a multiple of block.
	hashSize = sha256.Size
	block    = 512
	// ownerOnly is the mode of a snapshot and of its temporary files.
	ownerOnly = 0o600
)

// NoDirectory means that the directory Path does not exist.
type NoDirectory struct{ Path string }

// Error implements error.
func (n *NoDirectory) Error() string { return "there is no directory " + n.Path }

// IsDirectory means that Path is a directory instead of a file.
type IsDirectory struct{ Path string }

// Error implements error.
func (d *IsDirectory) Error() string { return d.Path + " is a directory" }

// Free returns why the file cannot be created, as far as this can be told without
// creating it: [*NoDirectory], [*IsDirectory], or an [fs.PathError] with [fs.ErrExist].
func Free(ctx context.Context, r SaveRequest) error {
	dir := filepath.Dir(r.Path)
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return &NoDirectory{Path: dir}
	}
	switch at, err := os.Lstat(r.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case at.IsDir():
		return &IsDirectory{Path: r.Path}
	case r.Overwrite || r.replaced(recorded(ctx, r.Path)) != nil:
		return nil
	}
	return &fs.PathError{Op: "create", Path: r.Path, Err: fs.ErrExist}
}

// hidden returns the path of a temporary file in the directory of a file.
func hidden(path, suffix string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+suffix)
}

const partial = ".partial"

// newPartial creates a temporary file in the directory of the target, after it
// has removed those of killed processes. The lock on a partial file ends with
// the process that writes it.
func newPartial(path string) (*os.File, error) {
	sweep(path)
	const attempts = 10
	for range attempts {
		file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(hidden(path, ".*"+partial)))
		if err != nil {
			return nil, err
		}
		lockFile(file, true)
		// Another process may have removed it as abandoned before it was locked.
		made, err := file.Stat()
		if there, gone := os.Lstat(file.Name()); err == nil && gone == nil && os.SameFile(made, there) {
			return file, file.Chmod(ownerOnly) // whatever the umask is
		}
		_ = file.Close()
	}
	return nil, errors.New("the file that is being written is removed again and again")
}

// sweep removes the partial files of processes that do not run any more.
func sweep(path string) {
	all, _ := os.ReadDir(filepath.Dir(path)) // if this fails, so does the next step
	ours := regexp.MustCompile("^" + regexp.QuoteMeta(filepath.Base(hidden(path, "."))) + "[0-9]*" + regexp.QuoteMeta(partial) + "$")
	for _, entry := range all {
		if !ours.MatchString(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		name := filepath.Join(filepath.Dir(path), entry.Name())
		file, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lockFile(file, false) {
			_ = os.Remove(name)
		}
		_ = file.Close()
		if !removesOpen {
			_ = os.Remove(name) // fails if another process has it open
		}
	}
}

// Fingerprint returns the SHA-256 of a file in hexadecimal, and its size in
// bytes. The error is [fs.ErrNotExist] if it is not a regular file.
func Fingerprint(ctx context.Context, path string) (sum string, size int64, err error) {
	if at, err := os.Stat(path); err != nil {
		return "", 0, err
	} else if !at.Mode().IsRegular() { // opening a pipe waits for its other end
		return "", 0, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	size, err = io.Copy(hash, &until{ctx, file})
	return fmt.Sprintf("%x", hash.Sum(nil)), size, err
}

// until reads until its context ends.
type until struct {
	ctx  context.Context
	from io.Reader
}

// Read implements io.Reader.
func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

// verify reads a snapshot, compares the hash of the database with the hash
// after it, and returns the hash of the whole file.
func verify(ctx context.Context, file io.ReadSeeker, size int64) (string, error) {
	if size <= hashSize || size%block != hashSize {
		return "", &BadSnapshot{Size: size}
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	hash := sha256.New()
	if _, err := io.CopyN(hash, &until{ctx, file}, size-hashSize); err != nil {
		return "", err
	}
	got := hash.Sum(nil)
	want := make([]byte, hashSize)
	if _, err := io.ReadFull(io.TeeReader(file, hash), want); err != nil {
		return "", err
	}
	if !bytes.Equal(got, want) {
		return "", &BadSnapshot{Size: size, Got: fmt.Sprintf("%x", got), Want: fmt.Sprintf("%x", want)}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// place renames the file to its target. Unlike a rename, a link fails if a file
// of that name was created in the meantime.
func place(ctx context.Context, file *os.File, r SaveRequest) error {
	if err := move(ctx, file, r); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(r.Path)); err == nil {
		_ = dir.Sync() // some file systems do not support this, and nothing more can be done
		_ = dir.Close()
	}
	return nil
}

func move(ctx context.Context, file *os.File, r SaveRequest) error {
	if !removesOpen {
		if err := file.Close(); err != nil {
			return err
		}
	}
	if r.Overwrite {
		return os.Rename(file.Name(), r.Path)
	}
	err := os.Link(file.Name(), r.Path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// The file system does not support links.
	if err := Free(ctx, r); err != nil {
		return err
	}
	return os.Rename(file.Name(), r.Path)
}

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

// recorded returns the record that speaks of the file at path, if one does. It reads the file.
func recorded(ctx context.Context, path string) (all []fileRecord) {
	text, _ := os.ReadFile(recordOf(path)) // "" is no JSON
	err := json.Unmarshal(text, &all)
	if at, gone := os.Lstat(path); err != nil || gone != nil || !at.Mode().IsRegular() {
		return nil
	}
	sum, _, err := Fingerprint(ctx, path)
	all = slices.DeleteFunc(all, func(r fileRecord) bool { return err != nil || r.SHA256 != sum })
	return all[:min(1, len(all))]
}

// replaced returns the backup that a snapshot at the path takes the place of: what its
// record says of the file, if it is known, or else what the state says of a file that is there. It is nil
// if neither knows the file.
func (r SaveRequest) replaced(known []fileRecord) *membership.Backup {
	if len(known) > 0 {
		id, _ := membership.ParseClusterID(known[0].Cluster) // 0 is no cluster's
		return &membership.Backup{Cluster: id, Most: known[0].Revision}
	}
	if _, err := os.Lstat(r.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return r.Replaces
}

// writeRecord records a file that is about to appear at path, beside the one that is there, if
// it is known: whichever of them a kill leaves, its record speaks of it. undo is for a file
// that does not appear.
func writeRecord(path string, all []fileRecord) (undo func(), err error) {
	text, _ := json.Marshal(all) // texts and numbers can be encoded
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
