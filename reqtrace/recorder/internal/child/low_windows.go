package child

import "syscall"

// idlePriority is IDLE_PRIORITY_CLASS of CreateProcess.
const idlePriority = 0x40

func lowAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{CreationFlags: idlePriority} }

func lowerPriority() {}
