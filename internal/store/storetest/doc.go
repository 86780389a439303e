// Package storetest holds every store to the contract of board.Store and
// store.Store: one sentence of the contract, one subtest. It must not know any
// rule of the board, and no driver: a driver's own tests give it a factory.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Factory{Open: func(t testing.TB, now func() time.Time) store.Store { … }})
//	}
package storetest
