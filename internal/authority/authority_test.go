package authority

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slate-agents/slate/refusal"
)

const store = "store-1"

func file(t *testing.T) *File { return Open(filepath.Join(t.TempDir(), "authority.json")) }

func check(t *testing.T, f *File, s Standing) Verdict {
	t.Helper()
	v, err := f.Check(store, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAStoreThatTheRecordDoesNotHaveIsTrusted(t *testing.T) {
	f := file(t)
	if v := check(t, f, Standing{Epoch: 1, Mark: 7}); v.Known || v.Older || v.Epoch != 1 {
		t.Fatalf("first check: %+v", v)
	}
	if v := check(t, f, Standing{Epoch: 1, Mark: 7}); !v.Known || v.Older {
		t.Fatalf("second check: %+v", v)
	}
}

func TestAnOlderCopyIsRecognised(t *testing.T) {
	for name, older := range map[string]Standing{
		"by its mark":    {Epoch: 3, Mark: 99, Lineage: "a"},
		"by its epoch":   {Epoch: 2, Mark: 200, Lineage: "a"},
		"by its lineage": {Epoch: 3, Mark: 200, Lineage: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := file(t)
			check(t, f, Standing{Epoch: 3, Mark: 50, Lineage: "a"})
			if err := f.Note(store, Standing{Epoch: 3, Mark: 100, Lineage: "a"}); err != nil {
				t.Fatal(err)
			}
			v := check(t, f, older)
			if !v.Older || v.Epoch != 4 || v.Why == "" {
				t.Fatalf("got %+v", v)
			}
			// A crash before the store followed: the copy is still in its old epoch, and is
			// recognised again.
			if v := check(t, f, older); !v.Older || v.Epoch != 5 {
				t.Fatalf("after a crash: %+v", v)
			}
			older.Epoch = 5
			if v := check(t, f, older); v.Older {
				t.Fatalf("after the store followed: %+v", v)
			}
		})
	}
}

func TestANoteNeverLowersAMark(t *testing.T) {
	f := file(t)
	check(t, f, Standing{Epoch: 1, Mark: 10})
	for _, mark := range []int64{30, 20} {
		if err := f.Note(store, Standing{Epoch: 1, Mark: mark}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Note(store, Standing{Epoch: 2, Mark: 99}); err != nil {
		t.Fatal(err)
	}
	if v := check(t, f, Standing{Epoch: 1, Mark: 29}); !v.Older {
		t.Fatal("mark 29 was accepted after mark 30 was noted")
	}
}

func TestARecordThatIsOlderThanTheStoreIsRefused(t *testing.T) {
	f := file(t)
	check(t, f, Standing{Epoch: 1, Mark: 10})
	_, err := f.Check(store, Standing{Epoch: 2, Mark: 20})
	if refusal.CodeOf(err) != refusal.AuthorityMismatch {
		t.Fatalf("got %v", err)
	}
}

func TestAFileThatIsNoRecordIsRefusedAndLeftAlone(t *testing.T) {
	for _, content := range []string{"", "{}", "[]", "not json", `{"version": 9, "stores": {}}`} {
		f := file(t)
		if err := os.WriteFile(f.Path(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Check(store, Standing{Epoch: 1}); refusal.CodeOf(err) != refusal.AuthorityMismatch {
			t.Errorf("%q: got %v", content, err)
		}
		if after, _ := os.ReadFile(f.Path()); string(after) != content {
			t.Errorf("%q: the file was changed to %q", content, after)
		}
	}
}

func TestStoresDoNotMix(t *testing.T) {
	f := file(t)
	check(t, f, Standing{Epoch: 1, Mark: 100})
	if v, err := f.Check("store-2", Standing{Epoch: 1, Mark: 1}); err != nil || v.Known || v.Older {
		t.Fatalf("another store: %+v, %v", v, err)
	}
	if v := check(t, f, Standing{Epoch: 1, Mark: 100}); v.Older {
		t.Fatalf("the first store: %+v", v)
	}
}

func TestManyNoteAtOnce(t *testing.T) {
	f := file(t)
	check(t, f, Standing{Epoch: 1})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if err := Open(f.Path()).Note(store, Standing{Epoch: 1, Mark: int64(i)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if v := check(t, f, Standing{Epoch: 1, Mark: 38}); !v.Older {
		t.Fatal("the highest of many notes was lost")
	}
}

func TestAPlaceThatCannotBeWrittenIsNamed(t *testing.T) {
	f := Open(filepath.Join(t.TempDir(), "missing", "authority.json"))
	_, err := f.Check(store, Standing{Epoch: 1})
	r, ok := refusal.As(err)
	if !ok || r.Code != refusal.AuthorityMismatch || r.Fix == "" {
		t.Fatalf("got %v", err)
	}
}
