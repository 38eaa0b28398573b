// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"slices"
	"testing"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// The formats of alarms in 3.4 to 3.6 and in 3.7, and other messages among them.
func TestAlarmsIn(t *testing.T) {
	got := alarmsIn([]string{
		"etcdserver: no leader", "memberID:13803658152347727308 alarm:NOSPACE ", "memberID:1  alarm:CORRUPT", "alarm:NOSPACE", "memberID:99999999999999999999 alarm:NOSPACE ",
	})
	want := []membership.Alarm{{Member: 0xbf9071f4639c75cc, Kind: "NOSPACE"}, {Member: 1, Kind: "CORRUPT"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
