// What libc would ask the system for. Who includes it has host_now, microseconds since 1970.
int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
	long long us = (long long)host_now();
	tv->tv_sec = us / 1000000;
	tv->tv_usec = us % 1000000;
	return 0;
}
int clock_gettime(clockid_t clock, struct timespec *ts) {
	long long us = (long long)host_now();
	ts->tv_sec = us / 1000000;
	ts->tv_nsec = us % 1000000 * 1000;
	return 0;
}
struct tm *localtime_r(const time_t *restrict t, struct tm *restrict tm) { memset(tm, 0, sizeof *tm); return tm; }
_Noreturn void abort(void) { __builtin_trap(); }
_Noreturn void __assert_fail(const char *expression, const char *file, int line, const char *function) { __builtin_trap(); }
int fprintf(FILE *restrict f, const char *restrict format, ...) { return 0; }
int fputc(int c, FILE *f) { return c; }
int putchar(int c) { return c; }
int fputs(const char *restrict s, FILE *restrict f) { return 0; }
int fflush(FILE *f) { return 0; }
size_t __stdio_write(FILE *f, const unsigned char *b, size_t n) { return n; }
size_t __stdout_write(FILE *f, const unsigned char *b, size_t n) { return n; }
off_t __stdio_seek(FILE *f, off_t offset, int whence) { return -1; }
int __stdio_close(FILE *f) { return 0; }
int __isatty(int fd) { return 0; }
