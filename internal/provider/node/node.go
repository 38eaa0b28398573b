// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package node defines the object that etcd_cluster gives for each of its nodes. The
// machine of the node and its etcd_member or etcd_learner take it as it is.
package node

import (
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

// Node is an element of node of etcd_cluster. It changes only if the node is rebuilt,
// or if the user changes a value that belongs to it. At plan, every field may be
// unknown.
type Node struct {
	// ID is the identity of the node. A rebuilt node has a new ID. It is the owner of
	// the ownership record of its member.
	ID types.String `tfsdk:"id"`
	// Name is the name of the node and of its member.
	Name types.String `tfsdk:"name"`
	// PeerURLs are null if only the machine knows them.
	PeerURLs types.Set `tfsdk:"peer_urls"`
	// Version and Revision are what is in force for the node. They are null if
	// nothing was given.
	Version  types.String `tfsdk:"version"`
	Revision types.Map    `tfsdk:"revision"`
	// Environment are the ETCD_* variables of the process, for the user data.
	Environment types.Map `tfsdk:"environment"`
	// JoinScriptBase64Gzip is the join script, for the user data.
	JoinScriptBase64Gzip types.String `tfsdk:"join_script_base64gzip"`
	// Start is the text of a [Start]. It is unknown while the node is planned to be
	// created or rebuilt.
	Start types.String `tfsdk:"start"`
}

// Start is what functions, etcd_member and etcd_learner must know of the node and of
// its cluster. It stays as it was when the node was built, but for the endpoints. It is
// one value for Terraform, which cannot be changed in part.
type Start struct {
	// NodeID is the ID of the node.
	NodeID string `json:"node_id"`
	// Format is the format in which functions write the user data.
	Format int `json:"format"`
	// Initial is true for a member that forms the cluster together with others.
	Initial bool `json:"initial"`
	// InitialMembers is the number of members that form the cluster, 0 if the
	// cluster was known to exist when the node was built.
	InitialMembers int `json:"initial_members"`
	// ClusterID is the ID of the cluster in hexadecimal, "" if it was not known when
	// the node was built.
	ClusterID string `json:"cluster_id"`
	// Endpoints are the client URLs of all nodes of the cluster, with the node's own.
	// They are renewed if none of them belongs to another present node any more.
	Endpoints []string `json:"endpoints"`
	// Peers are the peer URLs of other members in the environment: those that the
	// join script asks. nil means that they are not known.
	Peers []string `json:"peers"`
	// WindowEnd is the time (RFC 3339) until which the node may form its cluster
	// without an answer from its peers, "" for all but the first initial member.
	WindowEnd string `json:"window_end"`
	// Replaces are the IDs of the nodes of that name before this one whose members may
	// be left in the cluster.
	Replaces []string `json:"replaces"`
	// Imported is true for a node whose machine does not have the user data of the
	// node: the machine existed before the import.
	Imported bool `json:"imported"`
	// Rebuild is the value of rebuild of etcd_cluster that is in force for the node.
	Rebuild string `json:"rebuild"`
}

// Text returns s as [Node.Start].
func (s Start) Text() types.String {
	written, _ := json.Marshal(s) // a struct of texts and numbers
	return types.StringValue(string(written))
}

// StartOf reads [Node.Start]. It returns the zero value if the text is null or unknown.
func StartOf(written types.String) (s Start, err error) {
	if attribute.IsGiven(written) {
		err = json.Unmarshal([]byte(written.ValueString()), &s)
	}
	return s, err
}

var (
	// Types are the types of the attributes of [Node].
	Types = attribute.TypesOf(attributes())
	// ConfigTypes are the types of config of etcd_member and etcd_learner, which
	// Terraform makes from a node.
	ConfigTypes = map[string]attr.Type{"name": Types["name"], "peer_urls": Types["peer_urls"], "start": Types["start"]}
)

// Attribute returns the attribute node of etcd_cluster. The types in it are
// what they would be without CustomType. The framework asks for them at each value.
func Attribute() schema.MapNestedAttribute {
	return schema.MapNestedAttribute{
		Computed:            true,
		MarkdownDescription: "Nodes by name: the value of `config` of [`etcd_member`](member.md) and [`etcd_learner`](learner.md), and the argument of [`cloud_config`](../functions/cloud_config.md).",
		CustomType:          types.MapType{ElemType: types.ObjectType{AttrTypes: Types}},
		NestedObject:        schema.NestedAttributeObject{Attributes: attributes(), CustomType: types.ObjectType{AttrTypes: Types}},
	}
}

// attributes returns the attributes of [Node].
func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"id":          attribute.ComputedText("ID of the node. A rebuilt node has another ID."),
		"name":        attribute.ComputedText("Name of the node and of its member."),
		"peer_urls":   attribute.ComputedSet("URLs at which the other members reach the member. Null if the machine sets them."),
		"version":     attribute.ComputedText("Version of etcd that is in force for the node."),
		"revision":    attribute.ComputedMap("Revision that is in force for the node.", false),
		"environment": attribute.ComputedMap("The `ETCD_*` variables of the process. Variables that begin with `ETCD_JOIN_` are for the join script.", true),
		// It is no secret. It would fill a screen of every plan that rebuilds a node.
		"join_script_base64gzip": schema.StringAttribute{
			Computed: true, Sensitive: true,
			MarkdownDescription: "POSIX shell script to run before every start of etcd, compressed with gzip and encoded in base64. It needs `curl`. See [Exit status](#exit-status-of-the-join-script).",
		},
		"start": attribute.ComputedText("What functions, `etcd_member` and `etcd_learner` use of the node and its cluster, in JSON. Pass it on as it is. Known after the node is built."),
	}
}
