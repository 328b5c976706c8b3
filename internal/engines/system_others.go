//go:build unix && !linux

package engines

import "syscall"

func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}

func children(int) []int { return nil }

func alive(int) bool { return false }

func removeSharedMemory(int) {}
