// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

// Action is what was to be done about a member when it failed. Package diag has
// a summary for each.
type Action string

// The actions. The first five are decided on and refused (see [Refusal]).
const (
	ActionAdd     Action = "add"
	ActionPromote Action = "promote"
	ActionRemove  Action = "remove"
	ActionReplace Action = "replace"
	ActionUpdate  Action = "update"

	ActionRead      Action = "read"
	ActionRecord    Action = "record" // write its ownership record
	ActionImport    Action = "import"
	ActionConfigure Action = "configure"
	ActionReach     Action = "reach" // find its cluster
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{
		ActionAdd, ActionPromote, ActionRemove, ActionReplace, ActionUpdate,
		ActionRead, ActionRecord, ActionImport, ActionConfigure, ActionReach,
	}
}
