// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"regexp"
	"strconv"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// raised matches an alarm in a status: the text of a message, which 3.7 writes
// with more white space than earlier releases.
var raised = regexp.MustCompile(`^memberID:([0-9]+)\s+alarm:([A-Z]+)\s*$`)

// alarmsIn returns the alarms among the errors of a status answer. It does not
// list the alarms, because that request goes through raft and needs a quorum.
func alarmsIn(errors []string) []membership.Alarm {
	var out []membership.Alarm
	for _, e := range errors {
		if m := raised.FindStringSubmatch(e); m != nil {
			if id, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				out = append(out, membership.Alarm{Member: membership.MemberID(id), Kind: m[2]})
			}
		}
	}
	return out
}
