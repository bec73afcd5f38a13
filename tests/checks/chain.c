/* SPDX-License-Identifier: MIT */
/*
 * chain.c - a library that interposes what we interpose, and finds what it
 * calls by RTLD_NEXT, some by another name of the same function (interposers).
 */
#include <dlfcn.h>
#include <stdlib.h>

#define CHAIN(name, to)                                                    \
	long chain_##name(long a, long b, long c, long d, long e, long f)  \
		__asm__(#name);                                            \
	long chain_##name(long a, long b, long c, long d, long e, long f)  \
	{                                                                  \
		static long (*next)(long, long, long, long, long, long);   \
                                                                           \
		if (!next)                                                 \
			next = (long (*)(long, long, long, long, long,     \
					 long))dlsym(RTLD_NEXT, #to);      \
		if (!next)                                                 \
			abort();                                           \
		return next(a, b, c, d, e, f);                             \
	}
CHAIN(mmap, mmap64)
CHAIN(munmap, munmap)
CHAIN(mremap, mremap)
CHAIN(msync, msync)
CHAIN(madvise, madvise)
CHAIN(mprotect, mprotect)
CHAIN(pread, pread64)
CHAIN(pwrite64, pwrite)
CHAIN(read, __read)
CHAIN(write, write)
CHAIN(open64, open)
CHAIN(close, __close)
CHAIN(fsync, fsync)
CHAIN(ftruncate, ftruncate64)
