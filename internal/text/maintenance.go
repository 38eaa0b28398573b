// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package text

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/cluster"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/connection"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Maintenance returns the error of an action. action completes "Cannot ...".
func Maintenance(action string, err error) Message {
	t := Message{Summary: "Cannot " + action}
	var unfinished *reconfigure.Unfinished
	var refusal *reconfigure.Refusal
	var kept *reconfigure.BackupKept
	var lost *reconfigure.LockLost
	held := lockHeld(err)
	switch {
	case errors.As(err, &kept):
		return New(t.Summary, "The file %s stays as it is. It has %s. The new snapshot has %s. A snapshot replaces the file only if it is of the same cluster, and of the same or a later revision.\n\n"+
			"If the endpoints lead to another cluster than the one to save, correct them, then apply again. If the new data is the data to save from now on, as after a restore, "+
			"give the resource another path. The file at the present path is then kept.", kept.Path, Verbatim(backup(kept.Was.Cluster, kept.Was.Most)), Verbatim(backup(kept.Now.Cluster, kept.Now.Least)))
	case errors.As(err, &unfinished) && len(unfinished.Done) == 0 && connection.KindOf(err) == connection.PermissionDenied:
		t.Detail = deniedRoot(unfinished.Err)
	case errors.As(err, &unfinished):
		t.Detail = maintenanceStopped(unfinished)
	case errors.As(err, &lost):
		t.Detail = sprintf("This run lost the lock on membership changes, which it held: %s. It stopped before its next step. Invoke it again.", sentence(lost.Lost))
	case held != "":
		return Message{t.Summary, held}
	case errors.As(err, &refusal):
		t.Detail = finding{Decision: refusal.Decision, s: refusal.Snapshot, held: true, again: ", then try again"}.text(refusedMaintenance, refusals).Detail
		if id, left := refusal.Snapshot.Survivor(); left && refusal.Action == reconfigure.ActionSave && id != refusal.Decision.Facts.Subject {
			t.Detail += sprintf(" To save what %s alone has, set member = %q.", Member(refusal.Snapshot, id), reference(refusal.Snapshot, id))
		}
		if refusal.Timeout {
			t.Detail += " The time allowed for it ran out while waiting."
		}
	case errors.Is(err, fs.ErrExist), errors.As(err, new(*reconfigure.NoDirectory)), errors.As(err, new(*reconfigure.IsDirectory)):
		return snapshotFile(t.Summary, err)
	case errors.Is(err, cluster.ErrNoEndpoints):
		return NoEndpoints
	case errors.As(err, new(*membership.URLError)):
		t.Detail = "In endpoints: " + urlDetail(err)
	case errors.As(err, new(*connection.Unreachable)):
		return unreachable(t.Summary, err)
	case errors.Is(err, context.Canceled):
		t.Detail = "It was interrupted."
	case errors.Is(err, cluster.ErrPermission):
		t.Detail = deniedRoot(err)
	default:
		said := []rune(sentence(err) + ".")
		t.Detail = strings.ToUpper(string(said[:1])) + string(said[1:])
	}
	return t
}

func maintenanceStopped(u *reconfigure.Unfinished) string {
	who := capital(Member(u.Snapshot, u.Member))
	var bad *reconfigure.BadSnapshot
	switch {
	case u.Action != reconfigure.ActionSave:
		done, rest := "No member was defragmented before it", "it was the last"
		if n := len(u.Done); n > 0 {
			done = shorts(u.Snapshot, u.Done) + plural(n, " was", " were") + " before it"
		}
		if n := len(u.Remaining); n > 0 {
			rest = shorts(u.Snapshot, u.Remaining) + plural(n, " was", " were") + " not touched"
		}
		return sprintf("%s failed: %s. %s, %s. It may be at it still: look at its log, and see that it serves again, before you try once more.", who, answer(u.Err), done, rest)
	case errors.As(u.Err, &bad):
		return sprintf("What %s sent is no whole snapshot: %s. No file was made. Try again, or from another member.", Member(u.Snapshot, u.Member), sentence(bad))
	case errors.Is(u.Err, fs.ErrExist):
		return snapshotFile("", u.Err).Detail
	}
	return sprintf("The data of %s could not be saved: %s. No file was made.", Member(u.Snapshot, u.Member), answer(u.Err))
}

// refusedMaintenance are the wordings of refused actions, where they differ from
// [refusals].
var refusedMaintenance = wordings{
	membership.NotMember: {{cause: "The cluster has no member {id}."}},
	membership.LearnerUnserved: {{cause: "{Subject} is a learner, and etcd lets none be defragmented while it runs.",
		next: "Leave it out of members; or stop it, and defragment its data directory (etcdutl defrag)."}},
	membership.NotAlive: {{cause: "{answer}", next: "Bring it back, or choose another member."}},
	membership.Lagging:  {{cause: "{Subject} is {lag} entries behind the leader; {most} are allowed.", next: "Try again when it has caught up."}},
	membership.OthersNotActive: {{cause: "A member does not answer while it is defragmented, so every other one must be healthy. {answers}",
		next: "Bring back what is down, or remove it from the cluster first."}},
	membership.Interrupts: {{cause: "While {subject} is defragmented it does not answer: {alive} of {voters} voters would be left; quorum is {quorum}, so the cluster would stop for that time.",
		next: "Add members first; or, if that is acceptable now, set allow_interruption = true."}},
}

// snapshotFile returns the error for a file that already exists or has no
// directory. err names the path.
func snapshotFile(summary string, err error) Message {
	if dir, ok := errors.AsType[*reconfigure.NoDirectory](err); ok {
		return New(summary, "There is no directory %s on the machine that runs Terraform. Make it first, or choose another path.", dir.Path)
	}
	if d, ok := errors.AsType[*reconfigure.IsDirectory](err); ok {
		return New(summary, "%s is a directory. Choose the path of a file in it.", d.Path)
	}
	name := "The file"
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		name = path.Path
	}
	return Message{summary, name + " is there already, and was left alone. Choose another path, such as one with the time in it; or set overwrite = true. If a restore needs the file, move it to another place first: overwrite replaces it."}
}

// UnknownProvider returns the error for an action, an import or a list if the
// provider's configuration is not known yet.
func UnknownProvider(doing string) Message {
	return New("Cannot "+doing,
		"The provider's configuration holds values that are not known yet, so there is no cluster to ask. Apply what they come from first.")
}

// Progress describes a step of an action.
func Progress(p reconfigure.Step) string {
	who := Member(p.Snapshot, p.Member)
	switch {
	case p.LeftOut:
		return "Leaving out " + who + ": it is a learner, and etcd lets none be defragmented while it runs."
	case !p.Done:
		return sprintf("Defragmenting %s, %d left after it.", who, p.Remaining)
	case p.Bytes == 0:
		return sprintf("Defragmented %s in %s.", who, p.Took.Round(time.Millisecond))
	}
	return sprintf("Defragmented %s in %s: its database went from %s to %s.", who, p.Took.Round(time.Millisecond), bytes(p.Total), bytes(p.Bytes))
}

func backup(cluster membership.ClusterID, revision int64) string {
	return sprintf("revision %d of cluster %s", revision, cluster)
}

// bytes formats a size for display.
func bytes(n int64) string { return sprintf("%.2f MiB", float64(n)/(1<<20)) }
