// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Package log writes the lines by which TF_LOG_PROVIDER=DEBUG explains what the
// provider decided, tried again and waited for.
package log

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/membership"
)

// Subsystem is the part of the provider that a line is about. It is part of
// the name of the logger: provider.etcd.lock.
type Subsystem string

// The subsystems.
const (
	// Connection is the way to the servers: endpoints, logins, certificates.
	Connection Subsystem = "connection"
	// Lock is the cluster's lock on membership changes.
	Lock Subsystem = "lock"
	// Membership is what is decided and done about members.
	Membership Subsystem = "membership"
	// Discovery is the registries of discovery tokens.
	Discovery Subsystem = "discovery"
	// Claim is keys with a TTL.
	Claim Subsystem = "claim"
)

// Debug writes a line at the level debug: event is a constant text, facts are
// pairs of a name and a value. A value is a text, a number, a boolean, a
// duration, an error, a fmt.Stringer or a slice of texts; of anything else only
// the type is written, so that no line holds a whole model. A nil is left out. A password in a URL
// is masked.
func Debug(ctx context.Context, s Subsystem, event string, facts ...any) {
	fields := make(map[string]any, len(facts)/2)
	for i := 0; i+1 < len(facts); i += 2 {
		if name, ok := facts[i].(string); ok && facts[i+1] != nil {
			fields[name] = printable(facts[i+1])
		}
	}
	name := string(s)
	tflog.SubsystemDebug(tflog.NewSubsystem(ctx, name, oneUp), name, event, fields)
}

// oneUp makes a line name the caller of [Debug].
var oneUp = tflog.WithAdditionalLocationOffset(2)

func printable(value any) any {
	switch v := value.(type) {
	case bool, int, int64, uint64, float64:
		return v
	case string:
		return membership.Masked(v)
	case []string:
		masked := make([]string, len(v))
		for i, s := range v {
			masked[i] = membership.Masked(s)
		}
		return masked
	case time.Duration:
		return v.String()
	case error:
		return membership.Masked(v.Error())
	case fmt.Stringer:
		return membership.Masked(v.String())
	default:
		return fmt.Sprintf("%T", v)
	}
}
