// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
)

// windowOf returns the variable that gives the first initial member of a static
// cluster the time during which it may form the cluster, from now on. Only one
// has it, so that two that do not reach each other never form two clusters.
func (p plan) windowOf(name string, now time.Time) (map[string]string, error) {
	if p.role != roleFounder || p.boot.Protocol.ValueString() != bootstrap.ProtocolStatic || len(p.founders) == 0 || name != slices.Min(p.founders) {
		return nil, nil
	}
	window, err := time.ParseDuration(p.boot.Window.ValueString())
	if err != nil {
		return nil, err
	}
	return map[string]string{joinscript.WindowVariable: fmt.Sprintf("%d-%d", now.Unix(), now.Add(window).Unix())}, nil
}

// windowEnd returns the time at which the window of an environment closes. ok
// is false if it has none.
func windowEnd(environment map[string]string) (end time.Time, ok bool) {
	_, until, _ := strings.Cut(environment[joinscript.WindowVariable], "-")
	seconds, err := strconv.ParseInt(until, 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// noteWindow notes that the cluster of a configuration can no longer form, as
// far as this resource can see. If the plan creates its etcd_member, the
// cluster has not formed.
func (r *Resource) noteWindow(ctx context.Context, state model, diags *diag.Diagnostics) {
	var environment map[string]string
	diags.Append(state.Environment.ElementsAs(ctx, &environment, false)...)
	end, ok := windowEnd(environment)
	if !ok || !state.Founder.ValueBool() || !neverFormed(state.Status.ValueString()) || r.backend.Run.Clock.Now().Before(end) {
		return
	}
	p := state.planOf(ctx, diags)
	if c, err := r.backend.Cluster(nil); err == nil {
		if snap, err := c.View(ctx, 0); err == nil && !p.unformed(snap) {
			return
		}
	}
	r.backend.Plan.WindowClosed.Set(state.ID.ValueString(), end)
}
