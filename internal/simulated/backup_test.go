// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdsim"
)

// backups is an etcd_snapshot of a cluster whose data has been saved once.
type backups struct {
	*world
	ws   *driver.Workspace
	path string
	// other is a process of another cluster, which is empty.
	other *etcdsim.Process
	cbd   bool // create_before_destroy
}

// save applies the resource with these arguments besides its path.
func (b *backups) save(arguments driver.Values, opts ...driver.Option) error {
	values := driver.Values{"path": b.path}
	for name, v := range arguments {
		values[name] = v
	}
	b.ws.Resources = []driver.Resource{{Type: "etcd_snapshot", Name: "this", Values: values, CreateBeforeDestroy: b.cbd}}
	_, r := b.ws.Up(b.Context(), b.start("save"), opts...)
	return r.Err()
}

func (b *backups) put(n int) {
	client := b.network.Run("test").Client(etcdsim.ClientURL("a"), etcdsim.ClientURL("a"))
	for range n {
		if _, err := client.Put(b.Context(), "key", ""); err != nil {
			b.Fatal(err)
		}
	}
}

// A good backup is never replaced by a worse one, whatever the state has, and a good one
// replaces it.
func TestBackupStays(t *testing.T) {
	t.Parallel()
	again := driver.Values{"triggers": map[string]any{"day": "tuesday"}}
	replace := driver.Replace("etcd_snapshot.this")
	swap := func(b *backups) { // the address answers for another cluster, which is newer
		for _, name := range []string{"a", "b", "c"} {
			b.network.Answer(etcdsim.ClientURL(name), b.other)
		}
		b.put(20)
	}
	forget := func(b *backups) { b.ws = driver.New(b, b.provider("a b c")) }
	for name, c := range map[string]struct {
		before []func(b *backups)
		args   driver.Values
		opts   []driver.Option
		lag    bool   // c is behind
		fails  string // "" if the file is replaced
	}{
		"triggers":                    {args: again},
		"replaced":                    {opts: []driver.Option{replace}},
		"no state":                    {before: []func(*backups){forget}},
		"another cluster":             {before: []func(*backups){swap}, args: again, fails: "stays as it is"},
		"another cluster, replaced":   {before: []func(*backups){swap}, opts: []driver.Option{replace}, fails: "stays as it is"},
		"another cluster, no state":   {before: []func(*backups){swap, forget}, fails: "stays as it is"},
		"another cluster, overwrite":  {before: []func(*backups){swap, forget}, args: driver.Values{"overwrite": true}, fails: "stays as it is"},
		"another's file, no state":    {before: []func(*backups){forget, func(b *backups) { b.must(os.WriteFile(b.path, []byte("x"), 0o600)) }}, fails: "is there already"},
		"the file is gone":            {before: []func(*backups){swap, func(b *backups) { b.must(os.Remove(b.path)) }}, args: again},
		"a member that is behind":     {lag: true, args: driver.Values{"member": "c", "triggers": again["triggers"]}, fails: "stays as it is"},
		"one that is behind of three": {lag: true, args: again},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			simulate(t, 1, "a b c", func(w *world) {
				b := &backups{world: w, ws: driver.New(w, w.provider("a b c")), path: filepath.Join(dir, "etcd.db"), other: w.network.Form(release, "x").Processes()[0]}
				w.rest(10 * time.Second)
				b.put(3)
				if c.lag {
					b.members["c"].Stall()
					b.put(3)
				}
				b.must(b.save(driver.Values{}))
				b.put(1)
				for _, f := range c.before {
					f(b)
				}
				before, _ := os.ReadFile(b.path) // it may be gone
				err := b.save(c.args, c.opts...)
				after, readErr := os.ReadFile(b.path)
				switch {
				case c.fails == "" && (err != nil || readErr != nil || len(after) == 0):
					t.Errorf("%v, %v", err, readErr)
				case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) || string(after) != string(before)):
					t.Errorf("%v; the file has %d bytes, had %d", err, len(after), len(before))
				}
			})
		})
	}
}

// A missing file is drift only with require_file. With create_before_destroy, the destroy of
// the resource from before does not delete the file of its successor.
func TestBackupFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	simulate(t, 1, "a b c", func(w *world) {
		b := &backups{world: w, ws: driver.New(w, w.provider("a b c")), path: filepath.Join(dir, "etcd.db")}
		there := func() bool { _, err := os.Stat(b.path); return err == nil }
		b.must(b.save(driver.Values{}), os.Remove(b.path), b.save(driver.Values{}))
		w.expect("without require_file", there(), false)
		required := driver.Values{"require_file": true}
		b.must(b.save(required), b.save(required)) // the refresh sees it in the state
		w.expect("with require_file", there(), true)

		b.cbd = true
		gone := driver.Values{"delete_file": true}
		b.must(b.save(gone))
		b.put(1)
		b.must(b.save(gone, driver.Replace("etcd_snapshot.this")))
		w.expect("the successor's file", there(), true)
		b.must(b.save(gone, driver.Destroy))
		w.expect("destroyed", there(), false)
		left, err := os.ReadDir(dir)
		w.expect("left", len(left), 0)
		b.must(err)
	})
}

// saved fails the test unless the state has the snapshot of a member, and the file is it.
func (b *backups) saved(member string) {
	b.Helper()
	text, err := os.ReadFile(b.path)
	b.must(err)
	v := b.ws.State("etcd_snapshot.this").Value
	b.expect("the hash of the file", driver.Attribute(v, "sha256"), fmt.Sprintf("%x", sha256.Sum256(text)))
	if got := driver.Attribute(v, "member_name"); !strings.Contains(member, got) || got == "" {
		b.Errorf("it is of %q, want one of %s", got, member)
	}
}

