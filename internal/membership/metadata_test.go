// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package membership

import (
	"errors"
	"testing"
)

func TestMetadataKey(t *testing.T) {
	if got, err := MetadataKey(0xcdf818194e3a8c32, "lock"); got != "/_terraform/etcd/cdf818194e3a8c32/lock" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := MetadataKey(0, "lock"); got != "" || !errors.Is(err, ErrNoClusterID) {
		t.Errorf("without a cluster ID: %q, %v", got, err)
	}
}
