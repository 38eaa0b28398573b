// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package lean

import (
	"maps"
	"testing"
)

// Logs are turned down only where nobody asks for any.
func TestQuiet(t *testing.T) {
	down := map[string]string{"TF_LOG_SDK": "ERROR", "TF_LOG_SDK_PROTO": "ERROR", "TF_LOG_SDK_FRAMEWORK": "ERROR"}
	for _, tt := range []struct {
		name        string
		environment []string
		want        map[string]string
	}{
		{"nothing said", []string{"HOME=/root", "TF_INPUT=0", "TF_LOGO=1", "MY_TF_LOG=TRACE"}, down},
		{"said in so many words", []string{"TF_LOG="}, down},
		{"the CLI's", []string{"TF_LOG=INFO"}, nil},
		{"all providers'", []string{"TF_LOG_PROVIDER=trace"}, nil},
		{"this provider's", []string{"TF_LOG_PROVIDER_ETCD=debug"}, nil},
		{"the library's", []string{"TF_LOG_SDK_PROTO=warn"}, nil},
		{"into a file", []string{"TF_LOG_PATH=/tmp/log"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got map[string]string
			err := quiet(tt.environment, func(name, value string) error {
				if got == nil {
					got = map[string]string{}
				}
				got[name] = value
				return nil
			})
			if err != nil || !maps.Equal(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

// What the environment says about memory is what the Go runtime made of it.
func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		name                string
		environment         map[string]string
		percent, limitBytes int64
	}{
		{"nothing said", nil, garbagePercent, memoryLimit},
		{"GOGC", map[string]string{"GOGC": "off"}, -1, memoryLimit},
		{"GOMEMLIMIT", map[string]string{"GOMEMLIMIT": "1GiB"}, garbagePercent, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			percent, limit := int64(-1), int64(-1)
			memory(func(name string) string { return tt.environment[name] },
				func(n int) int { percent = int64(n); return 100 },
				func(n int64) int64 { limit = n; return 0 })
			if percent != tt.percent || limit != tt.limitBytes {
				t.Errorf("got %d and %d, want %d and %d", percent, limit, tt.percent, tt.limitBytes)
			}
		})
	}
}
