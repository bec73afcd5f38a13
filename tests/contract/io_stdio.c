/* SPDX-License-Identifier: MIT */
/* C11, C13: stdio streams over a mapped file, and with buffers in it. */
#include "ct.h"

#define N 64ul

static int fd;
static char *map;

static void fresh(void)
{
	if (map)
		munmap(map, N * PAGE);
	close(fd);
	fd = ct_file("stdio", N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
}

static void buffers(void)
{
	FILE *o;

	fresh();
	o = fopen(ct_path("other"), "w+");
	say("C13 fwrite: %zu", fwrite(map + 100, 7, 30000, o));
	fflush(o);
	rewind(o);
	fresh();
	say("C13 fread: %zu", fread(map + 3, 1, 210000, o));
	say("C13 data: %d %d", ct_matches(map + 3, 210000, 100),
	    ct_matches(map + 210003, PAGE, 210003));
	say("C13 fread at the end: %zu", fread(map, 10, 10, o));
	say("C13 end: %d", feof(o) != 0);
	rewind(o);
	fresh();
	say("C13 small fread: %zu", fread(map + PAGE - 1, 1, 2, o));
	say("C13 next fread: %zu", fread(map + 2 * PAGE - 1, 1, 5000, o));
	say("C13 data: %d", ct_matches(map + 2 * PAGE - 1, 5000, 102));
	memset(map + 10 * PAGE, 'q', 3 * PAGE);
	map[13 * PAGE] = 0;
	o = freopen(ct_path("other"), "w+", o);
	say("C13 fputs: %d", fputs(map + 10 * PAGE, o) >= 0);
	say("C13 position: %ld", ftell(o));
	setvbuf(o, map, _IOFBF, 8192);
	fclose(o);
}

static void over_file(void)
{
	char word[64], *line = NULL;
	size_t cap = 0;
	FILE *f;
	int x = 0;

	fresh();
	f = fopen(ct_path("stdio"), "r+");
	ct_load(map);
	memcpy(map + 500, "42 seven\nline two\n", 18);
	fseek(f, 500, SEEK_SET);
	say("C11 fscanf: %d", fscanf(f, "%d %63s", &x, word));
	say("C11 values: %d %s", x, word);
	say("C11 fgetc: %d", fgetc(f));
	map[509] = 'L';
	fseek(f, 509, SEEK_SET);
	say("C11 getline: %zd", getline(&line, &cap, f));
	say("C11 line: %s", line);
	free(line);
	fseek(f, 2 * PAGE, SEEK_SET);
	map[2 * PAGE + 4000] = 'Z'; /* dirty beside what stdio writes */
	for (int i = 0; i < 300; i++)
		fprintf(f, "number %04d of\n", i);
	fflush(f);
	say("C11 fprintf: %.14s %.14s %c", map + 2 * PAGE,
	    map + 2 * PAGE + 15 * 200, map[2 * PAGE + 4000]);
	map[3 * PAGE + 2] = 'M';
	for (int i = 0; i < 10000; i++)
		fputc('a' + i % 26, f);
	fputs("end", f);
	fclose(f);
	say("C11 fputc: %.5s %.3s", map + 2 * PAGE + 4500,
	    map + 2 * PAGE + 14500);
	say("C11 file and map: %d %d", ct_in_file(fd, 2 * PAGE + 7777),
	    map[2 * PAGE + 7777]);
	f = fopen(ct_path("stdio"), "r+");
	fseek(f, 24 * PAGE + 5, SEEK_SET);
	say("C13 fwrite of the map: %zu",
	    fwrite(map + 20 * PAGE, 1, 3 * PAGE, f));
	say("C13 fflush(NULL): %d", fflush(NULL));
	say("C13 data: %d %d",
	    ct_matches(map + 24 * PAGE + 5, 3 * PAGE, 20 * PAGE),
	    ct_in_file(fd, 25 * PAGE + 5) == ct_byte(21 * PAGE));
	fseek(f, 30 * PAGE, SEEK_SET);
	map[30 * PAGE + 9] = 'K';
	say("C13 fread into the map: %zu",
	    fread(map + 40 * PAGE, 1, 2 * PAGE, f));
	say("C13 data: %c %d", map[40 * PAGE + 9],
	    ct_matches(map + 40 * PAGE + 10, 2 * PAGE - 10, 30 * PAGE + 10));
	fprintf(f, "%s", "tail");
	fclose(f);
	say("C11 last: %.4s", map + 32 * PAGE);
}

static void appended(void)
{
	struct stat st;
	FILE *f;

	fresh();
	munmap(map, N * PAGE);
	map = ct_map(fd, (N + 10) * PAGE, RW, MAP_SHARED, 0);
	f = fopen(ct_path("stdio"), "a");
	for (int i = 0; i < 3000; i++)
		fprintf(f, "%07d\n", i);
	fclose(f);
	fstat(fd, &st);
	say("C05 appended: %ld %.7s %.7s", (long)st.st_size, map + N * PAGE,
	    map + N * PAGE + 8 * 2999);
	f = fopen(ct_path("stdio"), "w");
	say_load("C06 truncated", map, 5);
	fputs("new", f);
	fclose(f);
	say("C07 new: %s %d", map, ct_zero(map + 3, PAGE - 3));
	munmap(map, (N + 10) * PAGE);
	map = NULL;
}

/* More than the kernel moves at once, of which only the beginning is there. */
#define HUGE (3ul << 30)

static void more_than_a_transfer(void)
{
	char *heap =
		mmap(NULL, HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *long_map;
	FILE *f, *out;

	fresh();
	long_map = ct_map(fd, HUGE, RW, MAP_SHARED, 0);
	if (heap == MAP_FAILED || mprotect(heap, N * PAGE, RW))
		ct_die("mmap");
	map[5 * PAGE] = 'S';
	f = fopen(ct_path("stdio"), "r+");
	say("C11h fread: %zu", fread(heap, 1, HUGE, f));
	say("C11h data: %c %d", heap[5 * PAGE], ct_matches(heap, 5 * PAGE, 0));
	out = fopen(ct_path("out"), "w+");
	say("C11h fwrite of the map: %zu", fwrite(long_map, 1, HUGE, out));
	rewind(out);
	say("C11h fread into the map: %zu", fread(long_map, 1, HUGE, out));
	memset(heap, 'h', N * PAGE);
	map[7 * PAGE] = 'S';
	rewind(f);
	say("C11h fwrite: %zu", fwrite(heap, 1, HUGE, f));
	say("C11h data: %c %c", map[7 * PAGE], map[(N - 1) * PAGE]);
	fclose(out);
	fclose(f);
	say("C11h file and map: %c %c", ct_in_file(fd, 7 * PAGE),
	    map[7 * PAGE]);
	munmap(long_map, HUGE);
	munmap(heap, HUGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = -1;
	buffers();
	over_file();
	appended();
	more_than_a_transfer();
	return 0;
}