// A learner is preferred, then a follower. If the quorum is lost, the member with the most
// data is named, only its data or that of the learner is saved, and nothing else changes.
func TestBackupOfASurvivor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	simulate(t, 1, "a b c", func(w *world) {
		b := &backups{world: w, ws: driver.New(w, w.provider("a b c")), path: filepath.Join(dir, "etcd.db")}
		b.put(3)
		b.must(b.save(driver.Values{}))
		b.saved(strings.ReplaceAll("abc", w.cluster.Leader().Name, ""))
		b.startLearner("l")
		b.put(3)
		b.must(b.save(driver.Values{"triggers": map[string]any{"day": "tuesday"}}))
		b.saved("l")

		b.members["l"].Stall()
		b.put(1)
		b.members["b"].PowerOff()
		b.members["c"].PowerOff()
		b.rest(time.Minute)
		b.path = filepath.Join(dir, "etcd2.db")
		if err := b.save(driver.Values{}); err == nil || !strings.Contains(err.Error(), "has lost its quorum") || !strings.Contains(err.Error(), `set member = "a"`) {
			t.Errorf("without a quorum: %v", err)
		}
		for _, of := range []string{"a", "l"} {
			b.path = filepath.Join(dir, "of-"+of+".db")
			b.ws.Resources[0].Values["member"], b.ws.Resources[0].Values["path"] = of, b.path
			_, r := b.ws.Up(b.Context(), b.start("save"))
			b.ok(r)
			if !strings.Contains(fmt.Sprint(r.Diagnostics), "The snapshot may be behind") {
				t.Errorf("of %s: %v", of, r.Diagnostics)
			}
			b.saved(of)
		}
		left, err := filepath.Glob(filepath.Join(dir, "*.db"))
		b.must(err)
		b.expect("files", len(left), 3)
	})
}

// What changes a file, or keeps it: another argument, a flipped bit, another path, a
// destroy without a cluster, and what is there already.
func TestBackupOnDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	simulate(t, 1, "a", func(w *world) {
		b := &backups{world: w, ws: driver.New(w, w.provider("a")), path: filepath.Join(dir, "etcd.db")}
		fails := func(err error, words string) {
			b.Helper()
			if err == nil || !strings.Contains(err.Error(), words) {
				b.Errorf("got %v, want %s", err, words)
			}
		}
		files := func(want string) {
			b.Helper()
			left, err := filepath.Glob(filepath.Join(dir, "*.db"))
			b.must(err)
			b.expect("files", strings.ReplaceAll(fmt.Sprint(left), dir+"/", ""), want)
		}
		b.must(os.WriteFile(b.path, []byte("another's"), 0o600))
		fails(b.save(driver.Values{}), "Cannot save a snapshot")
		b.must(b.save(driver.Values{"overwrite": true}))
		b.saved("a")
		was := driver.Attribute(b.ws.State("etcd_snapshot.this").Value, "sha256")
		b.put(1)
		b.must(b.save(driver.Values{"require_file": true}))
		b.expect("after another argument", driver.Attribute(b.ws.State("etcd_snapshot.this").Value, "sha256"), was)

		text, err := os.ReadFile(b.path)
		b.must(err)
		at, err := os.Stat(b.path)
		b.must(err)
		text[len(text)/2] ^= 1 // neither its size nor its time changes
		b.must(os.WriteFile(b.path, text, 0o600), os.Chtimes(b.path, at.ModTime(), at.ModTime()))
		plan, r := b.ws.Plan(b.Context(), b.start("flipped"))
		b.ok(r)
		b.expect("flipped", plan.Actions(), "[update etcd_snapshot.this]")
		if !strings.Contains(fmt.Sprint(r.Diagnostics), "The snapshot file has changed") {
			t.Errorf("the plan says %v", r.Diagnostics)
		}
		b.ok(b.ws.Refresh(b.Context(), b.start("refresh")))
		b.must(b.save(driver.Values{"require_file": true}))
		b.saved("a")

		gone := driver.Values{"delete_file": true}
		b.path = filepath.Join(dir, "etcd2.db")
		b.must(b.save(gone)) // the file before did not have delete_file
		files("[etcd.db etcd2.db]")
		b.path = filepath.Join(dir, "etcd3.db")
		b.must(b.save(gone))
		files("[etcd.db etcd3.db]")
		b.path = filepath.Join(dir, "no", "etcd.db")
		fails(b.save(gone), "Cannot save a snapshot")
		b.path = filepath.Join(dir, "etcd3.db")
		fails(b.ws.Import(b.Context(), b.start("import"), "etcd_snapshot.other", b.path).Err(), "Cannot import a snapshot")
		b.ws.Resources = append(b.ws.Resources[:0], driver.Resource{Type: "etcd_snapshot", Name: "this", Values: driver.Values{"path": b.path, "delete_file": true}},
			driver.Resource{Type: "etcd_snapshot", Name: "other", Values: driver.Values{"path": filepath.Join(dir, "x", "..", "etcd3.db")}})
		_, r = b.ws.Plan(b.Context(), b.start("two"))
		fails(r.Err(), "Two snapshots at one path")
		b.members["a"].PowerOff()
		b.must(b.save(gone), b.save(gone, driver.Destroy))
		files("[etcd.db]")

		b.must(b.members["a"].Start())
		b.rest(10 * time.Second)
		b.must(b.save(gone), os.WriteFile(b.path, []byte("another's"), 0o600))
		_, r = b.ws.Up(b.Context(), b.start("destroy"), driver.Destroy)
		b.ok(r)
		if !strings.Contains(fmt.Sprint(r.Diagnostics), "The snapshot file was kept") {
			t.Errorf("the destroy says %v", r.Diagnostics)
		}
		files("[etcd.db etcd3.db]")
	})
}
