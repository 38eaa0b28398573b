// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package log_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
)

func TestDebug(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log.Debug(tflogtest.RootLogger(t.Context(), &out), log.Lock, "waiting for the lock",
		"holder", "ci-7", "waited", 3*time.Second, "members", []string{"http://u:p@a:2380"},
		"endpoint", "https://root:secret@a:2379", "error", errors.New("dial https://root:secret@a:2379"),
		"model", struct{ Password string }{"secret"}, "attempt", 2, "answer", nil, "without a value")
	lines, err := tflogtest.MultilineJSONDecode(&out)
	if err != nil || len(lines) != 1 {
		t.Fatalf("%v, %v", lines, err)
	}
	want := map[string]any{
		"@level": "debug", "@module": "provider.lock", "@message": "waiting for the lock",
		"holder": "ci-7", "waited": "3s", "members": []any{"http://***@a:2380"},
		"endpoint": "https://***@a:2379", "error": "***@a:2379",
		"model": "struct { Password string }", "attempt": 2.0,
	}
	if !reflect.DeepEqual(lines[0], want) {
		t.Errorf("got  %v\nwant %v", lines[0], want)
	}
}

// TestDebugWithoutALogger checks that Debug does nothing without a logger.
func TestDebugWithoutALogger(t *testing.T) {
	t.Parallel()
	log.Debug(t.Context(), log.Lock, "waiting", "holder", "ci-7")
}

// TestEventsAreDocumented checks that the guide for operators names every event, and
// that every event is a constant text, so that no line holds more than its facts.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page := must.Read(t, filepath.Join("..", "..", "templates", "guides", "troubleshooting.md"))
	lines, event := 0, regexp.MustCompile(`\blog\.Debug\([^,]+, log\.\w+, (?:"([^"\\]+)"[,)])?`)
	err := filepath.WalkDir("..", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		source, err := os.ReadFile(file)
		if n := strings.Count(string(source), "log.Debug("); n != len(event.FindAll(source, -1)) {
			t.Errorf("%s: one of %d lines has no subject", file, n)
		}
		for _, found := range event.FindAllStringSubmatch(string(source), -1) {
			if lines++; found[1] == "" || !strings.Contains(page, "`"+found[1]+"`") {
				t.Errorf("%s: not a constant text, or the guide on logs does not have it: %s", file, found[0])
			}
		}
		return err
	})
	if err != nil || lines == 0 {
		t.Fatalf("%d lines, %v", lines, err)
	}
}
