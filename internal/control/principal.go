package control

import "github.com/slate-agents/slate/id"

// Principal is on whose behalf a call is made. It is an explicit argument of every
// method and never read from a body: in process the application names it, at a door
// the sign-in does.
type Principal struct {
	Tenant id.Tenant
	// Name is the writer's or agent's name on a board.
	Name string
}
