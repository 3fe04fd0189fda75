package cli

import (
	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memory is what the container may use, or the machine has, in bytes.
func memory() (uint64, error) {
	if limit, err := memlimit.FromCgroup(); err == nil {
		return limit, nil
	}
	return memlimit.FromSystem()
}
