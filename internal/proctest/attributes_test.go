//go:build unix && !linux

package proctest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
