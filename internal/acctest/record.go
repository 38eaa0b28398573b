// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recordVariable is connection.RecordVariable, which exists only with the build
// tag that [ProviderBinary] uses.
const (
	RecordTag      = "etcdrecord"
	recordVariable = "ETCD_RECORD_CONNECTIONS"
)

// Sent is one line of the provider's record of its connections: what it sent ("none",
// "password", "token" or "certificate"), over which scheme, and to which address.
type Sent struct {
	Scheme  string `json:"scheme"`
	Address string `json:"address"`
	What    string `json:"sent"`
}

// Record makes every later run of the workspace record its connections. It
// returns a function that reads the record so far.
func (w *Workspace) Record() func() []Sent {
	path := filepath.Join(filepath.Dir(w.Dir), "connections.json")
	w.recordAt = path
	return func() (out []Sent) {
		w.TB.Helper()
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			w.TB.Fatalf("acctest: the record: %v", err)
		}
		for line := range strings.Lines(string(text)) {
			var s Sent
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				w.TB.Fatalf("acctest: %q in the record: %v", line, err)
			}
			out = append(out, s)
		}
		return out
	}
}

// CheckSent fails the test if a secret was sent to an untrusted address, or
// without TLS although tls is set, or if the record has no secret of one of
// these kinds.
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

// checkSecrets checks at the end of the test to which addresses credentials
// were sent, if there are any.
func (f *Fleet) checkSecrets() {
	var kinds []string
	if f.Options.TLS != nil {
		kinds = append(kinds, "certificate")
	}
	if f.Options.Password != "" {
		kinds = append(kinds, "password")
	}
	if len(kinds) == 0 {
		return
	}
	record := f.Record()
	f.TB.Cleanup(func() {
		CheckSent(f.TB, record(), f.Trusted, f.Options.TLS != nil, kinds...)
	})
}

// urlsInText matches the addresses in URLs.
var urlsInText = regexp.MustCompile(`(?i)https?://([^"/\s]+)`)

// trust records the addresses in a text of the configuration.
func (w *Workspace) trust(text string) {
	for _, found := range urlsInText.FindAllStringSubmatch(text, -1) {
		w.Trusted[strings.ToLower(found[1])] = true
	}
}
