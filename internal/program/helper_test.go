package program_test

import (
	"context"
	"os"

	"github.com/slate-agents/slate/internal/program"
)

// helper is another process of this test: a Slate to be killed. It runs one program,
// a shell that becomes a sleeping process holding the named pipe open.
func helper(pipe string) {
	b := newSurface()
	body := program.Body(program.Command{Args: []string{"sh", "-c", `exec 3>"$0"; echo ready >&3; exec sleep 1000`, pipe}}, nil)
	if err := body(context.Background(), b.Summons("investigate", "Sleep."), b); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
