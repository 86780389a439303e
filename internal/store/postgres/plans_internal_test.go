package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/slate-agents/slate/internal/pgtest"
)

// Every statement finds what it needs through an index whose every column it names,
// in a database that is empty and has no statistics: such a plan is kept for as long
// as the connection, however many rows come.
func TestPlans(t *testing.T) {
	server := pgtest.Shared(t)
	ctx := context.Background()
	opts := Options{}
	url := server.URL(server.Schema(t))
	s, err := Open(ctx, url, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	config, _, err := parse(url, &opts)
	if err != nil {
		t.Fatal(err)
	}
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	node := regexp.MustCompile(`(Seq Scan|Index Scan|Index Only Scan|Bitmap Heap Scan)( Backward)?( using \w+)? on (\w+)`)
	for _, st := range statements {
		if !regexp.MustCompile(`^(SELECT|WITH|INSERT|UPDATE|DELETE)`).MatchString(st.sql) {
			continue
		}
		described, err := c.PgConn().Prepare(ctx, st.name, st.sql, nil)
		if err != nil {
			t.Fatalf("%s\n%v", st.sql, err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL,", len(described.ParamOIDs)), ",")
		if nulls != "" {
			nulls = "(" + nulls + ")"
		}
		rows, err := exec(ctx, c.PgConn(), fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE %q%s", st.name, nulls))
		if err != nil {
			t.Fatalf("%s\n%v", st.sql, err)
		}
		var plan []string
		for _, r := range rows {
			plan = append(plan, r[0])
		}
		whole := strings.Join(plan, "\n")
		for i, line := range plan {
			m := node.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			table, cond := m[4], ""
			for _, next := range plan[i+1 : min(i+3, len(plan))] {
				if _, after, ok := strings.Cut(next, "Index Cond: "); ok {
					cond = after
				}
			}
			switch {
			case table == "store" || table == "lifetime" || table == "marks": // one row each
			case m[1] == "Seq Scan" || cond == "":
				t.Errorf("%s reads all of %s:\n%s\n%s", st.name, table, st.sql, whole)
			case strings.HasPrefix(table, "entries") && !strings.HasPrefix(st.sql, "DELETE"),
				strings.HasPrefix(table, "n") && strings.Contains(whole, "entries"):
				if !strings.Contains(cond, "seq") && !strings.Contains(cond, "key") {
					t.Errorf("%s reads a whole record:\n%s\n%s", st.name, st.sql, whole)
				}
			}
		}
	}
}
