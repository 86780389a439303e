package postgres

import (
	"slices"
	"strings"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
)

// putBlobs stores values, in the order of their digests, which is everybody's.
func (t *tx) putBlobs(all []board.TenantBlob) error {
	if len(all) == 0 {
		return nil
	}
	t.more = true
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
	t.more = true
	for {
		var tenants []int64
		var digests []id.Digest
		t.c.bind().at(before).int(collected)
		err := t.c.add(lockLoose, func(r row) error {
			tenants, digests = append(tenants, r.int(0)), append(digests, r.digest(1))
			return nil
		})
		if err == nil {
			err = t.c.send()
		}
		if err != nil || len(tenants) == 0 {
			return err
		}
		for _, statement := range []*statement{dropLoose, keepLoose} {
			t.c.bind().
				ints(len(tenants), func(i int) int64 { return tenants[i] }).
				manyDigests(len(digests), func(i int) []id.Digest { return digests[i : i+1] })
			if err := t.c.add(statement, nil); err != nil {
				return err
			}
		}
		if len(tenants) < collected {
			return nil
		}
	}
}
