// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

// Demo runs examples/local-cluster with a real Terraform (or OpenTofu), the
// built provider and real etcd: it forms a cluster, gives each machine another
// image, adds a learner, promotes it, removes a member and destroys everything.
// Each step prints its actions and checks their result by asking the cluster.
// The exit code is 0 only if all checks succeed. In every case the demo leaves
// neither processes nor files behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
)

// These are the exit codes other than 0.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// options are the programs and files that the demo uses.
type options struct {
	cli      string // Terraform or OpenTofu
	provider string // the built provider
	mirror   string // file system mirror to install it from instead, or empty
	etcd     string
	etcdctl  string
	example  string // directory of the configuration
	record   string // file for a recording, or empty
}

func main() {
	// Also when the terminal or a pipe is closed: machines outlive this process
	// unless it ends them.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the exit.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr, "demo:", err)
		}
		return exitUsage
	}
	var tape recorder
	if o.record != "" {
		tape.begun = time.Now()
		stdout = io.MultiWriter(stdout, &tape)
	}
	r := newReport(stdout)
	err = etcdtest.Run("etcd-demo", r.logf, func(tb etcdtest.TB) {
		if err := tell(ctx, tb, o, r); err != nil {
			tb.Fatalf("%w", err)
		}
	})
	switch {
	case ctx.Err() != nil:
		r.interrupted()
		return exitInterrupted
	case err != nil:
		r.failed(err)
		return exitFailed
	}
	r.finished()
	if o.record != "" {
		if err := os.WriteFile(o.record, tape.lines.Bytes(), 0o600); err != nil {
			fmt.Fprintln(stderr, "demo:", err)
			return exitFailed
		}
	}
	return 0
}

// parse parses the flags and makes every path absolute.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.cli, "cli", "terraform", "Terraform or OpenTofu: a path, or a command on PATH")
	flags.StringVar(&o.provider, "provider", "bin/terraform-provider-etcd", "the built provider")
	flags.StringVar(&o.mirror, "mirror", "", "file system `directory` to install the provider from, in place of -provider")
	flags.StringVar(&o.etcd, "etcd", "bin/etcd-3.6", "etcd, 3.6 or later")
	flags.StringVar(&o.etcdctl, "etcdctl", "bin/etcdctl-3.6", "etcdctl, 3.6 or later")
	flags.StringVar(&o.example, "example", "examples/local-cluster", "directory of the configuration")
	flags.StringVar(&o.record, "record", "", "`file` to write the output to, each line with the second at which it came")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	programs := []*string{&o.cli, &o.etcd, &o.etcdctl}
	if o.mirror == "" {
		programs = append(programs, &o.provider)
	}
	for _, program := range programs {
		found, err := lookPath(*program)
		if err != nil {
			return o, err
		}
		*program = found
	}
	var err error
	if o.mirror != "" {
		if o.mirror, err = filepath.Abs(o.mirror); err != nil {
			return o, err
		}
	}
	if o.example, err = filepath.Abs(o.example); err != nil {
		return o, err
	}
	if _, err := os.Stat(filepath.Join(o.example, "machine.sh")); err != nil {
		return o, fmt.Errorf("the configuration: %w; run make demo, at the root of the project", err)
	}
	return o, nil
}
