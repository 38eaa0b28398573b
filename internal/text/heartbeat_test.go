// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// Invalid input and texts about a lost heartbeat are tested with a real Terraform.
func TestHeartbeatTexts(t *testing.T) {
	const key = "/running/web1"
	refused := &connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.Refused, Err: syscall.ECONNREFUSED}
	silent := &connection.Error{Endpoint: "http://10.0.0.2:2379", Kind: connection.Timeout, Err: context.DeadlineExceeded}
	denied := &connection.Error{Endpoint: "http://10.0.0.1:2379", Kind: connection.PermissionDenied, Err: errors.New("etcdserver: permission denied")}
	both := &connection.Unreachable{Answers: []connection.Answer{{Endpoint: refused.Endpoint, Err: refused}, {Endpoint: silent.Endpoint, Err: silent}}}
	const answers = "\n\nThe endpoints answered:\n  - http://10.0.0.1:2379: connection refused\n  - http://10.0.0.2:2379: no answer in time"
	const none = "No endpoint can be used. Nothing was changed. Check that its machines run and can be reached from here." + answers
	for _, test := range []struct {
		name string
		got  Message
		want Message
	}{
		{"held for ever", HeartbeatHeld("web1", claim.Entry{Key: key, Value: "x", Forever: true}), Message{"Another owner beats as web1",
			`/running/web1 holds "x", without a time to live: its owner does not let it expire. Nothing was changed. Choose another name; ` +
				"or, if that value is stale, delete the key (etcdctl del /running/web1), or set takeover = true."}},
		{"not renewed", HeartbeatLost("web1", key, &claim.LostError{Key: key, Late: 31 * time.Second, Err: errors.New("no endpoint answered")}), Message{"The heartbeat of web1 was lost",
			"/running/web1 could not be renewed for 31s, longer than its time to live (no endpoint answered). From then on this run did not hold the name, " +
				"and another owner may have done the same work. The keys of other owners were not changed."}},
		{"left", HeartbeatLeft("web1", key, both), Message{"The heartbeat of web1 was left to expire",
			"/running/web1 could not be deleted; it goes when its time to live is over, and those who watch it see a missed beat rather than a stop." + answers}},
		{"left, another error", HeartbeatLeft("web1", key, errors.New("etcdserver: something new")), Message{"The heartbeat of web1 was left to expire",
			"/running/web1 could not be deleted; it goes when its time to live is over, and those who watch it see a missed beat rather than a stop.\n\netcdserver: something new."}},
		{"no space", HeartbeatFailed("start the heartbeat of web1", "readwrite", "/running", &claim.AlarmError{Kind: "NOSPACE"}), Message{"Cannot start the heartbeat of web1",
			"The alarm NOSPACE is raised, and the cluster takes no new keys. Nothing was changed. First make space: compact (etcdctl compaction REVISION), then defragment every member (the action etcd_defragment); or start the members with a larger --quota-backend-bytes. " +
				"Then disarm the alarm and try again:\n\n  etcdctl alarm disarm"}},
		{"denied", HeartbeatFailed("start the heartbeat of web1", "readwrite", "/running", denied), Message{"Cannot start the heartbeat of web1",
			"The user may not do this. Nothing was changed.\n\nThe user's role needs readwrite on the prefix /running/. ROLE is that role:\n\n  etcdctl role grant-permission ROLE --prefix=true readwrite /running/"}},
		{"unreachable", HeartbeatFailed("see who beats under /running", "read", "/running", both), Message{"Cannot see who beats under /running", none}},
		{"one endpoint", HeartbeatFailed("see who beats under /running", "read", "/running", refused), Message{"Cannot see who beats under /running",
			"No endpoint can be used. Nothing was changed. Check that its machines run and can be reached from here.\n\nThe endpoints answered:\n  - http://10.0.0.1:2379: connection refused"}},
		{"any other error", HeartbeatFailed("see who beats under /running", "read", "/running", errors.New("etcdserver: something new")), Message{"Cannot see who beats under /running",
			"etcd answered: etcdserver: something new."}},
		{"too early", EndpointsUnknown, Message{"The provider's endpoints are not known yet",
			"The provider of this data source is configured with values that are known after apply only. Add a depends_on with the resource that they come from, so that it is read during apply."}},
	} {
		if test.got != test.want {
			t.Errorf("%s:\ngot  %s\n     %s\nwant %s\n     %s", test.name, test.got.Summary, test.got.Detail, test.want.Summary, test.want.Detail)
		}
	}
}
