// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// version is the version of the provider in the mirror. Its value is arbitrary.
const version = "0.0.1"

// workspace is a copy of the configuration with the files that the CLI needs,
// all in one directory that is removed at the end.
type workspace struct {
	cli    string
	root   string
	config string // directory of the configuration
	mirror string
}

// newWorkspace copies the example and, unless there is a mirror, builds one
// that contains the provider for the host names of both registries.
func newWorkspace(root string, o options) (*workspace, error) {
	w := &workspace{
		cli: o.cli, root: root,
		config: filepath.Join(root, "config"), mirror: filepath.Join(root, "mirror"),
	}
	if err := os.Mkdir(w.config, 0o700); err != nil {
		return nil, err
	}
	// Copy only the configuration: the user may have run the example in place.
	for _, pattern := range []string{"*.tf", "*.sh"} {
		files, err := filepath.Glob(filepath.Join(o.example, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := copyFile(filepath.Join(w.config, filepath.Base(file)), file, 0o600); err != nil {
				return nil, err
			}
		}
	}
	if err := os.WriteFile(w.settings(), nil, 0o600); err != nil {
		return nil, err
	}
	if o.mirror != "" {
		w.mirror = o.mirror
		return w, nil
	}
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(w.mirror, host, "terraform-provider-etcd", "etcd", version, runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if err := copyFile(filepath.Join(dir, "terraform-provider-etcd_v"+version), o.provider, 0o700); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func copyFile(to, from string, mode os.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	_, err = io.Copy(out, in)
	return err
}

// settings returns the path of the CLI's configuration file: an empty file that
// replaces the user's own.
func (w *workspace) settings() string { return filepath.Join(w.root, "cli.tfrc") }

// name returns the name of the CLI for the output.
func (w *workspace) name() string { return filepath.Base(w.cli) }

// run runs the CLI and returns its exit code and its standard output. It
// returns an error with the output if the exit code is not among those allowed.
func (w *workspace) run(ctx context.Context, allowed string, args ...string) (int, string, error) {
	code, stdout, all, err := command{
		dir:  w.config,
		args: append([]string{w.cli}, args...),
		env: []string{
			"TF_CLI_CONFIG_FILE=" + w.settings(), "TF_IN_AUTOMATION=1", "TF_INPUT=0",
			"TF_CLI_ARGS=-no-color", "CHECKPOINT_DISABLE=1",
		},
	}.run(ctx)
	if err != nil {
		return code, stdout, err
	}
	if !strings.Contains(allowed, fmt.Sprint(code)) {
		return code, stdout, &failure{
			reason: fmt.Sprintf("%s %s ended with exit code %d.", w.name(), args[0], code),
			logs:   []excerpt{{w.name() + " " + strings.Join(args, " "), tail(fromFirstError(all), 60)}},
		}
	}
	return code, stdout, nil
}

// fromFirstError omits the output before the first error.
func fromFirstError(text string) string {
	if i := strings.Index(text, "Error: "); i >= 0 {
		return text[i:]
	}
	return text
}

// variables writes the values of the variables of the configuration.
func (w *workspace) variables(values any) error {
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.config, "terraform.tfvars.json"), text, 0o600)
}

// planFile is the plan that plan writes and apply applies.
const planFile = "step.tfplan"

// noChanges is the summary of an empty plan.
const noChanges = "no changes"

var (
	summary  = regexp.MustCompile(`(?m)^Plan: (.*)\.$`)
	noChange = regexp.MustCompile(`(?m)^No changes\.`)
	applied  = regexp.MustCompile(`(?m)^Apply complete! Resources: (.*)\.$`)
	warned   = regexp.MustCompile(`(?m)^Warning: .*$`)
)

// plan plans and returns the summary, such as "1 to add, 0 to change, 0 to destroy".
func (w *workspace) plan(ctx context.Context, args ...string) (string, error) {
	code, out, err := w.run(ctx, "02", append([]string{"plan", "-detailed-exitcode", "-out=" + planFile}, args...)...)
	if err != nil {
		return "", err
	}
	if code == 0 && noChange.MatchString(out) {
		return noChanges, nil
	}
	found := summary.FindStringSubmatch(out)
	if code == 0 || found == nil {
		return "", &failure{
			reason: fmt.Sprintf("%s plan cannot be understood (exit code %d).", w.name(), code),
			logs:   []excerpt{{w.name() + " plan", tail(out, 60)}},
		}
	}
	return found[1], nil
}

// apply applies the plan and returns the summary, such as "1 added, 0 changed,
// 0 destroyed", and the first line of each warning.
func (w *workspace) apply(ctx context.Context) (said string, warnings []string, err error) {
	_, out, err := w.run(ctx, "0", "apply", planFile)
	if err != nil {
		return "", nil, err
	}
	if found := applied.FindStringSubmatch(out); found != nil {
		said = found[1]
	}
	return said, warned.FindAllString(out, -1), nil
}

// output is the configuration's output for a member.
type output struct {
	ID   string `json:"id"`
	Role string `json:"role"`
}

// members returns the output members.
func (w *workspace) members(ctx context.Context) (map[string]output, error) {
	_, out, err := w.run(ctx, "0", "output", "-json", "members")
	if err != nil {
		return nil, err
	}
	var members map[string]output
	if err := json.Unmarshal([]byte(out), &members); err != nil {
		return nil, fmt.Errorf("%s output: %w", w.name(), err)
	}
	return members, nil
}
