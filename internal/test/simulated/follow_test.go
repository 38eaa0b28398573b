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
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/terraform-provider-etcd/terraform-provider-etcd/internal/test/driver"
)

// backup is the etcd_snapshot of the second directory.
type backup struct {
	path string
	day  int // of the trigger
	was  string
}

func (b *backup) resource() driver.Resource {
	return driver.Resource{Type: "etcd_snapshot", Name: "this",
		Values: driver.Values{"path": b.path, "triggers": map[string]any{"day": fmt.Sprint(b.day)}}}
}

// judge fails the scenario if a good file became a worse one: an older one of the same cluster
// is shorter or starts otherwise, since a database here is all its changes.
func (b *backup) judge(s *runner) {
	now, err := os.ReadFile(b.path)
	if os.IsNotExist(err) && b.was == "" {
		return
	}
	if err != nil {
		s.oracle.wrong("two", "the backup is gone: %v", err)
		return
	}
	is := strings.TrimRight(string(now[:max(0, len(now)-sha256.Size)]), "\x00")
	if !strings.HasPrefix(is, b.was) {
		s.oracle.wrong("two",
			"a backup of %d bytes is replaced by another one of %d bytes, which does not go on from it", len(b.was),
			len(is))
	}
	b.was = is
}

// writeKey writes a key, and remembers it if that is acknowledged.
func (s *runner) writeKey() {
	key := fmt.Sprint("/write/", len(s.steps))
	for _, p := range s.cluster.Processes() {
		if !s.oracle.works(p.Name) || s.members[p.Name] != p {
			continue
		}
		ctx, end := context.WithTimeout(s.Context(), 5*time.Second)
		put, err := s.network.Run("test").Client(p.ClientURL, p.ClientURL).Put(ctx, key, "")
		end()
		if err == nil && s.network.Cluster(put.Header.ClusterId) == s.cluster {
			s.keysWritten = append(s.keysWritten, key)
			return
		}
	}
}

// readKeys fails the scenario if a write is lost that was acknowledged.
func (s *runner) readKeys() {
	if s.lost || s.over() {
		return
	}
	for _, p := range s.cluster.Processes() {
		if s.members[p.Name] != p || !s.oracle.works(p.Name) {
			continue
		}
		ctx, end := context.WithTimeout(s.Context(), 5*time.Second)
		all, err := s.network.Run("test").Client(p.ClientURL, p.ClientURL).Get(ctx, "/write/", clientv3.WithPrefix(),
			clientv3.WithKeysOnly())
		end()
		if err != nil {
			continue
		}
		found := map[string]bool{}
		for _, kv := range all.Kvs {
			found[string(kv.Key)] = true
		}
		for _, key := range s.keysWritten {
			if !found[key] {
				s.oracle.wrong("one", "the write of %s is lost", key)
			}
		}
		return
	}
	s.oracle.wrong("one", "nobody answers a read")
}

// loseQuorum switches the machines of more than half of the voters off. The member of the
// second directory is none of them: nothing would bring it into the restored cluster.
func (s *runner) loseQuorum(names []string) {
	if !s.healthy() || s.second.image != "" || 2*len(names) <= len(s.wanted()) {
		return
	}
	s.lost = true
	for _, name := range names {
		s.fleet.stop(name)
	}
}

// restore states that some nodes are gone, in place of the cluster that the state has.
func (s *runner) restore(names []string) {
	o := s.ws.State(thisCluster)
	if o == nil {
		return
	}
	s.dir.gone, s.dir.replaces = []any{}, driver.Attribute(o.Value, "cluster_id")
	for _, name := range names {
		if m := s.fleet.of(name); m != nil && (m.off || s.restoredByHand) { // nobody lies
			s.dir.gone = append(s.dir.gone, name)
		}
	}
	s.configure()
}

// restate takes what runs again out of the statement that it is gone: what nobody reaches
// cannot contradict it.
func (s *runner) restate() {
	if s.dir.gone != nil {
		s.dir.gone = slices.DeleteFunc(s.dir.gone,
			func(name any) bool { m := s.fleet.of(fmt.Sprint(name)); return m != nil && !m.off })
		s.configure()
	}
}

