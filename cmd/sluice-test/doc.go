// Command sluice-test runs the tests of the project and judges the result more
// strictly than the go command does:
//
//	sluice-test run [FLAGS] -- TEST-FLAGS PACKAGES [-- TEST-FLAGS PACKAGES]…
//	sluice-test tests FILE PACKAGES
//	sluice-test flaky [FLAGS] [PACKAGES]
//	sluice-test platforms -platforms "GOOS/GOARCH…" PACKAGES
//
// Run calls "go test -json" for each group of arguments (a flag and its value are
// one word: -timeout=10m), without -race for packages that start no goroutine, and prints what plain "go test" prints: packages as they finish, with the output of failed tests. At the
// end come the counts, and every skipped test with its reason. docs/testing.md has
// the rules by which a run fails.
//
// Tests writes how many tests the packages have into the list that run compares.
//
// Flaky runs each package many times while it keeps every processor busy, to find
// tests that depend on time. It goes on where it was interrupted.
//
// Platforms type-checks packages for systems and processors other than this one.
//
// It is not part of the binary; the Makefile runs it.
package main
