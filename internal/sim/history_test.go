package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/wire"
)

// databases are those that several processes can share.
var databases = []struct {
	name string
	make func(t *testing.T) string
}{
	{"sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "slate.db") }},
	{"postgres", func(t *testing.T) string {
		server := pgtest.Shared(t)
		return server.URL(server.Schema(t))
	}},
}

// history is what the processes said.
type history struct {
	mu    sync.Mutex
	calls []call
	// told are the notifications that reached somebody.
	told []wire.Notification
	// more is sent to when somebody said something.
	more chan struct{}
}

func (h *history) add(c call) {
	h.mu.Lock()
	if c.Told != nil {
		h.told = append(h.told, *c.Told)
	} else {
		h.calls = append(h.calls, c)
	}
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// live runs one child until it has said that many lines and is killed, or until stop
// is closed and it ends. It returns what it left unanswered.
func (h *history) live(t *testing.T, tk task, lines int, stop <-chan struct{}) []call {
	text, err := json.Marshal(tk)
	if err != nil {
		t.Error(err)
		return nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Error(err)
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return nil
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stop:
			in.Close()
		case <-ended:
		}
	}()
	open := map[int]call{}
	said, killed := 0, false
	for scan := bufio.NewScanner(out); scan.Scan(); {
		var c call
		if json.Unmarshal(scan.Bytes(), &c) != nil {
			continue // cut off by its death
		}
		h.add(c)
		if c.Done {
			delete(open, c.N)
		} else {
			open[c.N] = c
		}
		if said++; lines > 0 && said == lines {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil && !killed {
		t.Errorf("a process ended by itself: %v", err)
	}
	var left []call
	for _, c := range open {
		if c.Op == "append" || c.Op == "write" {
			left = append(left, c)
		}
	}
	return left
}

// share makes the board that the processes share.
func share(t *testing.T, database string) (store.Store, *boards.Service) {
	t.Helper()
	st, err := openDatabase(t.Context(), database, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	service, err := boards.New(t.Context(), control.NewWriter(st), boards.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = service.Create(t.Context(), control.Principal{Tenant: sharedBoard.Tenant, Name: "maker"}, wire.CreateBoard{Board: sharedBoard.Board,
		Regions: []wire.RegionDecl{{Name: "notes", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}, {Name: "plan", Kind: wire.Premise}},
		Agents:  []wire.AgentDecl{{Name: "writer-1"}, {Name: "watcher", SubscribesTo: wire.Only("notes", "goal", "plan")}}}, board.Callables{})
	if err != nil {
		t.Fatal(err)
	}
	return st, service
}

// record reads the whole record.
func record(t *testing.T, st store.Store) []board.Entry {
	t.Helper()
	var all []board.Entry
	for {
		page, _, err := st.Entries(t.Context(), sharedBoard, board.EntryQuery{After: id.Seq(len(all)), Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		for _, e := range page {
			if e.Seq != id.Seq(len(all)+1) {
				t.Fatalf("entry %d follows entry %d", e.Seq, len(all))
			}
			all = append(all, e)
		}
	}
}

// TestHistory lets eight processes write one board, kills them at random moments and
// starts others in their place. What they were answered has to be what one process
// after the other could have been answered; a reader that polls skips nothing; and
// every agent hears of every change by others, and of none for its own.
func TestHistory(t *testing.T) {
	const writers, lives = 8, 5
	// What a line looks like is found out once, before several processes' lines come.
	if text, err := json.Marshal(task{Again: []call{{Told: &wire.Notification{}}}}); err != nil || json.Unmarshal(text, &task{}) != nil {
		t.Fatal(err)
	}
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			database := db.make(t)
			st, service := share(t, database)
			h := &history{more: make(chan struct{}, 1)}
			var all sync.WaitGroup
			stop := make(chan struct{})
			var dying sync.WaitGroup
			for k := range writers {
				rng := rand.New(rand.NewPCG(uint64(k), uint64(time.Now().UnixNano())))
				dying.Add(1)
				all.Go(func() {
					tk := task{Database: database, Writer: fmt.Sprintf("writer-%d", k)}
					for range lives {
						tk.Seed = rng.Uint64()
						tk.Again = h.live(t, tk, 3+rng.IntN(60), nil)
					}
					dying.Done()
					h.live(t, tk, 0, stop)
				})
			}
			go func() {
				dying.Wait()
				close(stop)
			}()
			done := make(chan struct{})
			go func() {
				all.Wait()
				close(done)
			}()
			poll(t, service, h.more, done)
			entries := record(t, st)
			t.Logf("%d calls, %d entries, %d notifications", len(h.calls)/2, len(entries), len(h.told))
			ops := operations(t, h, entries)
			orderly(t, ops, entries)
			linearizable(t, ops)
			told(t, h, st, database, entries)
		})
	}
}

// poll follows the board until the others are done and nothing is left to read.
func poll(t *testing.T, service *boards.Service, more, done <-chan struct{}) {
	t.Helper()
	by := control.Principal{Tenant: sharedBoard.Tenant, Name: "reader"}
	cursor, at := "", id.Seq(0)
	for over := false; ; {
		page, err := service.Changes(t.Context(), by, sharedBoard.Board, wire.Page{Cursor: cursor, Limit: 50})
		if err != nil {
			t.Errorf("the reader: %v", err)
			<-done
			return
		}
		for _, e := range page.Entries {
			if e.Seq != at+1 {
				t.Errorf("the reader at %d was given entry %d", at, e.Seq)
			}
			at = e.Seq
		}
		cursor = page.Next
		if page.More {
			continue
		}
		if over {
			return
		}
		select {
		case <-more:
		case <-done:
			over = true
		}
	}
}

// told lets the leases of the dead run out, relays what they left, and holds what the
// agents were told against the record.
func told(t *testing.T, h *history, st store.Store, database string, entries []board.Entry) {
	t.Helper()
	later := func() time.Time { return time.Now().Add(time.Hour) }
	again, err := openDatabase(t.Context(), database, later)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	service, err := boards.New(t.Context(), control.NewWriter(again), boards.Config{Now: later})
	if err != nil {
		t.Fatal(err)
	}
	service.Use(sharedBoard, hearing(func(n wire.Notification) { h.told = append(h.told, n) }))
	if _, err := service.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	f, err := st.Look(t.Context(), board.Want{Ref: sharedBoard})
	if err != nil || len(f.Outbox) > 0 {
		t.Errorf("the outbox has %+v (%v)", f.Outbox, err)
	}
	for i := range f.Agents {
		a := &f.Agents[i]
		heard := make([]map[string]bool, len(entries)+1)
		for _, n := range h.told {
			if n.Agent != a.Name {
				continue
			}
			for _, region := range n.Regions {
				deserved := false
				for seq := n.From; seq <= n.To; seq++ {
					e := &entries[seq-1]
					if e.Region != region {
						continue
					}
					if heard[seq] == nil {
						heard[seq] = map[string]bool{}
					}
					heard[seq][region] = true
					deserved = deserved || wakes(a, e)
				}
				if !deserved {
					t.Errorf("%s was told %+v, and nobody else changed %s", a.Name, n, region)
				}
			}
		}
		for k := range entries {
			if e := &entries[k]; wakes(a, e) && !heard[e.Seq][e.Region] {
				t.Errorf("%s was never told of entry %d in %s by %s", a.Name, e.Seq, e.Region, e.Writer)
			}
		}
	}
}

// TestPremiseRace lets fifty writers in five processes replace one premise, each at
// the version that it read: each version has one winner, and nobody is told that the
// database is in use.
func TestPremiseRace(t *testing.T) {
	const processes, each, wins = 5, 10, 4
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			database := db.make(t)
			st, _ := share(t, database)
			h := &history{more: make(chan struct{}, 1)}
			var all sync.WaitGroup
			for k := range processes {
				all.Go(func() {
					h.live(t, task{Database: database, Writer: fmt.Sprintf("writer-%d", k), Race: each, Wins: wins}, 0, nil)
				})
			}
			all.Wait()
			winner := map[id.Version]string{}
			conflicts := 0
			for _, c := range h.calls {
				switch {
				case c.Err != "":
					t.Errorf("%s was answered %s", c.Op, c.Err)
				case c.Op != "write" || !c.Done:
				case c.Conflict:
					conflicts++
				case winner[c.Version] != "":
					t.Errorf("version %d was won by %s and by %s", c.Version, winner[c.Version], c.Content)
				default:
					winner[c.Version] = c.Content
				}
			}
			if len(winner) != processes*each*wins {
				t.Errorf("%d versions were won, not %d", len(winner), processes*each*wins)
			}
			entries := record(t, st)
			for _, e := range entries {
				if winner[e.Version] != string(e.Content) {
					t.Errorf("version %d is %s, won by %s", e.Version, e.Content, winner[e.Version])
				}
			}
			t.Logf("%d conflicts for %d versions", conflicts, len(winner))
			orderly(t, operations(t, h, entries), entries)
		})
	}
}
