// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"errors"
	"strings"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/claim"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
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

// malformed describes a key of the provider with unexpected content, and how to
// recover.
func malformed(m *cluster.Malformed) string {
	key := shellWord(m.Key)
	if m.Newer {
		return sprintf("A newer version of the provider wrote the %s %s (format %d). This version cannot read it, so it stopped before its next change. "+
			"Upgrade the provider, then apply again:\n\n  terraform init -upgrade\n\n%s", m.Kind, shown(m.Key), m.Format, Verbatim(deleteKey(key)))
	}
	return sprintf("The %s %s is not what this version of the provider writes (%s). It holds %s. This version cannot read it, so it stopped before its next change. "+
		"Find out who wrote it:\n\n  etcdctl get %s\n\n%s", m.Kind, shown(m.Key), sentence(m.Err), m.Value, key, Verbatim(deleteKey(key)))
}

// deleteKey returns the advice for a key that is no longer needed.
func deleteKey(key string) string {
	return "If nothing needs it, delete it and apply again. Without an ownership record the provider does not remove a member that it added and that is not in the state, " +
		"so compare the member list with the state first:\n\n  etcdctl member list\n  etcdctl del " + key
}

// TurnLeft returns the warning for a removed node if the record of
// its member's replacement cannot be deleted.
func TurnLeft(name string, err error) Message {
	commands := "etcdctl get --prefix --keys-only " + membership.MetadataPrefix + "\n  etcdctl del KEY\n\nKEY is the one that ends in /turns/" + Clean(name) + "."
	if left, ok := errors.AsType[*cluster.NotDeleted](err); ok && left.Key != "" {
		commands = "etcdctl del " + shellWord(left.Key)
	}
	return New("Replacement of member "+name+" is still on record",
		"The node was removed. The record of a replacement of %s that has not ended, if there is one, could not be deleted (%s). "+
			"While it is there, no other living member is replaced. Delete it once the cluster answers:\n\n  %s", name, err, Verbatim(commands))
}

// shown returns a key in displayable form.
func shown(key string) string {
	if connection.Plain(key) != nil {
		return connection.Quote(key)
	}
	return key
}

// shellWord returns a key from the cluster as one word of a shell command line.
// No key can run a command.
func shellWord(key string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.:@%+="
	switch {
	case key != "" && strings.Trim(key, harmless) == "":
		return key
	case connection.Plain(key) == nil:
		return "'" + strings.ReplaceAll(key, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, c := range []byte(key) {
		if strings.IndexByte(harmless, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(sprintf(`\x%02x`, c))
		}
	}
	return b.String() + "'"
}
