// Package house holds the rules of this repository as tests: which package
// may know which, what code must not do, and that the files beside the code
// fit it.
package house
