/* SPDX-License-Identifier: MIT */
/* M27: code in a mapped file runs, also after mprotect. */
#include "ct.h"

#if defined(__x86_64__)
static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char code[] = {
	0x40, 5, 0x80, 0x52, 0xc0, 3, 0x5f, 0xd6
};
#endif

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 2 * PAGE);
	ct_pwrite(fd, code, sizeof(code), 0);
	ct_pwrite(fd, code, sizeof(code), PAGE);
	p = ct_map(fd, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0);
	say("M27 private exec: %d", ((int (*)(void))p)());
	munmap(p, 2 * PAGE);
	p = ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
	say("M27 byte: %02x", ct_load(p + PAGE));
	say_rc("M27 mprotect exec",
	       mprotect(p, 2 * PAGE, PROT_READ | PROT_EXEC));
	say("M27 shared exec: %d", ((int (*)(void))(p + PAGE))());
	return 0;
}
