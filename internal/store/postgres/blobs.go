package postgres

import (
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/slate-agents/slate/board"
)

// putBlobs stores values, in the order of their digests, which is everybody's.
func (t *tx) putBlobs(all []board.TenantBlob) error {
	if len(all) == 0 {
		return nil
	}
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b board.TenantBlob) int {
		if c := strings.Compare(string(a.Tenant), string(b.Tenant)); c != 0 {
			return c
		}
		return strings.Compare(string(a.Digest), string(b.Digest))
	})
	for i := range sorted {
		b := &sorted[i]
		if i == 0 || sorted[i-1].Tenant != b.Tenant {
			t.c.bind().text(string(b.Tenant))
			if err := t.c.add(makeTenant, nil); err != nil {
				return err
			}
		}
		t.c.bind().text(string(b.Tenant)).digest(b.Digest).int(int64(len(b.Content))).at(t.now).blob(b.Content)
		if err := t.c.add(putBlob, nil); err != nil {
			return err
		}
	}
	return nil
}

// collected is how many values a collection looks at in a trip.
const collected = 500

// collectBlobs removes the values that nothing refers to and that were put before an
// instant. It makes a trip to lock the first of them, and one more for each further
// hundreds; the last are removed with the commit.
func (t *tx) collectBlobs(before time.Time) error {
	for {
		// The rows are locked and stay where they are.
		var places [][]byte
		t.c.bind().at(before).int(collected)
		err := t.c.add(lockLoose, func(r row) error {
			places = append(places, r.bytes(0))
			return nil
		})
		if err == nil {
			err = t.c.send()
		}
		if err != nil || len(places) == 0 {
			return err
		}
		for _, statement := range []*statement{dropLoose, keepLoose} {
			t.c.bind().array(pgtype.TIDOID, len(places), func(i int, b []byte) ([]byte, bool) { return append(b, places[i]...), true })
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
		if len(places) < collected {
			return nil
		}
	}
}
