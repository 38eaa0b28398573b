// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package snapshot implements the resource etcd_snapshot: a backup of a cluster in a file.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/backend"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/private"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// snapshotResource implements etcd_snapshot.
type snapshotResource struct{ backend.Resource }

// NewResource returns the resource etcd_snapshot.
func NewResource() resource.Resource { return &snapshotResource{backend.Resource{Type: "_snapshot"}} }

// saving completes "Cannot ...".
const saving = "save a snapshot"

const defaultTimeout = 30 * time.Minute

// keptKey is the key of what the resource keeps in its private data.
const keptKey = "kept"

// kept is the file as the resource saved it, beside the state, which describes the
// present file.
type kept struct {
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Removal is true if the plan removes the resource permanently, false if another
	// snapshot follows.
	Removal bool `json:"removal,omitempty"`
	// Object distinguishes the resource from others in one plan. For a replacement,
	// Terraform plans twice, with the same private data.
	Object string `json:"object,omitempty"`
}

// Create implements [resource.Resource].
func (r *snapshotResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	timeout, diags := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.save(ctx, &plan, nil, timeout, resp.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	}
}

// save takes a snapshot as planned. was is what the state says of the file of that name if
// the resource has one, else nil. It returns what the file holds now.
func (r *snapshotResource) save(ctx context.Context, plan *model, was *membership.Backup, timeout time.Duration, to private.Writer, diags *diag.Diagnostics) (now membership.Backup) {
	c := r.Backend.Open(saving, attribute.Texts(plan.Endpoints), diags)
	if c == nil {
		return now
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	from := c.FindMember(ctx, saving, "member", plan.Member.ValueString(), diags)
	if diags.HasError() {
		return now
	}
	saved, err := c.Save(ctx, reconfigure.SaveRequest{
		Path: plan.Path.ValueString(), Overwrite: plan.Overwrite.ValueBool(), Replaces: was, From: from, Limit: timeout,
	})
	if err != nil {
		report.Error(diags, text.Maintenance(saving, err))
		return now
	}
	for _, w := range saved.Warnings {
		report.Warn(diags, text.New("The snapshot may be behind",
			"It is of %s alone, with no quorum behind it. %s", text.Member(saved.Snapshot, saved.Member), text.Verbatim(text.Advice(w, saved.Snapshot))))
	}
	plan.file = fileOf(saved, r.Backend.Run.Clock.Now())
	private.Keep(ctx, to, keptKey, kept{SHA256: saved.SHA256, Size: saved.Size}, diags)
	return saved.Backup
}

// Read implements [resource.Resource]. It reads the whole file, because a file
// damaged on disk keeps its size and its time. It does not contact a cluster.
func (r *snapshotResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	name := state.Path.ValueString()
	sum, size, err := reconfigure.Fingerprint(ctx, name)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		resp.Diagnostics.AddError("Interrupted", ctx.Err().Error())
		return
	case errors.Is(err, fs.ErrNotExist) && state.RequireFile.ValueBool():
		resp.State.RemoveResource(ctx)
		return
	case errors.Is(err, fs.ErrNotExist):
		sum, size = was.SHA256, was.Size
	default:
		report.Warn(&resp.Diagnostics, text.New("Cannot check the snapshot file",
			"%s cannot be read, so this Terraform run assumes that it has not changed: %v.", name, err))
		return
	}
	state.SHA256, state.Size = types.StringValue(sum), types.Int64Value(size)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update implements [resource.Resource].
func (r *snapshotResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	timeout, diags := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	moves := identity(plan.Path.ValueString()) != identity(state.Path.ValueString())
	before, now := state.backup(), membership.Backup{}
	if moves {
		before = nil
	}
	if plan.SHA256.IsUnknown() {
		now = r.save(ctx, &plan, before, timeout, resp.Private, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if moves && state.DeleteFile.ValueBool() {
		remove(ctx, state, was, &now, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete implements [resource.Resource]. It does not contact a cluster. In a
// replacement the file stays until the next snapshot takes its place.
func (r *snapshotResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if state.DeleteFile.ValueBool() && was.Removal {
		remove(ctx, state, was, nil, &resp.Diagnostics)
	}
}

// remove deletes the file of a state if it has not changed since the resource saved it, and,
// if the path has changed, if the snapshot that is now at the new path could have taken its
// place. Otherwise it warns. A missing file is no problem.
func remove(ctx context.Context, state model, was kept, now *membership.Backup, diags *diag.Diagnostics) {
	name := state.Path.ValueString()
	sum, _, err := reconfigure.Fingerprint(ctx, name)
	if err == nil && sum != was.SHA256 {
		err = errors.New("it has changed since the snapshot was taken, so it may be another file")
	}
	if now != nil {
		err = cmp.Or(reconfigure.CheckBackup(name, *state.backup(), *now), err)
	}
	if err == nil {
		err = reconfigure.RemoveSnapshot(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		report.Warn(diags, text.New("The snapshot file was kept", "%s was not deleted: %v. Delete it by hand if it is not needed.", name, err))
	}
}

// ImportState implements [resource.ResourceWithImportState].
func (r *snapshotResource) ImportState(_ context.Context, _ resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	report.Error(&resp.Diagnostics, text.New("Cannot import a snapshot",
		"A file does not say which cluster and which member it came from. Create the resource with another path, which takes a new snapshot. "+
			"To restore from the file, give its path to the restore: it needs no resource."))
}

// identity returns a unique name of the file at a path, whether it exists or not.
func identity(name string) string {
	dir, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return filepath.Clean(name)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return filepath.Join(dir, filepath.Base(name))
}

// ModifyPlan implements [resource.ResourceWithModifyPlan]. It plans a new snapshot
// if the triggers or the path change, or if the file has changed since it was
// saved. Otherwise it keeps the snapshot, whatever other argument changes.
func (r *snapshotResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	was := private.Kept[kept](ctx, req.Private, keptKey, &resp.Diagnostics)
	was.Removal = req.Plan.Raw.IsNull()
	if was.Object == "" && r.Backend != nil {
		was.Object = r.Backend.Run.UUID()
	}
	private.Keep(ctx, resp.Private, keptKey, was, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		return
	}
	plan := attribute.Read[model](ctx, req.Plan, &resp.Diagnostics)
	var state model
	exists := !req.State.Raw.IsNull()
	if exists {
		state = attribute.Read[model](ctx, req.State, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	file := identity(plan.Path.ValueString())
	moves := !attribute.IsGiven(plan.Path) || !exists || file != identity(state.Path.ValueString())
	changed := exists && state.SHA256.ValueString() != was.SHA256
	if plan.file = state.file; moves || changed || !plan.Triggers.Equal(state.Triggers) {
		plan.file = unknownFile()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	if !attribute.IsGiven(plan.Path) || r.Backend == nil {
		return
	}
	if r.Backend.Table.EnterFile(file, was.Object) {
		report.ErrorOn(&resp.Diagnostics, "path", text.New("Two snapshots at one path",
			"Another etcd_snapshot of this configuration makes the file %s too, and each would replace the other's. Give each of them a path of its own.", plan.Path.ValueString()))
		return
	}
	// A problem with the resource's own file is found when the file is saved.
	request := reconfigure.SaveRequest{Path: plan.Path.ValueString(), Overwrite: plan.Overwrite.ValueBool() || plan.Overwrite.IsUnknown()}
	if moves {
		if err := reconfigure.Free(ctx, request); err != nil {
			report.ErrorOn(&resp.Diagnostics, "path", text.Maintenance(saving, err))
		}
	} else if changed {
		report.Warn(&resp.Diagnostics, text.New("The snapshot file has changed",
			"%s has the SHA-256 %s. It was made with the SHA-256 %s. The apply takes a new snapshot and replaces the file. To keep the file, move it to another place first.",
			plan.Path.ValueString(), state.SHA256.ValueString(), was.SHA256))
	}
}

// Schema implements [resource.Resource].
func (r *snapshotResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: "Saves a snapshot of the cluster's data to a file on the machine that runs Terraform.", Attributes: map[string]schema.Attribute{
		"path": attribute.RequiredText("Path of the file. Its directory must exist. A relative path begins at the working directory of Terraform: prefer `\"${path.root}/etcd.db\"`. A change takes a new "+
			"snapshot at the new path, and keeps the file at the old path unless `delete_file` is `true`.", stringvalidator.LengthAtLeast(1)),
		"triggers": schema.MapAttribute{
			ElementType: types.StringType, Optional: true,
			MarkdownDescription: "Any texts. A change takes a new snapshot, which replaces the file. Default: none, one snapshot that is kept while the file is unchanged.",
		},
		"member": attribute.OptionalText("Name or ID of the member whose data is saved, also without a quorum. A warning says then that it may miss acknowledged writes. A change takes effect with the next "+
			"snapshot. Default: any member that has caught up. A quorum is required then.", attribute.Name),
		"endpoints":    attribute.OptionalEndpoints("Client URLs of the cluster. A change takes effect with the next snapshot. Default: the provider's `endpoints`."),
		"overwrite":    attribute.DefaultFlag("Whether a file that the resource did not create can be replaced, when the resource is created or `path` changes. A symbolic link is replaced, not followed."),
		"require_file": attribute.DefaultFlag("Whether a missing file is drift, so that the next apply takes a new snapshot. Keep it `false` in a pipeline that runs on a new disk each time."),
		"delete_file":  attribute.DefaultFlag("Whether a destroy deletes the file, and a change of `path` deletes the previous one. A file that has changed since it was created is kept, with a warning."),
		"timeouts": attribute.Timeouts(map[string]string{
			"create": "Timeout for the first snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
			"update": "Timeout for a further snapshot. Default: `" + attribute.DurationText(defaultTimeout) + "`.",
		}),
		"sha256":      attribute.ComputedText("SHA-256 of the whole file in hexadecimal, as `sha256sum` prints it. The hash that the server appends is that of the data alone. It is checked when the snapshot is taken."),
		"size":        attribute.ComputedNumber("Size of the file in bytes. It includes the 32 bytes of the hash that the server appends."),
		"revision":    attribute.ComputedNumber("Revision of the member right after the transfer. If something was written during the transfer, the snapshot may end at an earlier revision. `etcdutl snapshot status` prints it."),
		"version":     attribute.ComputedText("Version of etcd that the member ran, such as `3.6.16`. Restore with `etcdutl` of the same minor version or a later one."),
		"cluster_id":  attribute.ComputedText("ID of the cluster in hexadecimal."),
		"member_id":   attribute.ComputedText("ID of the member whose data it is, in hexadecimal."),
		"taken_at":    attribute.ComputedText("Time at which the snapshot was taken, by the clock of the machine that runs Terraform. Each snapshot has another one."),
		"member_name": attribute.ComputedText("Name of the member whose data it is."),
	}}
}

// model is the resource in Terraform's form.
type model struct {
	Path        types.String   `tfsdk:"path"`
	Triggers    types.Map      `tfsdk:"triggers"`
	Member      types.String   `tfsdk:"member"`
	Endpoints   types.List     `tfsdk:"endpoints"`
	Overwrite   types.Bool     `tfsdk:"overwrite"`
	RequireFile types.Bool     `tfsdk:"require_file"`
	DeleteFile  types.Bool     `tfsdk:"delete_file"`
	Timeouts    timeouts.Value `tfsdk:"timeouts"`
	file
}

// file describes the snapshot in the file.
type file struct {
	SHA256     types.String `tfsdk:"sha256"`
	Size       types.Int64  `tfsdk:"size"`
	Revision   types.Int64  `tfsdk:"revision"`
	Version    types.String `tfsdk:"version"`
	ClusterID  types.String `tfsdk:"cluster_id"`
	MemberID   types.String `tfsdk:"member_id"`
	MemberName types.String `tfsdk:"member_name"`
	TakenAt    types.String `tfsdk:"taken_at"`
}

// unknownFile is the file of a snapshot that is planned.
func unknownFile() file {
	text, number := types.StringUnknown(), types.Int64Unknown()
	return file{text, number, number, text, text, text, text, text}
}

// backup returns what the resource's file holds.
func (m *model) backup() *membership.Backup {
	cluster, _ := membership.ParseClusterID(m.ClusterID.ValueString())
	return &membership.Backup{Cluster: cluster, Most: m.Revision.ValueInt64()}
}

// fileOf describes a snapshot that was saved.
func fileOf(s reconfigure.Saved, at time.Time) file {
	of, _ := s.Snapshot.Member(s.Member)
	return file{
		SHA256: types.StringValue(s.SHA256), Size: types.Int64Value(s.Size), Revision: types.Int64Value(s.Backup.Most),
		Version: types.StringValue(s.Snapshot.Answer(s.Member).Version), ClusterID: types.StringValue(s.Snapshot.ClusterID.String()),
		MemberID: types.StringValue(s.Member.String()), MemberName: types.StringValue(of.Name),
		TakenAt: types.StringValue(at.UTC().Format(time.RFC3339Nano)),
	}
}
