/* SPDX-License-Identifier: MIT */
/*
 * places.h - where the library and the profiles lie: in the build directory
 * that the command was built in; else beside the command, wherever the
 * installed tree has been moved to (DESTDIR, a relocated prefix); else where
 * they were meant to be installed.
 */
#pragma once

/* libfastmap.so; it need not be there. */
const char *place_of_library(void);

/* libfastmap-heap.so beside the library of that full path. */
const char *place_of_heap(const char *library);

/* A policy file by its path or, with a bare name, a profile that comes with
 * the library. */
const char *place_of_policy(const char *name);

/* Absolute, in PATH_MAX bytes, the last component as it is: what is replaced
 * while programs run (libfastmap.so.0 by a newer version) keeps its name. 0,
 * or -1 and errno. */
int place_full(const char *path, char *ret_full);
