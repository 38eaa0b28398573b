// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package reconfigure

// Action is what was to be done about a member when it failed. Package diag has
// a summary for each.
type Action string

// String implements fmt.Stringer.
func (a Action) String() string { return string(a) }

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

// What members are not added or removed for.
const (
	actionDefragment Action = "defragment"
	actionMove       Action = "move leadership to"
	actionDisarm     Action = "disarm"
	ActionSave       Action = "save"
)

// liftsAlarm reports whether an action may be the way out of an alarm, under
// which no lock between processes can be had: it goes on without.
func (a Action) liftsAlarm() bool {
	return a == ActionRemove || a == actionDefragment || a == actionMove
}

// Actions returns all actions.
func Actions() []Action {
	return []Action{
		ActionAdd, ActionPromote, ActionRemove, ActionReplace, ActionUpdate,
		ActionRead, ActionRecord, ActionImport, ActionConfigure, ActionReach,
	}
}
