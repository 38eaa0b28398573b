// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"slices"
	"testing"
)

// Log levels are lowered only if the environment does not ask for logs.
func TestQuiet(t *testing.T) {
	down := []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_PROVIDER_ETCD"}
	for _, tt := range []struct {
		name        string
		environment []string
		want        []string
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
			if got := quiet(tt.environment); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
