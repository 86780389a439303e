package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/wire"
)

// childVar makes the test binary one process of those that share a board. It holds
// the child's task as JSON.
const childVar = "SLATE_SIM_CHILD"

func TestMain(m *testing.M) {
	if task := os.Getenv(childVar); task != "" {
		if err := child(task); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(pgtest.Main(m))
}

// task is what a child process does.
type task struct {
	// Database is a path, or the URL of a PostgreSQL database.
	Database string
	Writer   string
	Seed     uint64
	// Again are writes of a process before this one that were not answered.
	Again []call
	// Race, when positive, lets that many writers replace one premise until each has
	// won Wins times.
	Race, Wins int
}

// call is one call of a child and what became of it. A child says it twice: before it
// calls, and once it has the answer.
type call struct {
	Writer string
	// Life and N tell calls apart.
	Life string
	N    int
	// Op is append, write, read, show or told.
	Op      string
	Region  string     `json:",omitempty"`
	Content string     `json:",omitempty"`
	Expect  id.Version `json:",omitempty"`
	// Done is set on the second line.
	Done     bool
	Seq      id.Seq     `json:",omitempty"`
	Version  id.Version `json:",omitempty"`
	Head     id.Seq     `json:",omitempty"`
	Repeated bool       `json:",omitempty"`
	Conflict bool       `json:",omitempty"`
	Err      string     `json:",omitempty"`
	// Begun and Ended are when, by the clock that all processes of the machine share.
	Begun, Ended int64
	Told         *wire.Notification `json:",omitempty"`
}

// sharedBoard is the board that the processes share.
var sharedBoard = id.Ref{Tenant: "north", Board: "shared"}

func openDatabase(ctx context.Context, database string, now func() time.Time) (store.Store, error) {
	if strings.HasPrefix(database, "postgres") {
		return postgres.Open(ctx, database, postgres.Options{Now: now, MaxConns: 6, Patience: time.Minute})
	}
	return sqlite.Open(ctx, database, sqlite.Options{Now: now, Patience: time.Minute})
}

// says writes one line at a time.
var says sync.Mutex

func (c call) say() {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	says.Lock()
	defer says.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// member is a child's way to the board.
type member struct {
	ctx     context.Context
	task    task
	life    string
	service *boards.Service
	mu      sync.Mutex
	n       int
}

func child(text string) error {
	m := &member{ctx: context.Background(), life: id.New()}
	if err := json.Unmarshal([]byte(text), &m.task); err != nil {
		return err
	}
	st, err := openDatabase(m.ctx, m.task.Database, nil)
	if err != nil {
		return err
	}
	if m.service, err = boards.New(m.ctx, control.NewWriter(st), boards.Config{}); err != nil {
		return err
	}
	m.service.Use(sharedBoard, hearing(func(n wire.Notification) {
		call{Writer: m.task.Writer, Life: m.life, Op: "told", Done: true, Told: &n}.say()
	}))
	if m.task.Race > 0 {
		m.race()
		return st.Close()
	}
	for _, c := range m.task.Again {
		m.make(c)
	}
	// The parent closes the input when it has seen enough.
	over := make(chan struct{})
	go func() {
		bufio.NewReader(os.Stdin).ReadByte()
		close(over)
	}()
	var all sync.WaitGroup
	for k := range 2 {
		all.Go(func() { m.work(rand.New(rand.NewPCG(m.task.Seed, uint64(k))), over) })
	}
	all.Wait()
	return st.Close()
}

// hearing are the callables of a process that reaches the two agents of the board.
func hearing(hear func(wire.Notification)) board.Callables {
	notify := func(_ context.Context, n wire.Notification) error {
		hear(n)
		return nil
	}
	return board.Callables{Notify: map[string]board.Notifier{"writer-1": notify, "watcher": notify}}
}

func (m *member) by(name string) control.Principal {
	return control.Principal{Tenant: sharedBoard.Tenant, Name: name}
}

// work calls until it is over.
func (m *member) work(rng *rand.Rand, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		default:
		}
		premise := []string{"goal", "plan"}[rng.IntN(2)]
		switch rng.IntN(6) {
		case 0, 1:
			m.make(call{Op: "append", Region: "notes"})
		case 2:
			m.make(call{Op: "show"})
		default:
			read := m.make(call{Op: "read", Region: premise})
			m.make(call{Op: "write", Region: premise, Expect: read.Version})
		}
	}
}

// make makes a call and says so before and after.
func (m *member) make(c call) call {
	m.mu.Lock()
	m.n++
	c.N = m.n
	m.mu.Unlock()
	c.Writer, c.Life = m.task.Writer, m.life
	if c.Content == "" && (c.Op == "append" || c.Op == "write") {
		c.Content = fmt.Sprintf(`"%s %d"`, c.Life, c.N)
	}
	c.Begun = time.Now().UnixNano()
	c.say()
	var r wire.Result
	var err error
	switch by, b := m.by(c.Writer), sharedBoard.Board; c.Op {
	case "append":
		r, err = m.service.WriteLevel(m.ctx, by, b, wire.LevelWrite{Region: c.Region, Content: json.RawMessage(c.Content), Key: c.Content})
	case "write":
		r, err = m.service.WritePremise(m.ctx, by, b, wire.PremiseWrite{Region: c.Region, Expect: c.Expect, Content: json.RawMessage(c.Content), Key: c.Content})
	case "read":
		var p wire.PremiseState
		p, err = m.service.Premise(m.ctx, by, b, c.Region)
		c.Version, c.Content = p.Version, string(p.Value)
	case "show":
		var v wire.BoardState
		v, err = m.service.Show(m.ctx, by, b)
		c.Head = v.Head
	}
	c.Ended, c.Done = time.Now().UnixNano(), true
	switch {
	case err != nil:
		c.Err = err.Error()
	case r.Written != nil:
		c.Seq, c.Version, c.Repeated = r.Written.Seq, r.Written.Version, r.Written.Repeated
	case r.Conflict != nil:
		c.Conflict, c.Version = true, r.Conflict.Current
	case r.Rejection != nil:
		c.Err = r.Rejection.Reason
	}
	c.say()
	return c
}

// race lets writers replace one premise, each at the version that it read.
func (m *member) race() {
	var all sync.WaitGroup
	for range m.task.Race {
		all.Go(func() {
			for won := 0; won < m.task.Wins; {
				read := m.make(call{Op: "read", Region: "goal"})
				wrote := m.make(call{Op: "write", Region: "goal", Expect: read.Version})
				if wrote.Err != "" || read.Err != "" {
					return
				}
				if !wrote.Conflict {
					won++
				}
			}
		})
	}
	all.Wait()
}
