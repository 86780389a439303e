// Package memory is the store that keeps boards in the process's memory, for
// tests and for embedding where nothing has to outlive the process. It gives the
// isolation of a database and none of its durability. It must not know any rule
// of the board, and no other driver.
//
// Transactions lock boards one by one, so transactions on different boards run at
// the same time. What a transaction applies is staged and becomes visible at once
// when it commits; readers see committed data only and wait for nothing but that
// moment. Caller and store share no memory that either may change: the bytes of
// an entry's content, of a salt and of a blob are never changed by anybody once
// they were handed over, and are not copied.
package memory
