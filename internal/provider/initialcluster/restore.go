// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package initialcluster

import (
	"context"
	"maps"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/joinscript"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// restore is the argument restore: the snapshot that the initial members
// restore.
type restore struct {
	Snapshot        types.String `tfsdk:"snapshot"`
	SHA256          types.String `tfsdk:"sha256"`
	RevisionBump    types.Int64  `tfsdk:"revision_bump"`
	MarkCompacted   types.Bool   `tfsdk:"mark_compacted"`
	Revision        types.Int64  `tfsdk:"revision"`
	ReplacesCluster types.String `tfsdk:"replaces_cluster"`
	Gone            types.List   `tfsdk:"gone"`
}

// restoreOf reads the argument, nil if there is none or it is not known.
func restoreOf(ctx context.Context, object types.Object, diags *diag.Diagnostics) *restore {
	if !attribute.IsGiven(object) {
		return nil
	}
	var r restore
	diags.Append(object.As(ctx, &r, basetypes.ObjectAsOptions{})...)
	return &r
}

// variables returns the variables of an initial member. unknown are the names
// of the variables whose values are not known.
func (r *restore) variables() (known map[string]string, unknown []string) {
	known = map[string]string{}
	if r == nil {
		return known, nil
	}
	set := func(name string, v attr.Value, value string) {
		switch {
		case v.IsUnknown():
			unknown = append(unknown, name)
		case value != "":
			known[name] = value
		}
	}
	set(joinscript.RestoreVariable, r.Snapshot, r.Snapshot.ValueString())
	set(joinscript.RestoreSHA256Variable, r.SHA256, strings.ToLower(r.SHA256.ValueString()))
	bump := ""
	if r.RevisionBump.ValueInt64() > 0 {
		bump = strconv.FormatInt(r.RevisionBump.ValueInt64(), 10)
	}
	set(joinscript.RestoreBumpVariable, r.RevisionBump, bump)
	return known, unknown
}

// isKnown reports whether the snapshot and its revision are given and known.
func (r *restore) isKnown() bool {
	return r != nil && attribute.IsGiven(r.SHA256) && attribute.IsGiven(r.Revision) && !r.Snapshot.IsUnknown()
}

// validate refuses arguments that etcdutl would refuse on the machine.
func (r *restore) validate(diags *diag.Diagnostics) {
	if r == nil || r.RevisionBump.IsUnknown() || r.MarkCompacted.IsUnknown() {
		return
	}
	if r.RevisionBump.ValueInt64() > 0 != r.MarkCompacted.ValueBool() {
		report.ErrorAt(diags, path.Root("restore").AtName("revision_bump"), text.RestoreBumpInvalid)
	}
}

var isSHA256 = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// snapshotProblem returns the end of a sentence about the location, "" if it is valid.
func snapshotProblem(value string) string {
	if _, unfit := environment.Unfit(value); unfit {
		return "has control characters"
	}
	if strings.HasPrefix(value, "/") {
		return ""
	}
	u, err := url.Parse(value)
	switch {
	case err != nil, !strings.HasPrefix(value, "https://") && !strings.HasPrefix(value, "http://"), u.Hostname() == "":
		return "is neither a URL nor an absolute path"
	case u.User != nil:
		return "has a user name, which a URL shows to everybody"
	case u.Fragment != "" || strings.ContainsAny(value, " \"\\"):
		return "has characters that must be percent-encoded"
	}
	return ""
}

// kept is the end of the description of a value that is fixed when the cluster is created.
const kept = " A later change has no effect."

func restoreAttribute() schema.SingleNestedAttribute {
	attributes := map[string]schema.Attribute{}
	maps.Copy(attributes, snapshotAttributes())
	maps.Copy(attributes, revisionAttributes())
	return schema.SingleNestedAttribute{
		Optional: true,
		Computed: true,
		MarkdownDescription: "A snapshot that the initial members restore when they start for the first time, into empty data directories. Needs `etcdutl` beside etcd on their machines, of etcd 3.5.10 or later, " +
			"and the join script: with `environment` alone the cluster starts empty. Default: none. " +
			"For a cluster that exists it has no effect, unless `replaces_cluster` is the ID of that cluster.",
		Attributes: attributes,
	}
}

// snapshotAttributes are the arguments that identify the snapshot.
func snapshotAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"snapshot": schema.StringAttribute{
			Required:  true,
			Sensitive: true,
			MarkdownDescription: "Where the machines find the snapshot: an `https` or `http` URL, or an absolute path on each machine. A URL is part of the state and of the user data, " +
				"and so is a signature in it. Neither a plan nor the join script prints it." + kept,
			Validators: []validator.String{attribute.Checked("must be a URL or an absolute path", func(_, value string) *text.Message {
				if p := snapshotProblem(value); p != "" {
					return new(text.RestoreSnapshotInvalid(p))
				}
				return nil
			})},
		},
		"sha256": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "SHA-256 of the file, as `sha256sum` prints it. No member starts with another file." + kept,
			Validators: []validator.String{attribute.Checked("must be 64 hexadecimal digits", func(_, value string) *text.Message {
				if !isSHA256.MatchString(value) {
					return new(text.RestoreSHA256Invalid(value))
				}
				return nil
			})},
		},
	}
}

// revisionAttributes are the arguments about the snapshot's revision and the
// replaced cluster.
func revisionAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"revision_bump": schema.Int64Attribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "By how much the revision is increased, so that no revision is given out twice: more than what was written after the snapshot, such as `1000000000`. " +
				"Only with `mark_compacted`. Default: none." + kept,
			Validators: []validator.Int64{int64validator.AtLeast(0)},
		},
		"mark_compacted": schema.BoolAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "Whether all revisions up to the increased one count as compacted, so that clients that watch or cache are told to read everything again. " +
				"`etcdutl` demands it with `revision_bump`, and refuses it without. Default: `false`." + kept,
		},
		"revision": schema.Int64Attribute{
			Optional:            true,
			Computed:            true,
			MarkdownDescription: "Revision of the snapshot, such as the `revision` of an `etcd_snapshot`. Required with `replaces_cluster`: the plan names it. Default: none.",
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"replaces_cluster": schema.StringAttribute{
			Optional: true,
			Computed: true,
			MarkdownDescription: "ID of the cluster whose place the restored one takes, in hexadecimal. It confirms that the cluster is lost: its members are forgotten, and replaced with their machines. " +
				"Must be the `cluster_id` in the state, if there is one. Refused while voters that may have a quorum are neither proven to be gone nor listed in `gone`. It stays in the configuration afterwards, where it has no effect. Default: none.",
			Validators: []validator.String{attribute.ClusterID()},
		},
		"gone": schema.ListAttribute{
			ElementType: types.StringType,
			Optional:    true,
			Computed:    true,
			MarkdownDescription: "Names of the voters of the replaced cluster that are gone for good: their machines are destroyed, or never start again. The error that asks for it contains the line to paste. " +
				"A plan and its apply fail if one of them answers. Only with `replaces_cluster`. Default: none.",
			Validators: []validator.List{listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))},
		},
	}
}
