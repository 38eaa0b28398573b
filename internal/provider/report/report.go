// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package report puts what package diag has worded into Terraform's diagnostics.
package report

import (
	fwdiag "github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/diag"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/reconfigure"
)

// Error adds an error.
func Error(to *fwdiag.Diagnostics, t diag.Text) { to.AddError(t.Summary, t.Detail) }

// Warn adds a warning.
func Warn(to *fwdiag.Diagnostics, t diag.Text) { to.AddWarning(t.Summary, t.Detail) }

// ErrorAt adds an error about an attribute.
func ErrorAt(to *fwdiag.Diagnostics, at path.Path, t diag.Text) {
	to.AddAttributeError(at, t.Summary, t.Detail)
}

// WarnAt adds a warning about an attribute.
func WarnAt(to *fwdiag.Diagnostics, at path.Path, t diag.Text) {
	to.AddAttributeWarning(at, t.Summary, t.Detail)
}

// Done adds the warnings of a change that was made, and for whom it had to wait.
func Done(to *fwdiag.Diagnostics, action reconfigure.Action, name string, warnings []membership.Warning, snap membership.Snapshot, waited *reconfigure.Waited) {
	for _, w := range warnings {
		Warn(to, diag.WarningText(action, name, w, snap))
	}
	if waited != nil {
		Warn(to, diag.LockWaited(name, *waited))
	}
}

// ErrorOn is [ErrorAt] for an argument of the resource itself.
func ErrorOn(to *fwdiag.Diagnostics, argument string, t diag.Text) {
	ErrorAt(to, path.Root(argument), t)
}
