package slate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/authority"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/control/machines"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// Options open a system. The zero value of every field has a meaning.
type Options struct {
	// Data is the folder that the system keeps its database in; it is made if it is
	// not there. Memory ignores it.
	Data string
	// Database is the URL of a PostgreSQL database (postgres://user:password@host/name)
	// that keeps the boards instead of a folder. Data is then left empty.
	Database string
	// Tenant is whose boards the system acts on; empty means id.DefaultTenant.
	Tenant id.Tenant
	// Now replaces the clock. Then nothing happens by itself: call Sweep after moving
	// the clock.
	Now func() time.Time
	// Authority is the file of the authority record, by which an older copy of the
	// database is recognised when it is opened. It must lie outside Data and outside
	// Data's backups. Empty means a file beside Data, its name with .authority behind it;
	// for a Database, the file slate/authority in the user's state folder
	// (XDG_STATE_HOME, or .local/state at home).
	Authority string
	// Limits bound the content of every write; zero means wire.DefaultLimits.
	Limits wire.Limits
	// Callables finds the callables of boards that no handle of this process was given
	// any for, so that a sweep can tell their agents.
	Callables func(ref id.Ref) board.Callables
	// Log is told of what no caller can be told; nil discards it.
	Log *slog.Logger
}

// System is an open store with the one writer that changes it. It is safe for
// concurrent use.
type System struct {
	store    board.Store
	closer   io.Closer
	tenant   id.Tenant
	boards   *boards.Service
	machines *machines.Service
	table    *control.Table
	restored *Restored
	// exclusive keeps a machine's board to one process; nil where it cannot be told who
	// else has the store.
	exclusive exclusive
	// background ends when the system is closed, and stop ends it.
	background context.Context
	stop       context.CancelFunc
	swept      sync.WaitGroup
}

// DatabaseFile is the name of the database inside the data folder.
const DatabaseFile = "slate.db"

// Open opens the system in a folder, on SQLite, or over a PostgreSQL database: every
// answered write is durable.
func Open(ctx context.Context, o Options) (*System, error) {
	switch {
	case o.Data == "" && o.Database == "":
		return nil, refusal.New(refusal.InvalidRequest, "data", "Options name neither a folder (Data) nor a database (Database)").
			WithFix("name one of them, or use Memory for a system without either")
	case o.Data != "" && o.Database != "":
		return nil, refusal.New(refusal.InvalidRequest, "data", "Options name both a folder (Data) and a database (Database)").
			WithFix("name one of them")
	case o.Database != "":
		return openDatabase(ctx, o)
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, refusal.New(refusal.StoreReadOnly, o.Data, "the data folder %s cannot be made: %v", o.Data, err).
			WithFix("name a folder that this user can write")
	}
	st, err := sqlite.Open(ctx, filepath.Join(o.Data, DatabaseFile), sqlite.Options{Now: o.Now})
	if err != nil {
		return nil, err
	}
	if o.Authority == "" {
		o.Authority = filepath.Clean(o.Data) + ".authority"
	}
	return openGuarded(ctx, st, inFolder(o.Data), o)
}

// openDatabase opens the system over a PostgreSQL database.
func openDatabase(ctx context.Context, o Options) (*System, error) {
	if o.Authority == "" {
		file, err := stateFile()
		if err != nil {
			return nil, err
		}
		o.Authority = file
	}
	st, err := postgres.Open(ctx, o.Database, postgres.Options{Now: o.Now})
	if err != nil {
		return nil, err
	}
	return openGuarded(ctx, st, inDatabase(st, o), o)
}

