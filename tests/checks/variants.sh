#!/bin/sh
# SPDX-License-Identifier: MIT
# Does this C library know a name of a family that we hook, which we neither
# hook nor have decided to leave alone? A forgotten __pread64_chk is a silent
# hole. Usage: variants.sh [libc.so.6]
set -eu
cd "$(dirname "$0")/../.."
libc=${1:-$(ldconfig -p | awk '/libc\.so\.6.*x86-64/ { print $NF; exit }')}
[ -r "$libc" ] || { echo "no libc.so.6 found: $libc"; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Exported for programs: everything but GLIBC_PRIVATE, versions cut off.
readelf --dyn-syms -W "$libc" | awk '$5 != "LOCAL" && $7 != "UND" &&
	$4 != "OBJECT" && $8 !~ /GLIBC_PRIVATE/ { sub(/@.*/, "", $8); print $8 }' |
	sort -u > "$tmp/libc"
[ "$(wc -l < "$tmp/libc")" -gt 1000 ] || { echo "cannot read $libc"; exit 1; }
tests/checks/hooked | sort -u > "$tmp/hooks"

# The families, by the stem of the name.
family='p?read(v|64|v64)?(v?2)?|p?write(v|64|v64)?(v?2)?|preadv64v2|pwritev64v2'
family="$family|recv(from|msg|mmsg)?|send(to|msg|mmsg|file|file64)?"
family="$family|open(at)?(64)?|creat(64)?|f?truncate(64)?"
family="$family|(posix_)?f(allocate|advise)(64)?|posix_fallocate(64)?|posix_fadvise(64)?"
family="$family|copy_file_range|v?m?splice|vmsplice|f(data)?sync|sync(fs|_file_range)?"
family="$family|l?lseek(64)?|mmap(64)?|munmap|mprotect|msync|m(re)?advise|mremap"
family="$family|mincore|m(un)?lock(2|all)?|f?re?open(64)?|f(d|64)?open(64)?|freopen(64)?|fclose|fcloseall"
family="$family|fflush|fread|fwrite|f?put[sc]|putw|f?get[sc]|getw|fputc|fgetc|fgets|fputs"
family="$family|getline|getdelim|v?f?d?printf|v?f?scanf|fseeko?(64)?|fsetpos(64)?|rewind"
family="$family|set(v|line)?buf(fer)?|p?poll|p?select|epoll_p?wait2?|f?stat(at)?(64)?|lstat(64)?|statx"
family="$family|[fl]?xstat(at)?(64)?|readlink(at)?|getcwd|getrandom|getentropy|ioctl|fcntl(64)?"
grep -E "^(__|_IO_|__isoc[0-9]+_)?($family)(_chk|_unlocked|_chk_unlocked|_unlocked_chk|_2|64_2)?\$" \
	"$tmp/libc" > "$tmp/family"
# Stems with 2 and _chk behind a size.
grep -E '^__(open|openat)(64)?_2$|^__p?p?(read|poll|select)(64)?_chk$' "$tmp/libc" \
	>> "$tmp/family"
sort -u -o "$tmp/family" "$tmp/family"

# Left alone, and why.
sort -u > "$tmp/known" <<'END'
_IO_fclose
_IO_fdopen
_IO_fflush
_IO_fgets
_IO_fopen
_IO_fprintf
_IO_fputs
_IO_fread
_IO_fsetpos
_IO_fsetpos64
_IO_fwrite
_IO_getline
_IO_gets
_IO_printf
_IO_puts
_IO_setbuffer
_IO_setvbuf
_IO_vfprintf
_IO_vfscanf
__gets_chk
gets
END
# _IO_*: names of libstdc++ 2 (before 1999), in no header since.
# gets: gone from C11, copies in user mode from stdin's buffer.

comm -23 "$tmp/family" "$tmp/hooks" | comm -23 - "$tmp/known" > "$tmp/missing"
if [ -s "$tmp/missing" ]; then
	echo "names of $libc that no hook covers:"
	sed 's/^/  /' "$tmp/missing"
	exit 1
fi
echo "$(wc -l < "$tmp/family") variants, all hooked or known"
