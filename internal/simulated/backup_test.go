// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
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
