package proctest

import "syscall"

// attributes let a child end with this process, even when that is killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