// openGuarded opens a system over a store of ours after holding it against its
// authority record.
func openGuarded(ctx context.Context, st store.Store, x exclusive, o Options) (*System, error) {
	k, restored, err := guard(ctx, st, authority.Open(o.Authority), o.Log)
	var s *System
	if err == nil {
		s, err = open(ctx, st, st, o)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.restored, s.exclusive = restored, x
	s.swept.Go(func() { k.run(s.background) })
	return s, nil
}

// Memory opens a system that lives and dies with the process.
func Memory(ctx context.Context, o Options) (*System, error) {
	st := memory.New(memory.Options{Now: o.Now})
	s, err := open(ctx, st, st, o)
	if err == nil {
		s.exclusive = inProcess()
	}
	return s, err
}

// New opens a system over a store of the caller's, who closes it after the system.
// A store that keeps boards only takes no machines.
func New(ctx context.Context, st board.Store, o Options) (*System, error) {
	return open(ctx, st, nil, o)
}

func open(ctx context.Context, st board.Store, closer io.Closer, o Options) (*System, error) {
	if o.Tenant == "" {
		o.Tenant = id.DefaultTenant
	}
	area := machines.NewArea(st)
	w := control.NewWriter(st, area)
	b, err := boards.New(ctx, w, boards.Config{Now: o.Now, Limits: o.Limits, Callables: o.Callables, Log: o.Log})
	if err != nil {
		return nil, err
	}
	s := &System{store: st, closer: closer, tenant: o.Tenant, boards: b, machines: machines.New(w, b, area), table: control.NewTable()}
	s.boards.RegisterMethods(s.table)
	s.machines.RegisterMethods(s.table)
	s.background, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	if o.Now == nil {
		s.swept.Go(func() { b.RunSweeper(s.background) })
	}
	return s, nil
}

// Close stops the sweep, waits for calls under way and closes the store.
func (s *System) Close() error {
	s.stop()
	s.swept.Wait()
	if s.closer == nil {
		return nil
	}
	return s.closer.Close()
}

// Info tells which store this is.
func (s *System) Info(ctx context.Context) (board.Info, error) { return s.store.Info(ctx) }

// Backup copies the store into a new file as of one moment, while others go on
// reading and writing. The copy appears under its name when it is whole and on the
// disk, and is never written over a file that is there. Only a store in a folder is
// copied this way: of a PostgreSQL database its own tools make backups.
func (s *System) Backup(ctx context.Context, path string) error {
	b, ok := s.store.(interface {
		Backup(ctx context.Context, path string) error
	})
	if !ok {
		return refusal.New(refusal.InvalidRequest, path, "this store is not kept in a file and cannot be copied into one").
			WithFix("back a PostgreSQL database up with pg_basebackup or pg_dump")
	}
	return b.Backup(ctx, path)
}

// Sweep closes the runs whose limits have passed and tells the agents that are due,
// on every board. An open system sweeps by itself unless it was given a clock.
func (s *System) Sweep(ctx context.Context) (boards.Swept, error) { return s.boards.Sweep(ctx) }

// Create makes a board and opens a run on it (B6). The callables are those of this
// process for the board.
func (s *System) Create(ctx context.Context, c wire.CreateBoard, calls board.Callables) (*Board, wire.Attached, error) {
	at, err := s.boards.Create(ctx, s.principal("application"), c, calls)
	if err != nil {
		return nil, wire.Attached{}, err
	}
	return s.Board(c.Board), at, nil
}

// Attach opens a board that exists: it joins the open run, or opens one with no
// agents after the last has closed (B6).
func (s *System) Attach(ctx context.Context, a wire.AttachBoard, calls board.Callables) (*Board, wire.Attached, error) {
	at, err := s.boards.Attach(ctx, s.principal("application"), a, calls)
	if err != nil {
		return nil, wire.Attached{}, err
	}
	return s.Board(a.Board), at, nil
}

// Boards returns a page of the boards by name.
func (s *System) Boards(ctx context.Context, page wire.Page) (wire.Boards, error) {
	return s.boards.List(ctx, s.principal("application"), page)
}

// PutBlob stores a value by its content; a write refers to it by the digest.
func (s *System) PutBlob(ctx context.Context, data []byte) (id.Digest, error) {
	return s.boards.PutBlob(ctx, s.principal("application"), data)
}

// Blob returns a content-addressed value.
func (s *System) Blob(ctx context.Context, d id.Digest) ([]byte, error) {
	return s.boards.Blob(ctx, s.principal("application"), d)
}

// Methods lists everything that can be called by name.
func (s *System) Methods() []*control.Method { return s.table.Methods() }

// Call calls a method by name with a JSON body, on behalf of a writer; board is
// empty for a method that acts on none. It is what every door does.
func (s *System) Call(ctx context.Context, writer, method string, b id.Board, body []byte) (any, error) {
	return s.table.Call(ctx, s.principal(writer), method, b, body)
}

// Board returns a handle to a board, whether or not it exists (B14). It holds
// nothing: dropping it closes nothing.
func (s *System) Board(b id.Board) *Board { return &Board{s: s, id: b} }

func (s *System) principal(name string) control.Principal {
	return control.Principal{Tenant: s.tenant, Name: name}
}

// Board is a stateless handle to one board.
type Board struct {
	s  *System
	id id.Board
}

// ID is the board's identifier.
func (b *Board) ID() id.Board { return b.id }

// As returns the board as one agent sees it (B18).
func (b *Board) As(name string) agent.Board { return b.s.boards.Surface(b.s.principal(name), b.id) }

// Show describes the board: its regions, its open run and its latest outcome.
func (b *Board) Show(ctx context.Context) (wire.BoardState, error) {
	return b.s.boards.Show(ctx, b.s.principal("application"), b.id)
}

// Level returns a page of a level's contributions, oldest first, also of a region
// that is hidden from agents.
func (b *Board) Level(ctx context.Context, region string, page wire.Page) (wire.Entries, error) {
	return b.s.boards.Level(ctx, b.s.principal("application"), b.id, region, page)
}

// Premise returns a premise as it stands, also one that is hidden from agents.
func (b *Board) Premise(ctx context.Context, region string) (wire.PremiseState, error) {
	return b.s.boards.Premise(ctx, b.s.principal("application"), b.id, region)
}

// Changes returns a page of everything written after a cursor, with the content of
// hidden regions too.
func (b *Board) Changes(ctx context.Context, page wire.Page) (wire.Entries, error) {
	return b.s.boards.Changes(ctx, b.s.principal("application"), b.id, page)
}

// WriteLevel adds a contribution to a level under a writer's name. A writer need
// not be a registered agent (B3).
func (b *Board) WriteLevel(ctx context.Context, writer string, w wire.LevelWrite) (wire.Result, error) {
	return b.s.boards.WriteLevel(ctx, b.s.principal(writer), b.id, w)
}

// WritePremise replaces a premise's value if it is at the expected version.
func (b *Board) WritePremise(ctx context.Context, writer string, w wire.PremiseWrite) (wire.Result, error) {
	return b.s.boards.WritePremise(ctx, b.s.principal(writer), b.id, w)
}

// Register adds an agent to the open run (B7).
func (b *Board) Register(ctx context.Context, a wire.AgentDecl) (wire.AgentState, error) {
	return b.s.boards.Register(ctx, b.s.principal(a.Name), b.id, a)
}

// Abort ends the open run. Its outcome names no agents.
func (b *Board) Abort(ctx context.Context, by, reason string) (wire.Outcome, error) {
	return b.s.boards.Abort(ctx, b.s.principal(by), b.id, reason)
}

// Erase takes the content from entries for good; sequence numbers, digests and
// tombstones stay. It returns how many were newly erased.
func (b *Board) Erase(ctx context.Context, by string, e wire.Erase) (int, error) {
	return b.s.boards.Erase(ctx, b.s.principal(by), b.id, e)
}

// Delete removes the board with its record and run.
func (b *Board) Delete(ctx context.Context) error {
	return b.s.boards.Delete(ctx, b.s.principal("application"), b.id)
}
