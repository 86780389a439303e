// Package migrations holds the numbered SQL files that make a database's schema.
// A number means the same step in every engine. The files are data: the package
// must not know who runs them.
package migrations

import (
	"embed"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite returns the migrations of SQLite.
func SQLite() fs.FS { return of("sqlite") }

// Postgres returns the migrations of PostgreSQL.
func Postgres() fs.FS { return of("postgres") }

func of(engine string) fs.FS {
	sub, err := fs.Sub(files, engine)
	if err != nil {
		panic(err) // the folder is embedded
	}
	return sub
}

// Newest is the highest number among the migrations in the root of fsys: the
// schema that this binary writes and the newest that it is sure to read.
func Newest(fsys fs.FS) int64 {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var newest int64
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			newest = max(newest, n)
		}
	}
	return newest
}
