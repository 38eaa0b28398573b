// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package cluster

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/bootstrap"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/environment"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/node"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/report"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/text"
)

// defaultWindow is long enough for machines that one apply creates. Within it, a
// machine without data whose peers are all silent cannot be told from a new one (C11).
const defaultWindow = "15m"

// Schema implements [resource.Resource].
func (r *Resource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Describes the nodes of an etcd cluster: how each member starts, and which node is rebuilt next.",
		Attributes: map[string]schema.Attribute{
			"members": membersAttribute(),
			"discovery": bootstrap.Attribute(false, "The `bootstrap` of an [`etcd_discovery_token`](discovery_token.md), if the addresses are known only after the machines boot. A later change has an effect on nodes that "+
				"are built later. Default: none, for a static initial cluster."),
			"restore": restoreAttribute(),
			"version": attribute.OptionalText("Version of etcd for all nodes, such as `3.6.16`. A change is applied to one node in each apply, and follows the upgrade rules of etcd. The first value must be "+
				"the version that the members run. Default: none, and the image of the machines decides.",
				stringvalidator.RegexMatches(isVersion, "must be three numbers, such as 3.6.16")),
			"revision": attribute.OptionalMap("Values that recreate a machine, such as `{ image = \"debian-12\" }`. A change is applied to one node in each apply. A new key is applied to all nodes at once and rebuilds none. Default: none."),
			"rebuild":  attribute.OptionalMap("Any text by the name of a node. Another text rebuilds that node, when its turn comes. Default: none."),
			"replace_unreachable_after": attribute.OptionalText("Time after which a plan rebuilds a node whose member is unreachable, such as `10m`. Use more than a reboot takes. Both Terraform and the leader must see the member as "+
				"unreachable. The clock of the leader counts, from the first refresh that an apply has stored. A plan waits for at most 30 seconds. Default: none. Without it a warning prints the command.",
				attribute.Duration),
			"snapshot": attribute.OptionalText("`taken_at` of an `etcd_snapshot`, to take a snapshot before each roll. A node whose values change is rebuilt only after an apply has stored another text here, later than the "+
				"change. So its `triggers` must have what is rolled. The replacement of a failed member does not wait. Default: none. See [Roll an image](../guides/roll-an-image.md#take-a-snapshot-first).",
				stringvalidator.LengthAtLeast(1)),
			"bootstrap_window": attribute.OptionalText("Time after the creation of the resource in which the first initial member by name can form a static cluster. Fixed at creation. Default: `"+defaultWindow+"`.",
				attribute.Duration),
			"id": schema.StringAttribute{
				Computed: true, MarkdownDescription: "ID of this resource.", PlanModifiers: []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"node":       node.Attribute(),
			"status":     attribute.ComputedMap("State of each node by name, as of the last refresh: `pending`, `added`, `learner`, `voter`, `replacing`, `unreachable` or `failed`. See [Status](#status).", false),
			"endpoints":  attribute.ComputedList("Client URLs of all members, sorted."),
			"cluster_id": attribute.ComputedText("ID of the cluster in hexadecimal. Null until the cluster has responded, if it forms by discovery."),
			"complete":   attribute.ComputedFlag("Whether the cluster has responded, as of the last refresh. Once `true` it stays `true`."),
			"pending":    attribute.ComputedList("Names of the nodes whose values are not in force yet. Apply until it is empty."),
			"reason":     attribute.ComputedText("Why the next node waits. Null if no node is pending."),
		},
	}
}

// memberType is the type of an element of members.
func memberType() attr.Type { return membersAttribute().NestedObject.Type() }

func membersAttribute() schema.MapNestedAttribute {
	urls := func(description string) schema.SetAttribute {
		return attribute.OptionalSet(description, setvalidator.SizeAtLeast(1), attribute.Advertised)
	}
	return schema.MapNestedAttribute{
		Required: true,
		MarkdownDescription: "Members by name. The members of the first apply form the cluster, and later ones join it. Names are permanent: another key is another node. " +
			"`{}` is a member whose machine sets its URLs. Allowed in names: letters, digits and `. _ : @ % + ~ -`.",
		Validators: []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.KeysAre(attribute.Name)},
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"address": attribute.OptionalText("IP address or host name without scheme and port, such as `10.0.1.10` or `fd00::a`. Short form for `peer_urls` with `https` and port 2380, and `client_urls` with `https` and port 2379. "+
				"It cannot be combined with them. A change rebuilds the node.",
				isAddress,
				stringvalidator.ConflictsWith(path.MatchRelative().AtParent().AtName("peer_urls"), path.MatchRelative().AtParent().AtName("client_urls"))),
			"peer_urls":   urls("URLs at which the other members reach the member. A change rebuilds the node."),
			"client_urls": urls("URLs at which clients reach the member. A change rebuilds the node. Default: hosts of `peer_urls` with port 2379."),
			"learner":     attribute.OptionalFlag("Whether the member does not take part in the formation of the cluster. No effect after the first apply. Default: `false`."),
		}},
	}
}

