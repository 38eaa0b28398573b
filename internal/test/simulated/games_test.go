// Copyright (c) The terraform-provider-etcd Authors
// SPDX-License-Identifier: MPL-2.0

package simulated

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/acctest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/etcdtest"
	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/must"
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
		must.Succeed(t, os.WriteFile(file, []byte(strings.Join(text, "\n")), 0o600))
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
		log, _, _ := search(t, uint64(seed))
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
	must.Succeed(t, err)
	return string(record)
}

// TestGame is what [again] runs.
func TestGame(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv(gameSeed), 10, 64)
	if err != nil {
		t.Skip("it is a part of TestGamesAreRepeatable")
	}
	log, _, _ := search(t, seed)
	must.Succeed(t, os.WriteFile(os.Getenv("ETCD_TEST_GAME_FILE"), []byte(strings.Join(log, "\n")), 0o600))
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

// TestFoundGames plays the games of testdata/found.txt.
func TestFoundGames(t *testing.T) {
	t.Parallel()
	for _, c := range casesIn(t, "found.txt") {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seed, err := strconv.ParseUint(c.lines[0], 10, 64)
			must.Succeed(t, err)
			replay(t, seed, c.lines[1:]...)
		})
	}
}

// backup is the etcd_snapshot of the second workspace.
type backup struct {
	path string
	day  int // of the trigger
	was  string
}

func (b *backup) resource() driver.Resource {
	return driver.Resource{Type: "etcd_snapshot", Name: "this", Values: driver.Values{"path": b.path, "triggers": map[string]any{"day": fmt.Sprint(b.day)}}}
}

// judge fails the game if a good file became a worse one: an older one of the same cluster
// is shorter or starts otherwise, since a database here is all its changes.
func (b *backup) judge(g *game) {
	now, err := os.ReadFile(b.path)
	if os.IsNotExist(err) && b.was == "" {
		return
	}
	if err != nil {
		g.wrong("two", "the backup is gone: %v", err)
		return
	}
	is := strings.TrimRight(string(now[:max(0, len(now)-sha256.Size)]), "\x00")
	if !strings.HasPrefix(is, b.was) {
		g.wrong("two", "a backup of %d bytes is replaced by another one of %d bytes, which does not go on from it", len(b.was), len(is))
	}
	b.was = is
}

// write writes a key, and remembers it if that is acknowledged.
func (g *game) write() {
	key := fmt.Sprint("/game/", len(g.lines))
	for _, p := range g.cluster.Processes() {
		if !g.works(p.Name) || g.members[p.Name] != p {
			continue
		}
		ctx, end := context.WithTimeout(g.Context(), 5*time.Second)
		put, err := g.network.Run("test").Client(p.ClientURL, p.ClientURL).Put(ctx, key, "")
		end()
		if err == nil && g.network.Cluster(put.Header.ClusterId) == g.cluster {
			g.writes = append(g.writes, key)
			return
		}
	}
}

