package program_test

func helper(string) {}
