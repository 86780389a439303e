package faults_test

import (
	"reflect"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/faults"
)

// TestEveryMethodIsAnOperation holds the table to the contract: a method that is
// added to it can be made to fail, or is named here with the reason why not.
func TestEveryMethodIsAnOperation(t *testing.T) {
	calm := map[string]string{
		"Info":     "it is read once, before anything is done",
		"Batching": "it asks no database",
		"Now":      "it was read when the transaction began",
		"Close":    "the process ends with it",
		"SetEpoch": "whoever opens the store calls it, before there is a process",
	}
	have := map[string]bool{}
	for _, op := range faults.Operations() {
		have[op.Name] = true
	}
	for prefix, iface := range map[string]reflect.Type{
		"": reflect.TypeFor[store.Store](), "Tx.": reflect.TypeFor[board.Tx](), "Machine.": reflect.TypeFor[store.MachineTx](),
	} {
		for i := range iface.NumMethod() {
			name := iface.Method(i).Name
			if calm[name] == "" && !have[name] && !have[prefix+name] {
				t.Errorf("%s%s cannot be made to fail: register it", prefix, name)
			}
		}
	}
}
