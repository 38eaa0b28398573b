// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package attribute_test

import (
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

func TestText(t *testing.T) {
	for _, want := range []string{"2s", "20s", "1m", "1m30s", "10m", "1h", "1h30m", "10h", "1h0m5s"} {
		d, err := time.ParseDuration(want)
		if got := attribute.DurationText(d); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
