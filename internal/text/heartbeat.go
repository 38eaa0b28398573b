// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
)

// HeartbeatName returns the error for an invalid name. problem completes "name ...".
var HeartbeatName = of2[string, string]("Invalid name of a heartbeat",
	"name = %q %s. It becomes the last part of a key, such as /running/web1.")

// HeartbeatPrefix returns the error for a prefix. problem completes "prefix ...".
var HeartbeatPrefix = of2[string, string]("Invalid prefix of heartbeats",
	"prefix = %q %s. It is an absolute key without a slash at its end, such as /running.")

// HeartbeatTTL returns the error for a time to live that is too short.
var HeartbeatTTL = of2[string, time.Duration]("Time to live too short",
	"ttl = %q is less than %s, the least that etcd keeps a claim for. Several beats must fit into it.")

// HeartbeatInterval returns the error for an interval that is too long.
var HeartbeatInterval = of2[string, string]("Interval too long",
	"interval = %q is more than half of ttl (%s): one beat that comes late would be one too many. "+
		"Leave interval out to have a third of ttl.")

// HeartbeatHeld returns the error for a name that another owner uses.
func HeartbeatHeld(name string, e claim.Entry) Message {
	if e.Forever {
		return New("Another owner beats as "+name, "%s holds %q, without a time to live: its owner does not let it expire. Nothing was changed. Choose another name; "+
			"or, if that value is stale, delete the key (etcdctl del %s), or set takeover = true.", e.Key, e.Value, e.Key)
	}
	return New("Another owner beats as "+name, "%s holds %q for another %s, unless it is renewed. Nothing was changed. If its owner is gone, as after a run that was killed, "+
		"try again when that time is over; to take the name from an owner that is alive, set takeover = true, which takes effect in a plan too; otherwise choose another name.", e.Key, e.Value, e.Left)
}

// HeartbeatLost returns the error for a claim that was lost while it was needed.
func HeartbeatLost(name, key string, lost *claim.LostError) Message {
	why := "is gone: it expired, because this process or its machine stood still for longer than the time to live, or it was deleted"
	switch {
	case lost.Err != nil:
		why = sprintf("could not be renewed for %s, longer than its time to live (%s)", seconds(lost.Late), lost.Err)
	case lost.Now != nil:
		why = sprintf("holds %q now: another owner has taken the name", lost.Now.Value)
	}
	return New("The heartbeat of "+name+" was lost",
		"%s %s. From then on this run did not hold the name, and another owner may have done the same work. The keys of other owners were not changed.", key, own(why))
}

// HeartbeatLeft returns the warning for a key that could not be deleted at the end.
func HeartbeatLeft(name, key string, err error) Message {
	return New("The heartbeat of "+name+" was left to expire",
		"%s could not be deleted; it goes when its time to live is over, and those who watch it see a missed beat rather than a stop.%s", key, own(answers(err)))
}

// HeartbeatFailed returns the error for any other failure. doing completes "Cannot
// ..."; permission is the required permission on the prefix, "read" or "readwrite".
func HeartbeatFailed(doing, permission, prefix string, err error) Message {
	summary := "Cannot " + doing
	var alarm *claim.AlarmError
	switch {
	case errors.As(err, &alarm):
		return New(summary, "The alarm %s is raised, and the cluster takes no new keys. Nothing was changed. %s", alarm.Kind, own(alarmWayOut(alarm.Kind, "try again")))
	case errors.Is(err, connection.ErrNoV2):
		return New(summary, "Nothing was changed. Set api = \"v3\", or give the endpoints of servers with the v2 API.%s", own(answers(err)))
	case connection.KindOf(err) == connection.PermissionDenied:
		return New(summary, "The user may not do this. Nothing was changed.\n\n%s", own(grantPrefix(permission, prefix+"/")))
	}
	if len(endpointsOf(err)) > 0 {
		return unreachable(summary, err)
	}
	return New(summary, "etcd answered: %s.", sentence(err))
}
