// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
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
		return sprintf("The lock on membership changes is not free: %v. It has no time to live, so this provider did not make it."+nothingChanged+
			" If no other run is active, delete it, then apply again:\n\n  etcdctl del %s", busy, shellWord(busy.Entry.Key))
	case errors.As(err, &busy):
		return sprintf("Another run is changing this cluster: %v."+nothingChanged+" Let that run end, then apply again. "+
			"If it was killed, its lock expires by itself %s after its last sign of life.", busy, claim.LockTTL)
	case errors.As(err, &queued):
		return sprintf("The time allowed for it ran out while this run was busy with another change of the cluster (%s); members change one at a time. "+
			"Nothing was changed for this one. Apply again; or allow more time (timeouts).", queued.Behind)
	}
	return ""
}

// lockLost describes the outcome of an operation that lost its lock.
func lockLost(l *reconfigure.LockLost) string {
	now := "The member list could not be read afterwards."
	switch {
	case l.Checked && !l.Listed:
		now = l.Name + " is not in the member list now."
	case l.Checked:
		now = sprintf("According to the member list %s (%s) is a %s now.", l.Name, l.Member.ID, role(l.Member.Learner))
	}
	return sprintf("This run lost the lock on membership changes: %s. It stopped before its next step. %s Apply again: it carries on from there.", sentence(l.Lost), now)
}

// LockWaited returns the warning for a change that waited for another Terraform run.
func LockWaited(name string, w reconfigure.Waited) Message {
	return New("Waited for another run before changing member "+name,
		"For %s the lock on membership changes was held by %s. Members change one at a time.", seconds(w.For), w.Holder)
}

// seconds rounds a duration to seconds for display.
func seconds(d time.Duration) string { return d.Round(time.Second).String() }
