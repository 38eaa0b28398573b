// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recordVariable is connection.RecordVariable, which exists only with the tag
// that [ProviderBinary] builds the provider with.
const (
	recordTag      = "etcdrecord"
	recordVariable = "ETCD_RECORD_CONNECTIONS"
)

// Sent is one line of the provider's record of its connections: what it sent
// ("none", "password", "token" or "certificate"), how and where.
type Sent struct {
	Scheme  string `json:"scheme"`
	Address string `json:"address"`
	What    string `json:"sent"`
}

// Record makes every later run of the workspace record its connections, and
// returns what reads the record so far.
func (w *Workspace) Record() func() []Sent {
	path := filepath.Join(filepath.Dir(w.Dir), "connections.json")
	w.recordAt = path
	return func() (out []Sent) {
		w.tb.Helper()
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			w.tb.Fatalf("acctest: the record: %v", err)
		}
		for line := range strings.Lines(string(text)) {
			var s Sent
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				w.tb.Fatalf("acctest: %q in the record: %v", line, err)
			}
			out = append(out, s)
		}
		return out
	}
}

// CheckSent fails the test if a secret went to an address that is not trusted,
// or in the clear although it must not, and if there was none of a kind that
// there has to be.
func CheckSent(tb testing.TB, record []Sent, trusted map[string]bool, tls bool, kinds ...string) {
	tb.Helper()
	found, seen := map[string]bool{}, map[Sent]bool{}
	for _, s := range record {
		if s.What == "none" || seen[s] {
			continue
		}
		seen[s] = true
		found[s.What] = true
		if !trusted[s.Address] {
			tb.Errorf("a %s was sent to %s, which no argument names", s.What, s.Address)
		}
		if tls && s.Scheme != "https" {
			tb.Errorf("a %s was sent over %s to %s", s.What, s.Scheme, s.Address)
		}
	}
	for _, kind := range kinds {
		if !found[kind] {
			tb.Errorf("the record of %d lines has no %s: it proves nothing", len(record), kind)
		}
	}
}

// checkSecrets checks at the end of the test where the credentials went, if
// there are any.
func (f *Fleet) checkSecrets() {
	var kinds []string
	if f.opts.TLS != nil {
		kinds = append(kinds, "certificate")
	}
	if f.opts.Password != "" {
		kinds = append(kinds, "password")
	}
	if len(kinds) == 0 {
		return
	}
	record := f.Record()
	f.tb.Cleanup(func() {
		sent := record()
		if f.auth && f.Registry != nil {
			// It has the password of the environment too, and no TLS.
			registry := strings.TrimPrefix(f.Registry.Endpoints()[0], "http://")
			sent = slices.DeleteFunc(sent, func(s Sent) bool { return s.Address == registry })
		}
		CheckSent(f.tb, sent, f.trusted, f.opts.TLS != nil, kinds...)
	})
}