// read fails the game if a write is lost that was acknowledged.
func (g *game) read() {
	if g.lost || g.over() {
		return
	}
	for _, p := range g.cluster.Processes() {
		if g.members[p.Name] != p || !g.works(p.Name) {
			continue
		}
		ctx, end := context.WithTimeout(g.Context(), 5*time.Second)
		all, err := g.network.Run("test").Client(p.ClientURL, p.ClientURL).Get(ctx, "/game/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
		end()
		if err != nil {
			continue
		}
		found := map[string]bool{}
		for _, kv := range all.Kvs {
			found[string(kv.Key)] = true
		}
		for _, key := range g.writes {
			if !found[key] {
				g.wrong("one", "the write of %s is lost", key)
			}
		}
		return
	}
	g.wrong("one", "nobody answers a read")
}

// loseQuorum switches the machines of more than half of the voters off. The member of the
// second workspace is none of them: nothing would bring it into the restored cluster.
func (g *game) loseQuorum(names []string) {
	if !g.healthy() || g.theirs != "" || 2*len(names) <= len(g.all()) {
		return
	}
	g.lost = true
	for _, name := range names {
		g.fleet.stop(name)
	}
}

// restore states that some nodes are gone, in place of the cluster that the state has.
func (g *game) restore(names []string) {
	o := g.ws.State(thisCluster)
	if o == nil {
		return
	}
	g.gone, g.replaces = []any{}, driver.Attribute(o.Value, "cluster_id")
	for _, name := range names {
		if m := g.fleet.of(name); m != nil && m.off { // nobody lies
			g.gone = append(g.gone, name)
		}
	}
	g.configure()
}

// restate takes what runs again out of the statement that it is gone: what nobody reaches
// cannot contradict it.
func (g *game) restate() {
	if g.gone != nil {
		g.gone = slices.DeleteFunc(g.gone, func(name any) bool { m := g.fleet.of(fmt.Sprint(name)); return m != nil && !m.off })
		g.configure()
	}
}

// restartMoved starts g at its new peer URL, as a person does who has changed it.
func (g *game) restartMoved() {
	m := g.fleet.of("g")
	if g.theirs == "" || m == nil || m.off {
		return
	}
	if m.process == nil { // its member has not started
		g.fleet.set(func() { m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = g.urls })
		return
	}
	if m.process.PeerURL == g.urls {
		return
	}
	for _, listed := range g.cluster.Members() {
		if listed.Name == "g" && listed.PeerURLs[0] == g.urls {
			g.fleet.set(func() { m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = g.urls })
			m.process.PowerOff()
			m.process.PeerURL = g.urls
			g.rest(time.Minute)
		}
	}
}

var (
	removeLine  = regexp.MustCompile(`If no configuration has it, remove it:\s+etcdctl member remove ([0-9a-f]+)`)
	deleteLine  = regexp.MustCompile(`If no configuration has it any more[^:]*, delete the record:\s+etcdctl del (\S+)`)
	learnerLine = regexp.MustCompile(
		`To manage it as an etcd_learner, import it[^:]*:\s+terraform import 'ADDRESS' (\w+)`)
	rebuildLine = regexp.MustCompile(`To rebuild its node instead[^{]*\{ "\w+" = "(\w+)" \}`)
	lostLine    = regexp.MustCompile(`ETCD_CLUSTER_LOST=(\S+) terraform apply`)
	// uncheckedLine names a member that an apply should have removed, as far as it knows.
	uncheckedLine = regexp.MustCompile(`Could not check what was added for (\w+)`)
	// holderLine names a dead member that others wait for.
	holderLine   = regexp.MustCompile(`Bring (\w+) back, or remove it first`)
	strangerLine = regexp.MustCompile(`http://([a-g])[^ ]* answers for cluster .*stop what does not belong here`)
)

// undone applies the first workspace without the change that replaces or removes a member, and
// then makes the change again. If that is refused, the change of another member is undone as well.
// What an earlier apply has done cannot be undone: then the state forgets the member first.
func (g *game) undone(address string) {
	changed := *g.plan
	g.names, g.rebuilt, g.address = slices.Clone(g.names), maps.Clone(g.rebuilt), maps.Clone(g.address)
	refused, undone := []string{address}, map[string]bool{}
	for range 2*len(g.all()) + 2 {
		for _, at := range refused {
			if undone[at] || !g.undo(nodeNamed(at)) {
				g.ws.Forget(at)
				g.rest(time.Minute)
			}
			undone[at] = true
		}
		g.configure()
		_, r := g.ws.Up(g.Context(), g.start("one"))
		if refused = nil; r.Err() == nil {
			break
		}
		for _, d := range r.Diagnostics {
			if strings.Contains(d.Detail, "no apply has stored") {
				refused = append(refused, d.Address)
			} else {
				g.importAsked(d, g.ws)
			}
		}
	}
	*g.plan = changed
	g.configure()
}

// undo lets the configuration have what the state has of a node. It returns false if the state has
// no etcd_cluster: a destroy has ended before it removed the member.
func (g *game) undo(name string) bool {
	if g.ws.State(thisCluster) == nil {
		return false
	}
	node := func(of ...string) string {
		return driver.Attribute(g.ws.State(thisCluster).Value, append([]string{"node", name}, of...)...)
	}
	if g.add(name, false); g.ws.State(learnerOf(name)) != nil {
		g.learners[name] = true
	}
	g.image, g.version = node("revision", "image"), cmp.Or(node("version"), g.version)
	delete(g.rebuilt, name)
	for g.address[name] = ""; len(g.address[name]) < 20; g.address[name] += "-2" {
		if strings.Contains(node("peer_urls"), "/"+name+g.address[name]+".example") {
			break
		}
	}
	return true
}

// importAsked imports the member for which a diagnostic prints an import block. It reports whether
// there is one.
func (g *game) importAsked(d driver.Diagnostic, ws *driver.Workspace) bool {
	_, block, asks := strings.Cut(d.Detail, "add this block")
	name := nodeNamed(block)
	if !asks || name == "" {
		return false
	}
	ws.Provider = g.provider("a b c d e f g")
	ws.Import(g.Context(), g.start("import"), memberOf(name), name)
	return true
}

// putBack gives each member of the cluster a name in the configuration.
func (g *game) putBack() {
	for _, m := range g.cluster.Members() {
		if name := nodeOf(m); name != "g" {
			g.add(name, m.IsLearner)
		}
	}
	g.configure()
}

// obey does what an error asks for. A person knows which machines are gone.
func (g *game) obey(r driver.Result, run string, ws *driver.Workspace) {
	for _, d := range r.Diagnostics {
		lost := lostLine.FindStringSubmatch(d.Detail)
		remove, record := removeLine.FindStringSubmatch(d.Detail), deleteLine.FindStringSubmatch(d.Detail)
		switch {
		case remove != nil:
			id, _ := strconv.ParseUint(remove[1], 16, 64)
			if m := find(g.cluster.Members(), id); m != nil && !slices.Contains(g.all(), nodeOf(m)) {
				g.byHand(remove[0], func(c *clientv3.Client) error { _, err := c.MemberRemove(g.Context(), id); return err })
			}
		case record != nil && !slices.Contains(g.all(), path.Base(record[1])):
			g.byHand(record[0], func(c *clientv3.Client) error { _, err := c.Delete(g.Context(), record[1]); return err })
		case d.Warning:
			for _, at := range strangerLine.FindAllStringSubmatch(d.Detail, -1) {
				g.fleet.stop(at[1])
			}
		case strings.Contains(d.Detail, "To import the member, run this command") && nodeNamed(d.Address) != "":
			g.importMember(nodeNamed(d.Address), func(imports func(context.Context) driver.Result) { imports(g.Context()) })
		case g.importAsked(d, ws):
		case learnerLine.MatchString(d.Detail) && strings.HasPrefix(d.Address, "etcd_learner."):
			ws.Import(g.Context(), g.start("import"), d.Address, learnerLine.FindStringSubmatch(d.Detail)[1])
		case strings.Contains(d.Detail, "without -parallelism"):
			ws.Parallelism = 0
		case strings.Contains(d.Detail, "Keep all names") || strings.Contains(d.Detail, "Then set the new restore") || strings.Contains(d.Summary, "has not lost its quorum") || strings.Contains(d.Detail, "has not lost its quorum"):
			g.gone = nil
			g.configure()
		case strings.Contains(d.Detail, "give the resource another path"):
			g.backup = backup{path: g.backup.path + "-new", day: g.backup.day}
			g.configure()
		case strings.Contains(d.Detail, "First undo the change"),
			strings.Contains(d.Detail, "first, set version, revision and rebuild"):
			g.undone(d.Address)
		case rebuildLine.MatchString(d.Detail):
			name, value := nodeNamed(d.Address), rebuildLine.FindStringSubmatch(d.Detail)[1]
			if g.rebuilt[name] == value {
				value += "-2"
			}
			g.rebuilt[name] = value
			g.putBack()
			ws.Up(g.Context(), g.start(run))
		case holderLine.MatchString(d.Detail) && g.forgotten(holderLine.FindStringSubmatch(d.Detail)[1]):
			ws.Up(g.Context(), g.start(run), driver.Option("-target="+memberOf(holderLine.FindStringSubmatch(d.Detail)[1])))
		case strings.Contains(d.Detail, "Add the new members in a first apply"):
			g.putBack()
		case strings.Contains(d.Detail, "Set peer_urls to what it runs with"):
			g.setURL(find(g.cluster.Members(), g.ids()["g"]).PeerURLs[0])
			g.configure()
		case strings.Contains(d.Summary, "stated gone answers"):
			g.restate()
		case lost != nil:
			g.env["ETCD_CLUSTER_LOST"] = lost[1]
			_, again := ws.Up(g.Context(), g.start(run))
			if again.Err() != nil && strings.Contains(fmt.Sprint(again.Diagnostics), "for the etcd_cluster alone") {
				_, again = ws.Up(g.Context(), g.start(run), driver.Option("-target="+thisCluster))
			}
			delete(g.env, "ETCD_CLUSTER_LOST")
			for _, at := range strangerLine.FindAllStringSubmatch(fmt.Sprint(again.Err()), 1) {
				g.fleet.stop(at[1])
			}
		case strings.Contains(d.Detail, "gone = ["):
			_, list, _ := strings.Cut(d.Detail, "gone = [")
			list, _, _ = strings.Cut(list, "]")
			for _, name := range quoted.FindAllStringSubmatch(list, -1) {
				if !slices.Contains(g.gone, any(name[1])) {
					g.gone = append(g.gone, name[1])
				}
			}
			g.configure()
		}
	}
}
