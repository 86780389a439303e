package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/slate-agents/slate"
)

// defaultData is the folder that boards are kept in when nobody says where: beside
// the machine that runs, or here.
const defaultData = ".slate"

// storeFlags say where the boards are.
type storeFlags struct {
	Data      string `env:"SLATE_DATA" help:"The data folder. Default: .slate beside the machine, or in this folder." placeholder:"DIR"`
	Database  string `env:"SLATE_DATABASE" help:"The URL of a PostgreSQL database that keeps the boards instead of a folder. A URL with a password belongs in the variable: other users see a command line." placeholder:"URL"`
	Authority string `env:"SLATE_AUTHORITY" help:"The file of the authority record, outside the data and its backups." placeholder:"FILE"`
}

// place names the store without its password.
func (f storeFlags) place() string {
	if f.Database == "" {
		return f.Data
	}
	u, err := url.Parse(f.Database)
	if err != nil {
		return "the database"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// file names where the record lies, for a person.
func (f storeFlags) file() string {
	if f.Database == "" {
		return filepath.Join(f.Data, slate.DatabaseFile)
	}
	return f.place()
}

// again are the flags that find the same store again. A URL is not repeated: it may
// hold a password.
func (f storeFlags) again() string {
	if f.Database == "" {
		return " --data " + shellWord(f.Data)
	}
	return " --database URL"
}

// open opens the store, and says so when it is an older copy of what it was.
func (f storeFlags) open(a *app) (*slate.System, error) {
	sys, err := slate.Open(a.ctx, slate.Options{Data: f.Data, Database: f.Database, Authority: f.Authority})
	if err != nil {
		return nil, err
	}
	if r := sys.Restored(); r != nil {
		fmt.Fprintf(a.stderr, "slate: the database in %s is an older copy: %s; epoch %d begins, and cursors from before are answered with a gap\n",
			f.place(), r.Why, r.Epoch)
	}
	return sys, nil
}

// with opens a store that is there already, runs do and closes it: looking at boards
// makes no data folder.
func (f storeFlags) with(a *app, do func(*slate.System) error) error {
	if f.Database == "" {
		if f.Data == "" {
			f.Data = defaultData
		}
		file := filepath.Join(f.Data, slate.DatabaseFile)
		if _, err := os.Stat(file); err != nil {
			return badInput("%s: %w (name the data folder with --data or SLATE_DATA)", file, cause(err))
		}
	}
	sys, err := f.open(a)
	if err != nil {
		return err
	}
	return errors.Join(do(sys), sys.Close())
}
