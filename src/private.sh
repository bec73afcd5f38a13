#!/bin/sh
# SPDX-License-Identifier: MIT
# private.sh ARCHIVE REDIRECTS PREFIX OUT [MEMBER-TO-DROP...]
#
# Make a private copy of a static library: every global name it defines gets
# PREFIX, so that it collides with nothing (jemalloc's malloc, for one), and
# what it imports is redirected by the lines "name replacement" of REDIRECTS,
# so that none of its calls reach the names that the shim interposes.
set -eu
archive=$1 redirects=$2 prefix=$3 out=$4
shift 4

tmp=$out.tmp
cp "$archive" "$tmp.a"
chmod u+w "$tmp.a"
for member; do
	ar d "$tmp.a" "$member"
done
# What it does at load it does at the first call as well.
objcopy --remove-section .init_array --remove-section .rela.init_array "$tmp.a"
# An empty prefix leaves the names alone.
[ -z "$prefix" ] ||
nm --defined-only --extern-only "$tmp.a" 2>/dev/null |
	awk -v p="$prefix" 'NF == 3 { print $3, p $3 }' | sort -u > "$tmp.syms"
[ -n "$prefix" ] || : > "$tmp.syms"
sed 's/#.*//; /^[[:space:]]*$/d' "$redirects" >> "$tmp.syms"
objcopy --redefine-syms="$tmp.syms" "$tmp.a"
rm -f "$out"
mv "$tmp.a" "$out"
rm -f "$tmp.syms"
