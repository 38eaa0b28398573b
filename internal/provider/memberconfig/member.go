// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package memberconfig

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/provider/attribute"
)

// Member holds the attributes of a configuration that etcd_member and etcd_learner use
// in their argument config. Terraform drops the other attributes when it converts the
// resource to this object. All attributes are fixed at the creation of the
// configuration, except peer_urls, which can be unknown before the machine exists.
type Member struct {
	ID, Name types.String
	PeerURLs types.Set
	Founder  types.Bool
	Founders types.Int64
}

// MemberTypes returns the attribute types of [Member].
func MemberTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"id": types.StringType, "name": types.StringType, "peer_urls": types.SetType{ElemType: types.StringType},
		"founder": types.BoolType, "founders": types.Int64Type,
	}
}

// MemberOf returns the values in an object of [MemberTypes]: null values for a
// null object, unknown values for an unknown object.
func MemberOf(o types.Object) Member {
	m := Member{PeerURLs: types.SetNull(types.StringType)}
	if o.IsUnknown() {
		return Member{
			ID: types.StringUnknown(), Name: types.StringUnknown(), PeerURLs: types.SetUnknown(types.StringType),
			Founder: types.BoolUnknown(), Founders: types.Int64Unknown(),
		}
	}
	for name, value := range o.Attributes() {
		switch v := value.(type) {
		case types.String:
			if name == "id" {
				m.ID = v
			} else {
				m.Name = v
			}
		case types.Set:
			m.PeerURLs = v
		case types.Bool:
			m.Founder = v
		case types.Int64:
			m.Founders = v
		}
	}
	return m
}

// Bootstrap returns how the member enters the cluster.
func (m Member) Bootstrap() membership.Bootstrap {
	if m.Founder.ValueBool() {
		return membership.Founder
	}
	return membership.Joiner
}

// AwaitsCluster reports whether the cluster did not exist yet when the
// configuration was created.
func (m Member) AwaitsCluster() bool { return m.Founder.ValueBool() || !m.Founders.IsNull() }

// MemberAttribute returns the argument config of etcd_member and etcd_learner.
func MemberAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "The [`etcd_member_config`](member_config.md) of the member, as a whole: `config = etcd_member_config.node[each.key]`. Another configuration replaces the member. " +
			"You can add `config` to an imported member, or remove it, without a change of the member. Import that configuration as well, because a new one is refused while the member runs. Omit `config` for a process that Terraform does not configure.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Required: true, MarkdownDescription: "`id` of the configuration.",
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"name": schema.StringAttribute{
				Required: true, MarkdownDescription: "`name` of the configuration.",
				Validators: []validator.String{attribute.Name()},
			},
			"peer_urls": schema.SetAttribute{
				ElementType: types.StringType, Optional: true,
				MarkdownDescription: "`peer_urls` of the configuration. Null if the machine sets them itself.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), attribute.Advertised()},
			},
			"founder": schema.BoolAttribute{Optional: true, MarkdownDescription: "`founder` of the configuration. Default: `false`."},
			"founders": schema.Int64Attribute{
				Optional: true, MarkdownDescription: "`founders` of the configuration. Default: null, for an existing cluster.",
				Validators: []validator.Int64{int64validator.AtLeast(0)},
			},
		},
	}
}
