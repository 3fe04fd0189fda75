package cli

import (
	"fmt"
)

// suggestion is ", did you mean ...?" with the known name nearest to the given
// one, or empty when none is near.
func suggestion(given string, known []string) string {
	best, least := "", max(2, len(given)/3)+1
	for _, name := range known {
		if d := distance(given, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance counts the bytes to insert, delete or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
