// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
)

// TestGames holds the simulated world to the record that TestAccGames of package acctest
// holds real processes to. UPDATE=1 rewrites the record, SOAK_GAME names another one.
func TestGames(t *testing.T) {
	file := cmp.Or(os.Getenv("SOAK_GAME"), "testdata/games.txt")
	var text []string
	for _, want := range acctest.ReadGames(t, file) {
		t.Run(want.Name, func(t *testing.T) {
			got := recorded(t, want).String()
			if text = append(text, got); got != want.String() && os.Getenv("UPDATE") == "" {
				t.Errorf("the game differs from %s. If it should, run with UPDATE=1 and read the difference.\n%s", file, got)
			}
		})
	}
	if os.Getenv("UPDATE") != "" && !t.Failed() {
		if err := os.WriteFile(file, []byte(strings.Join(text, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// recorded plays a game, at the end of which nothing is to do. It returns the game with
// what came of it.
func recorded(t *testing.T, played acctest.Game) acctest.Game {
	t.Helper()
	out := acctest.Game{Name: played.Name, Seed: played.Seed}
	dir := t.TempDir()
	simulate(t, played.Seed, "", func(w *world) {
		g := newGame(w, dir)
		for _, l := range played.Lines {
			out.Lines = append(out.Lines, acctest.GameLine{Text: l.Text, Outcome: g.record(l.Text)})
		}
		if !g.lost {
			g.empty("in the end")
		}
	})
	return out
}

// record plays a line, and returns what came of it if it is a command.
func (g *game) record(line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	words := strings.Fields(rest)
	run := map[string]func(ctx context.Context) driver.Result{
		"apply": func(ctx context.Context) driver.Result { return g.up(ctx, words) },
		"saved": func(ctx context.Context) driver.Result { return g.saved(ctx, words) },
		"plan": func(ctx context.Context) driver.Result {
			_, r := g.ws.Plan(ctx, g.start("one"), g.options(words)...)
			return r
		},
		"destroy": func(ctx context.Context) driver.Result {
			g.lost, g.ending = true, true
			_, r := g.ws.Up(ctx, g.start("one"), driver.Destroy)
			return r
		},
	}[verb]
	var before []*pb.Member
	if g.cluster != nil {
		before = g.cluster.Members()
	}
	var r driver.Result
	switch {
	case run != nil:
		g.lines = append(g.lines, line)
		g.command(func(ctx context.Context) driver.Result { r = run(ctx); return r })
		g.rest(time.Minute)
	case verb == "form":
		g.do(line)
	default:
		g.do(line)
		return ""
	}
	if verb == "destroy" { // which voter is the last one depends on the order
		return acctest.GameOutcome(errorsIn(r), nil, nil)
	}
	return acctest.GameOutcome(errorsIn(r), before, g.cluster.Members())
}