// isVersion matches a version of etcd with its three numbers, which a member answers and
// a release has.
var isVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// isAddress refuses a text that is not the address of a member.
var isAddress = attribute.Checked("must be an IP address or a host name, without scheme and port", func(_, value string) *text.Message {
	_, err := membership.URLAt("https", value, membership.PeerPort)
	if bad, ok := errors.AsType[*membership.URLError](err); ok {
		return new(text.New("Invalid address", "%q is not the address at which others reach a member (%s). "+
			"Expected an IP address or a host name without scheme, port and brackets, such as 10.0.1.10 or fd00::a. Use peer_urls for another port.", bad.URL, bad.Problem))
	}
	return nil
})

// ValidateConfig implements [resource.ResourceWithValidateConfig]. A later call checks
// the values that are not known yet.
func (r *Resource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	m := attribute.Read[model](ctx, req.Config, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	attribute.As[restore](ctx, m.Restore, &resp.Diagnostics).validate(&resp.Diagnostics)
	want, _, _ := m.wants(ctx, &resp.Diagnostics)
	checkAddresses(want, m.Discovery.IsNull(), &resp.Diagnostics)
}

// checkAddresses refuses members without addresses in a static cluster, members with one
// peer URL, and members that the others cannot reach.
func checkAddresses(want map[string]membership.NodeValues, static bool, diags *diag.Diagnostics) {
	owner := map[string]string{}
	var inside, outside, url string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		if static && w.PeerURLs == nil {
			report.ErrorAt(diags, path.Root("members").AtMapKey(name), text.New("Member "+name+" has no address",
				"Without discovery, the members find each other by their addresses. Set address or peer_urls of %s, or set discovery to the bootstrap of an etcd_discovery_token.", name))
		}
		if isUnknown(w.PeerURLs) {
			continue
		}
		for _, u := range w.PeerURLs {
			if other, taken := owner[u]; taken {
				report.ErrorAt(diags, path.Root("members").AtMapKey(name), text.New("Members "+name+" and "+other+" have one peer URL",
					"The peer URL is %s. Peer URLs are unique in a cluster. Give one of them another peer URL.", u))
			}
			owner[u] = name
			if membership.IsLoopback(u) {
				inside, url = name, u
			} else {
				outside = name
			}
		}
	}
	if inside != "" && outside != "" {
		report.ErrorOn(diags, "members", text.New("An initial member that the others cannot reach",
			"%[2]s of %[1]s can be reached on its own machine only, and %[3]s is elsewhere. Give the URL at which the others reach %[1]s.", inside, url, outside))
	}
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
				Validators: []validator.String{attribute.Fits("must be a URL or an absolute path", snapshotProblem, "Invalid snapshot",
					// Without the value, which may be a secret.
					"restore.snapshot %[2]s. Give an https:// or http:// URL, or the absolute path of the file on every machine of an initial member.")},
			},
			"sha256": attribute.RequiredText("SHA-256 of the file, as `sha256sum` prints it. No member starts with another file.",
				stringvalidator.RegexMatches(isSHA256, "must be 64 hexadecimal digits, as sha256sum prints them")),
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
				attribute.ClusterID),
			"gone": attribute.OptionalSet("Names of the voters of the lost cluster that are gone for good: their machines are destroyed, or never start again. The error that asks for it prints the line. "+
				"A plan and its apply fail if one of them responds. Only with `replaces_cluster`. Default: none.",
				setvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1)),
				setvalidator.AlsoRequires(path.MatchRelative().AtParent().AtName("replaces_cluster"))),
		},
	}
}

// restoreTypes are the types of the attributes of [restore].
func restoreTypes() map[string]attr.Type { return attribute.TypesOf(restoreAttribute().Attributes) }
