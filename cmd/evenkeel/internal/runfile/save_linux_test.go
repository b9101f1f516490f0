package runfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	nobody    = 65534    // the user who saves in a sticky folder
	roomBytes = 64 << 10 // of the small disk
)

// mount is mount(2), which says who failed.
func mount(what, where, kind string, flags uintptr, data string) error {
	if err := syscall.Mount(what, where, kind, flags, data); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// stuck saves to a file that cannot be replaced, which must have had the old text.
func stuck(want error) error {
	if err := CanSave("file"); err != nil {
		return err
	}
	if err := os.Rename("other", "file"); !errors.Is(err, want) {
		return fmt.Errorf("os.Rename: %w", err)
	}
	for _, text := range []string{"new", "a new text that is longer"} {
		if err := saves("file", text); err != nil {
			return err
		}
		if b, err := os.ReadFile("file"); err != nil || string(b) != text {
			return fmt.Errorf("%q, %w", b, err)
		}
	}
	return nil
}

func init() {
	savers["sticky"] = func() error {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
		if err := os.WriteFile("other", nil, 0o600); err != nil {
			return err
		}
		return stuck(syscall.EPERM)
	}
	savers["mounted"] = func() error {
		if err := mount("mounted", "file", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		return stuck(syscall.EBUSY)
	}
	savers["mounted from a full disk"] = func() error {
		if err := os.Mkdir("small", 0o700); err != nil {
			return err
		}
		if err := mount("none", "small", "tmpfs", 0, fmt.Sprint("size=", roomBytes)); err != nil {
			return err
		}
		if err := os.WriteFile("small/file", nil, 0o600); err != nil {
			return err
		}
		if err := mount("small/file", "file", "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		text := strings.Repeat("n", 2*roomBytes)
		err := saves("file", text)
		if !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("no room: %w", err)
		}
		left, _ := filepath.Glob(".evenkeel-*.tmp")
		if len(left) != 1 || !strings.Contains(err.Error(), left[0]) {
			return fmt.Errorf("%w; there is %q", err, left)
		}
		if b, err := os.ReadFile(left[0]); err != nil || string(b) != text {
			return fmt.Errorf("of the new text %d bytes are left: %w", len(b), err)
		}
		return nil
	}
}

// TestSaveSticky saves to another user's file, which everybody may write, in another's folder like
// /tmp.
func TestSaveSticky(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to have a file of another user")
	}
	dir, err := os.MkdirTemp("", "evenkeel-sticky-") // t.TempDir's are closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "file")
	put(t, name, "old", 0o666)
	for _, err := range []error{os.Chown(name, 1, 1), os.Chown(dir, 2, 2), os.Chmod(dir, os.ModeSticky|0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := saver(t, dir, "sticky").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, dir, map[string]string{"file": "a new text that is longer", "other": ""})
}

// TestSaveMounted saves to a file that another is mounted on, as into a container.
func TestSaveMounted(t *testing.T) {
	for _, way := range []string{"mounted", "mounted from a full disk"} {
		t.Run(way, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"file", "other", "mounted"} {
				put(t, filepath.Join(dir, name), "old", 0o600)
			}
			cmd := saver(t, dir, way)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			out, err := cmd.CombinedOutput()
			switch {
			case cmd.Process == nil || strings.HasPrefix(string(out), "mount: "):
				t.Skipf("the system lets nobody mount in a namespace of his own: %v %s", err, out)
			case err != nil:
				t.Fatalf("%v\n%s", err, out)
			case way == "mounted":
				has(t, dir, map[string]string{"file": "old", "other": "old", "mounted": "a new text that is longer"})
			}
		})
	}
}