// restartSecond starts g at its new peer URL, as an operator does who has changed it.
func (s *runner) restartSecond() {
	m := s.fleet.of("g")
	if s.second.image == "" || m == nil || m.off {
		return
	}
	if m.process == nil { // its member has not started
		s.fleet.set(func() { m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = s.second.url })
		return
	}
	if m.process.PeerURL == s.second.url {
		return
	}
	for _, listed := range s.cluster.Members() {
		if listed.Name == "g" && listed.PeerURLs[0] == s.second.url {
			s.fleet.set(func() { m.env["ETCD_INITIAL_ADVERTISE_PEER_URLS"] = s.second.url })
			m.process.PowerOff()
			m.process.PeerURL = s.second.url
			s.rest(time.Minute)
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

// undone applies the first directory without the change that replaces or removes a member, and
// then makes the change again. If that is refused, the change of another member is undone as well.
// What an earlier apply has done cannot be undone: then the state forgets the member first.
func (s *runner) undone(address string) {
	changed := *s.dir
	s.dir.names, s.dir.rebuilt, s.dir.address = slices.Clone(s.dir.names), maps.Clone(s.dir.rebuilt),
		maps.Clone(s.dir.address)
	refused, undone := []string{address}, map[string]bool{}
	for range 2*len(s.wanted()) + 2 {
		for _, at := range refused {
			if undone[at] || !s.undo(nodeNamed(at)) {
				s.ws.Forget(at)
				s.rest(time.Minute)
			}
			undone[at] = true
		}
		s.configure()
		_, r := s.ws.Up(s.Context(), s.start("one"))
		if refused = nil; r.Err() == nil {
			break
		}
		for _, d := range r.Diagnostics {
			if strings.Contains(d.Detail, "machine_id") {
				clear(s.dir.machine)
			}
			if strings.Contains(d.Detail, "no apply has stored") {
				refused = append(refused, d.Address)
			} else {
				s.importAsked(d, s.ws)
			}
		}
	}
	*s.dir = changed
	s.configure()
}

// undo lets the configuration have what the state has of a node. It returns false if the state has
// no etcd_cluster: a destroy has ended before it removed the member.
func (s *runner) undo(name string) bool {
	if s.ws.State(thisCluster) == nil {
		return false
	}
	node := func(of ...string) string {
		return driver.Attribute(s.ws.State(thisCluster).Value, append([]string{"node", name}, of...)...)
	}
	if s.add(name, false); s.ws.State(learnerOf(name)) != nil {
		s.dir.learners[name] = true
	}
	s.dir.image, s.dir.version = node("revision", "image"), cmp.Or(node("version"), s.dir.version)
	delete(s.dir.rebuilt, name)
	for s.dir.address[name] = ""; len(s.dir.address[name]) < 20; s.dir.address[name] += "-2" {
		if strings.Contains(node("peer_urls"), "/"+name+s.dir.address[name]+".example") {
			break
		}
	}
	return true
}

// importAsked imports the member for which a diagnostic prints an import block. It reports whether
// there is one.
func (s *runner) importAsked(d driver.Diagnostic, ws *driver.Workspace) bool {
	_, block, asks := strings.Cut(d.Detail, "add this block")
	name := nodeNamed(block)
	if !asks || name == "" {
		return false
	}
	ws.Provider = s.provider("a b c d e f g")
	ws.Import(s.Context(), s.start("import"), memberOf(name), name)
	return true
}

// isOnAnother reports whether the state has another machine of a member than its own.
func (s *runner) isOnAnother(name string) bool {
	m, machine := s.ws.State(memberOf(name)), s.ws.State(machineOf(name))
	if m == nil || machine == nil {
		return false
	}
	of := driver.Attribute(m.Value, "machine_id")
	return of != "" && of != driver.Attribute(machine.Value, "id") && !strings.HasPrefix(of, name+"-")
}

// keep untaints what is tainted of the cluster and its members. It reports whether anything was.
func (s *runner) keep() (kept bool) {
	for _, address := range s.ws.Addresses() {
		if strings.HasPrefix(address, "etcd_") && s.ws.State(address).Tainted {
			s.ws.Untaint(address)
			kept = true
		}
	}
	return kept
}

// putBack gives each member of the cluster a name in the configuration.
func (s *runner) putBack() {
	for _, m := range s.cluster.Members() {
		if name := nodeOf(m); name != "g" {
			s.add(name, m.IsLearner)
		}
	}
	s.configure()
}

// followTexts does what the diagnostics ask for. The operator knows which machines are gone.
func (s *runner) followTexts(r driver.Result, run string, ws *driver.Workspace) {
	for _, d := range r.Diagnostics {
		lost := lostLine.FindStringSubmatch(d.Detail)
		remove, record := removeLine.FindStringSubmatch(d.Detail), deleteLine.FindStringSubmatch(d.Detail)
		switch {
		case remove != nil:
			id, _ := strconv.ParseUint(remove[1], 16, 64)
			if m := find(s.cluster.Members(), id); m != nil && !slices.Contains(s.wanted(), nodeOf(m)) {
				s.byHand(remove[0], func(c *clientv3.Client) error {
					_,
						err := c.MemberRemove(s.Context(), id)
					return err
				})
			}
		case record != nil && !slices.Contains(s.wanted(), path.Base(record[1])):
			s.byHand(record[0], func(c *clientv3.Client) error {
				_,
					err := c.Delete(s.Context(), record[1])
				return err
			})
		case d.Warning:
			for _, at := range strangerLine.FindAllStringSubmatch(d.Detail, -1) {
				s.fleet.stop(at[1])
			}
		case strings.Contains(d.Detail, "terraform untaint") && s.keep():
		case strings.Contains(d.Detail, "create_before_destroy") && s.dir.first == "on":
			s.dir.first = ""
			s.configure()
		case strings.Contains(d.Detail, "machine_id") && len(s.dir.machine) > 0:
			clear(s.dir.machine)
			s.configure()
		case strings.Contains(d.Detail, "machine_id") && s.isOnAnother(nodeNamed(d.Address)):
			name := nodeNamed(d.Address)
			s.ws.Forget(memberOf(name))
			s.ws.Provider = s.provider("a b c d e f g")
			s.ws.Import(s.Context(), s.start("import"), memberOf(name), name)
		case strings.Contains(d.Detail, "To import the member, run this command") && nodeNamed(d.Address) != "":
			if at := memberOf(nodeNamed(d.Address)); s.importable(at) {
				s.ws.Import(s.Context(), s.start("import"), at, nodeNamed(d.Address))
			}
		case s.importAsked(d, ws):
		case strings.Contains(d.Detail, "import the member with the command"):
			name := nodeNamed(d.Address)
			s.ws.Provider = s.provider("a b c d e f g")
			s.ws.Import(s.Context(), s.start("import"), memberOf(name), name)
		case learnerLine.MatchString(d.Detail) && strings.HasPrefix(d.Address, "etcd_learner."):
			ws.Import(s.Context(), s.start("import"), d.Address, learnerLine.FindStringSubmatch(d.Detail)[1])
		case strings.Contains(d.Detail, "without -parallelism"):
			ws.Parallelism = 0
		case strings.Contains(d.Detail, "Keep all names") || strings.Contains(d.Detail, "Then set the new restore") ||
			strings.Contains(d.Summary, "has not lost its quorum") ||
			strings.Contains(d.Detail, "has not lost its quorum"):
			s.dir.gone = nil
			s.configure()
		case strings.Contains(d.Detail, "give the resource another path"):
			s.second.backup = backup{path: s.second.backup.path + "-new", day: s.second.backup.day}
			s.configure()
		case strings.Contains(d.Detail, "First undo the change"),
			strings.Contains(d.Detail, "first, set version, revision and rebuild"):
			s.undone(d.Address)
		case rebuildLine.MatchString(d.Detail):
			name, value := nodeNamed(d.Address), rebuildLine.FindStringSubmatch(d.Detail)[1]
			if s.dir.rebuilt[name] == value {
				value += "-2"
			}
			s.dir.rebuilt[name] = value
			s.putBack()
			ws.Up(s.Context(), s.start(run))
		case holderLine.MatchString(d.Detail) && slices.Contains(s.dead(), holderLine.FindStringSubmatch(d.Detail)[1]):
			at := memberOf(holderLine.FindStringSubmatch(d.Detail)[1])
			_, again := ws.Up(s.Context(), s.start(run), driver.Option("-target="+at))
			if strings.Contains(fmt.Sprint(again.Err()), "create_before_destroy") {
				s.dir.first = ""
				s.configure()
			}
		case strings.Contains(d.Detail, "Two resources stand for one member"):
			name := nodeNamed(d.Address)
			switch {
			case strings.Contains(d.Address, "(deposed"):
				s.ws.Forget(memberOf(name))
			case s.ws.State(learnerOf(name)) != nil: // a moved block is missing
				s.dir.learners[name] = true
				s.promote(name)
				s.configure()
			}
		case strings.Contains(d.Detail, "Add the new members in a first apply"):
			s.putBack()
		case strings.Contains(d.Detail, "Set peer_urls to what it runs with"):
			s.setURL(find(s.cluster.Members(), s.ids()["g"]).PeerURLs[0])
			s.configure()
		case strings.Contains(d.Summary, "stated gone answers"):
			s.restate()
		case lost != nil:
			s.env["ETCD_CLUSTER_LOST"] = lost[1]
			_, again := ws.Up(s.Context(), s.start(run))
			if again.Err() != nil && strings.Contains(fmt.Sprint(again.Diagnostics), "for the etcd_cluster alone") {
				_, again = ws.Up(s.Context(), s.start(run), driver.Option("-target="+thisCluster))
			}
			delete(s.env, "ETCD_CLUSTER_LOST")
			for _, at := range strangerLine.FindAllStringSubmatch(fmt.Sprint(again.Err()), 1) {
				s.fleet.stop(at[1])
			}
		case strings.Contains(d.Detail, "gone = ["):
			_, list, _ := strings.Cut(d.Detail, "gone = [")
			list, _, _ = strings.Cut(list, "]")
			for _, name := range quoted.FindAllStringSubmatch(list, -1) {
				if !slices.Contains(s.dir.gone, any(name[1])) {
					s.dir.gone = append(s.dir.gone, name[1])
				}
			}
			s.configure()
		}
	}
}
