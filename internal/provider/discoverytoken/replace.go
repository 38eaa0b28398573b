// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package discoverytoken

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/discovery"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/log"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// A token may be replaced, or the values for its machines changed, only if its
// cluster is known not to have formed. Only the discovery cluster or service
// has that information: the state may be out of date. If it does not respond,
// that proves nothing.

// record describes the token in the state. The first plan of a resource stores
// it in the private data for the second plan of a replacement, which has no
// prior state. A taint does not store a record, nor does the creation at apply:
// both look like a first creation.
type record struct {
	discovery.Location
	Complete bool     `json:"complete"`
	Least    int      `json:"least"`
	Members  []string `json:"members"`
}

// recordOf describes the token of a state. least is the result of [kept.least].
func recordOf(ctx context.Context, m *model, least int, diags *diag.Diagnostics) record {
	var members []memberModel
	diags.Append(m.Members.ElementsAs(ctx, &members, true)...)
	r := record{Location: m.location(), Complete: m.Complete.ValueBool(), Least: least}
	for _, member := range members {
		r.Members = append(r.Members, member.Name)
	}
	return r
}

// mayChange asks the discovery cluster whether a plan may change the token in that way:
// only if its cluster is known not to have formed. doing is "replace" or "change".
func (r *tokenResource) mayChange(ctx context.Context, doing string, was record, diags *diag.Diagnostics) bool {
	if was.Complete {
		report.Error(diags, bootstrapped(doing, was.Members))
		return false
	}
	isService := was.Protocol == discovery.ByService
	if r.Backend == nil || r.Backend.Unknown && !isService {
		report.Error(diags, mayHaveFormed(doing, "The configuration of the provider depends on values that are known after apply only, so the discovery cluster cannot be asked."))
		return false
	}
	if !isService && len(r.Backend.Settings.Endpoints) == 0 {
		report.Error(diags, mayHaveFormed(doing, noEndpoints.Detail))
		return false
	}
	call, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	status, err := r.registry(was.Location).Status(call, was.Token)
	log.Debug(ctx, log.Discovery, "checked whether the token may be replaced", "doing", doing, "registered", len(status.Members), "size", status.Size, "error", err)
	return was.unformed(doing, status, err, bootstrapped(doing, names(status.Members)), diags)
}

// mayGo reports whether a token may be removed as part of a replacement, by the
// discovery cluster's response. The plan for a complete token is refused, but a
// tainted token reaches mayGo, because its plan looks like a first creation.
func (r *tokenResource) mayGo(ctx context.Context, k kept, m *model, status discovery.Status, err error, diags *diag.Diagnostics) bool {
	was := recordOf(ctx, m, k.least(m), diags)
	if was.Complete {
		report.Error(diags, bootstrapped("replace", was.Members))
		return false
	}
	return was.unformed("replace", status, err, text.New("The discovery token is complete",
		"Token %.8s was incomplete when this plan was made. Since then it is complete. Registered: %s. Their cluster has formed, so the token is not replaced, and nothing was changed. Plan again:\n\n  terraform plan",
		was.Token, names(status.Members)), diags)
}

// unformed reports whether the discovery cluster's response shows that the
// cluster has not formed. formed is the message if it has.
func (r record) unformed(doing string, status discovery.Status, err error, formed text.Message, diags *diag.Diagnostics) bool {
	switch discovery.Judge(status, err, r.Least) {
	case discovery.Unformed:
		return true
	case discovery.Formed:
		report.Error(diags, formed)
	default:
		report.Error(diags, mayHaveFormed(doing, whyUnknown(status, err, r.Least)))
	}
	return false
}

// whyUnknown returns the reason why the discovery cluster's response is not conclusive.
func whyUnknown(status discovery.Status, err error, least int) string {
	switch {
	case errors.Is(err, discovery.ErrNotFound), errors.Is(err, discovery.ErrNoToken):
		return "The discovery cluster answers and does not have the token, which may have been complete before it was removed there."
	case err == nil, errors.As(err, new(*discovery.BadSizeError)):
		return fmt.Sprintf("The size of the token was changed in the discovery cluster. It was %d before. Registered: %s.", least, strings.Join(names(status.Members), ", "))
	default:
		return "The discovery cluster gave no usable answer: " + text.Answered(err) + "."
	}
}

// bootstrapped is the error for a change of a token whose cluster has formed.
func bootstrapped(doing string, names []string) text.Message {
	return text.New("Cannot "+doing+" the discovery token",
		"The bootstrap is complete. Registered: %s. A token serves one cluster. With another token, initial members would form a second cluster.\n\n"+text.Untaint+"\n\n"+
			"Otherwise plan without -replace for this resource, and with a refresh. A change of its arguments has no effect then:\n\n  terraform plan\n\n"+
			"If the cluster is gone for good"+text.StartOver, cmp.Or(strings.Join(names, ", "), "all"))
}

// mayHaveFormed is the error for a change of a token whose cluster may have formed. why is
// a sentence.
func mayHaveFormed(doing, why string) text.Message {
	return text.New("Cannot "+doing+" the discovery token",
		"It is not known whether the cluster of this token has formed. %s If it has formed, its members would be replaced by a second cluster.\n\n"+text.Untaint+"\n\n"+
			"If only the discovery cluster is unreachable, make it reachable from here and plan again; or undo the change of this resource:\n\n  terraform plan\n\n"+
			"If the cluster never formed, or is gone for good"+text.StartOver, text.Own(why))
}

// keptKey is the key of what the resource keeps in its private data.
const keptKey = "kept"

// kept is what the resource keeps beside its state.
type kept struct {
	// Removal is true if a removal is planned that is not a part of a replacement.
	Removal bool `json:"removal,omitempty"`
	// Unsure is true if it is not known whether the token was written. Unwritten is true
	// if the discovery cluster does not have it.
	Unsure    bool `json:"unsure,omitempty"`
	Unwritten bool `json:"unwritten,omitempty"`
	// Record is the token in the state.
	Record *record `json:"record,omitempty"`
	// Least is the smallest known size that the token has had.
	Least int `json:"least,omitempty"`
}

// least returns the smallest size that a token in the state is known to have had.
func (k kept) least(m *model) int {
	switch {
	case k.Least <= 0:
		return m.size()
	case m.size() == 0:
		return k.Least // the size in the discovery cluster is not a number
	}
	return min(k.Least, m.size())
}
