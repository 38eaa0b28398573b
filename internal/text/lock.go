// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// lockHeld describes an error about the lock on membership changes, or returns
// "" for any other error.
func lockHeld(err error) string {
	var busy *claim.BusyError
	var queued *reconfigure.Queued
	var lost *reconfigure.LockLost
	switch {
	case errors.As(err, &lost):
		return lockLost(lost)
	case errors.As(err, &busy) && busy.Entry.Forever:
		return sprintf("The lock on membership changes is held by %s, and it does not expire: it has no time to live, so this provider did not make it. Nothing was changed. "+
			"If no other run is active, delete it, then apply again:\n\n  etcdctl del %s",
			holderOf(busy.Entry), shellWord(busy.Entry.Key))
	case errors.As(err, &busy):
		return sprintf("Another run is changing this cluster: %s holds the lock on membership changes. This run waited for %s, and nothing was changed. %s",
			holderOf(busy.Entry), seconds(busy.Waited), lockWayOut)
	case errors.As(err, &queued):
		return sprintf("The time allowed for it ran out while this run was busy with another change of the cluster (%s); members change one at a time. "+
			"Nothing was changed for this one. Apply again; or allow more time (timeouts).",
			queued.Behind)
	}
	return ""
}

var lockWayOut = "Let that run end, then apply again. If it was killed, its lock expires by itself " + seconds(claim.LockTTL) + " after its last sign of life."

// holderOf describes the holder of a lock as far as it is known.
func holderOf(e claim.Entry) string {
	h := claim.HolderOf(e)
	if h.Who == "" {
		return sprintf("the process that wrote %s to %s", connection.Quote(e.Value), e.Key)
	}
	return h.String()
}

// lockLost describes the outcome of an operation that lost its lock.
func lockLost(l *reconfigure.LockLost) string {
	why := "it is gone"
	var lost *claim.LostError
	switch {
	case errors.As(l.Lost, &lost) && lost.Err != nil:
		why = sprintf("it could not be renewed for %s (%s)", seconds(lost.Late), sentence(lost.Err))
	case lost != nil && lost.Now != nil:
		why = holderOf(*lost.Now) + " holds it now"
	}
	now, role := "The member list could not be read afterwards.", "voter"
	if l.Member.Learner {
		role = "learner"
	}
	switch {
	case l.Checked && !l.Listed:
		now = l.Name + " is not in the member list now."
	case l.Checked:
		now = sprintf("According to the member list %s (%s) is a %s now.", l.Name, l.Member.ID, role)
	}
	return sprintf("This run lost the lock on membership changes: %s. That happens when its process or its machine stands still. "+
		"It stopped before its next step. %s Apply again: it carries on from there.", why, now)
}

// LockWaited returns the warning for a change that waited for another Terraform run.
func LockWaited(name string, w reconfigure.Waited) Message {
	return New("Waited for another run before changing member "+name,
		"For %s the lock on membership changes was held by %s. Members change one at a time.", seconds(w.For), w.Holder)
}

// seconds rounds a duration to seconds for display.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }
