// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
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

// restore is the argument restore: the snapshot that the initial members restore.
type restore struct {
	Snapshot      types.String `tfsdk:"snapshot"`
	SHA256        types.String `tfsdk:"sha256"`
	RevisionBump  types.Int64  `tfsdk:"revision_bump"`
	MarkCompacted types.Bool   `tfsdk:"mark_compacted"`
	// ReplacesCluster confirms that this cluster is lost. Gone are those of its voters
	// that the operator states are gone for good.
	ReplacesCluster types.String `tfsdk:"replaces_cluster"`
	Gone            types.Set    `tfsdk:"gone"`
}

// restoreOf reads the argument. It returns nil if there is none or it is not known.
func restoreOf(ctx context.Context, object types.Object, diags *diag.Diagnostics) *restore {
	if !attribute.IsGiven(object) {
		return nil
	}
	var r restore
	diags.Append(object.As(ctx, &r, basetypes.ObjectAsOptions{})...)
	return &r
}

// variables are those of an initial member, when all values are known.
func (r *restore) variables() map[string]string {
	out := map[string]string{
		joinscript.RestoreVariable:       r.Snapshot.ValueString(),
		joinscript.RestoreSHA256Variable: strings.ToLower(r.SHA256.ValueString()),
	}
	if bump := r.RevisionBump.ValueInt64(); bump > 0 {
		out[joinscript.RestoreBumpVariable] = strconv.FormatInt(bump, 10)
	}
	return out
}

// validate refuses arguments that etcdutl would refuse on the machine.
func (r *restore) validate(diags *diag.Diagnostics) {
	if r == nil || r.RevisionBump.IsUnknown() || r.MarkCompacted.IsUnknown() {
		return
	}
	if r.RevisionBump.ValueInt64() > 0 != r.MarkCompacted.ValueBool() {
		report.ErrorAt(diags, path.Root("restore").AtName("revision_bump"), text.New("Invalid revision_bump",
			"etcdutl takes revision_bump and mark_compacted together, or neither of them. Set revision_bump to more than 0 and mark_compacted = true, or leave out both."))
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
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return "is neither a URL nor an absolute path"
	case u.User != nil:
		return "has a user name, which a URL shows to everybody"
	case u.Fragment != "" || strings.ContainsAny(value, " \"\\"):
		return "has characters that must be percent-encoded"
	}
	return ""
}

func restoreAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "A snapshot that the initial members restore when they start for the first time, into empty data directories. Not with `discovery`. " +
			"Their machines need `etcdutl` of etcd 3.5.10 or later beside etcd, and the join script: with `environment` alone the cluster starts empty. " +
			"It takes effect when the cluster is created, and in place of a lost cluster with `replaces_cluster`. Another change has no effect. Default: none.",
		Validators: []validator.Object{objectvalidator.ConflictsWith(path.MatchRoot("discovery"))},
		Attributes: map[string]schema.Attribute{
			"snapshot": schema.StringAttribute{
				Required:  true,
				Sensitive: true,
				MarkdownDescription: "Where the machines find the snapshot: an `https` or `http` URL, or an absolute path on each machine. A URL is part of the state and of the user data, " +
					"and so is a signature in it. Neither a plan nor the join script prints it.",
				Validators: []validator.String{attribute.Checked("must be a URL or an absolute path", func(_, value string) *text.Message {
					if p := snapshotProblem(value); p != "" {
						return new(text.New("Invalid snapshot", // without the value, which may be a secret
							"restore.snapshot %s. Give an https:// or http:// URL, or the absolute path of the file on every machine of an initial member.", p))
					}
					return nil
				})},
			},
			"sha256": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "SHA-256 of the file, as `sha256sum` prints it. No member starts with another file.",
				Validators:          []validator.String{stringvalidator.RegexMatches(isSHA256, "must be 64 hexadecimal digits, as sha256sum prints them")},
			},
			"revision_bump": schema.Int64Attribute{
				Optional: true,
				MarkdownDescription: "By how much the revision is increased, so that no revision is given out twice: more than what was written after the snapshot, such as `1000000000`. " +
					"Only with `mark_compacted`. Default: none.",
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
			"mark_compacted": attribute.OptionalFlag("Whether all revisions up to the increased one count as compacted, so that clients that watch or cache are told to read everything again. " +
				"`etcdutl` demands it with `revision_bump`, and refuses it without. Default: `false`."),
			"replaces_cluster": attribute.OptionalText("ID of the lost cluster in hexadecimal, which must be the `cluster_id` in the state. All nodes are then rebuilt in one apply, form a cluster from the snapshot, and the members of the lost cluster are forgotten. "+
				"Refused while voters that may have a quorum are neither proven to be gone nor listed in `gone`. Until the restored cluster responds, another plan without `restore` withdraws it. Afterwards the argument has no effect. Default: none.",
				attribute.ClusterID()),
			"gone": attribute.OptionalSet("Names of the voters of the lost cluster that are gone for good: their machines are destroyed, or never start again. The error that asks for it prints the line. "+
				"A plan and its apply fail if one of them responds. Only with `replaces_cluster`. Default: none.",
				setvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)),
				setvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("replaces_cluster"))),
		},
	}
}

// noRestore is the argument of a cluster that is imported.
func noRestore() types.Object {
	return types.ObjectNull(attribute.TypesOf(restoreAttribute().Attributes))
}
