// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package log_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflogtest"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
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
