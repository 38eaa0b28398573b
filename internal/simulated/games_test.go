// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/etcdtest"
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

const gameSeed = "ETCD_TEST_GAME_SEED"

// The record of all events of a game is the same in another process, and on another
// number of processors.
func TestGamesAreRepeatable(t *testing.T) {
	t.Parallel()
	seeds := 4
	if etcdtest.Full() {
		seeds = 100
	}
	for seed := range seeds {
		log, _ := search(t, uint64(seed))
		want := strings.Join(log, "\n")
		for _, processors := range []string{"1", "8"} {
			got := again(t, seed, processors)
			if got != want {
				t.Errorf("seed %d with %s processors: %s", seed, processors, difference(got, want))
			}
		}
	}
}

// again returns the record of a game in another process.
func again(t *testing.T, seed int, processors string) string {
	t.Helper()
	file := t.TempDir() + "/record"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGame$")
	cmd.Env = append(os.Environ(), gameSeed+"="+strconv.Itoa(seed), "ETCD_TEST_GAME_FILE="+file, "GOMAXPROCS="+processors)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	record, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(record)
}

// TestGame is what [again] runs.
func TestGame(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(gameSeed), 10, 64)
	if err != nil {
		t.Skip("it is a part of TestGamesAreRepeatable")
	}
	log, _ := search(t, seed)
	if err := os.WriteFile(os.Getenv("ETCD_TEST_GAME_FILE"), []byte(strings.Join(log, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d of %d\n%s\nwant\n%s", i, len(w), g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// foundGames are games that the search has found, with the seed of their order of events. Each
// is the shortest one that showed a defect of the provider.
var foundGames = map[string]struct {
	seed  uint64
	lines []string
}{
	// The successor of c never started, and was added anew as another learner. That removal
	// ended the turn of c, and d could be replaced before c had come back.
	"a turn outlives a learner that is added anew (C13)": {54, []string{
		"form a b c", "add d", "beside", "broken", `apply -replace=machine.node["c"]`, "boot c", "wait 20m",
		`taint etcd_member.node["d"]`, "apply", "converge",
	}},
	// The node ID that the plan gives is not known, and an imported member has none: they
	// were taken for the same one, whose peer URLs change in place.
	"an imported member whose address changes follows its node": {110, []string{
		"form a b c", `forget etcd_member.node["a"]`, "import a", "address a", "converge",
	}},
	// d was added while new addresses of b and c were pending. Its node knew only these, so the
	// cluster could not be observed once a was dead.
	"a node knows the addresses that are in force": {22, []string{
		"form a b c", "address b", "address c", "at 44 kill", "add d", `forget etcd_member.node["a"]`,
		`apply -replace=machine.node["a"] -refresh=false`, "converge",
	}},
	// The machine and the peer URL of g change in one plan, which replaces it: its two entries
	// were taken for two changes of peer URLs.
	"a member whose machine and peer URL change is replaced": {178, []string{
		"form a b c", "theirs 1", "two", "theirs 2", "urls 3380", "converge",
	}},
	// etcd_cluster had built another node for a, and nothing had followed when c was lost for
	// good. Every later plan replaced the machine of a, and was refused for it.
	"a rebuild that nobody followed is taken back beside a dead voter": {78, []string{
		"form a b c", "rebuild a", "between wipe c", "apply -target=etcd_cluster.this", "converge",
	}},
	// Members that were stated gone ran again and were taken out of the statement. Another
	// cluster answered at the addresses, and the restore went on in silence.
	"a restore goes on only with what was stated": {448, []string{
		"form a b c d e", "power f a e b", "restore f a e b", "apply -target=etcd_cluster.this", "boot f a e b", "wait 30s", "swap", "apply",
	}},
	// The leader was started after b had died, and tells of b only by what it cannot send.
	"a voter that the leader never met is proven dead": {87, []string{
		"form a b c", "image 3", "apply", "at 29 kill", `forget etcd_member.node["b"]`, "beside -refresh=false", "at 66 off c 1s", "apply", "converge",
	}},
}

func TestFoundGames(t *testing.T) {
	t.Parallel()
	for name, g := range foundGames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replay(t, g.seed, g.lines...)
		})
	}
}
