/* Uniform overwrites through ftlsim (Desnoyers 2012), to compare with `flash`. Its sources are not part of
 * this project; benches/ssd/speed.sh compiles them if FTLSIM names a copy.
 *
 *     ftlsim LOGICAL_PAGES DATA_SEGMENTS PAGES_PER_SEGMENT PASSES WRITES
 *
 * prints writes per microsecond of processor time, write amplification, and peak resident bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "ftlsim.h"

static uint64_t seed = 1, pages, next_page;

/* SplitMix64, and a random number below `pages` by multiplication. */
static int at_random(void *unused)
{
    uint64_t z = seed += 0x9e3779b97f4a7c15;
    (void)unused;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (int)((unsigned __int128)(z ^ (z >> 31)) * pages >> 64);
}

static int in_order(void *unused)
{
    (void)unused;
    return (int)next_page++;
}

static double processor_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void run(struct ftl *ftl, int (*page)(void *), uint64_t count)
{
    struct getaddr source = {.getaddr = page};
    while (count > 0) {
        int now = count < 1 << 30 ? (int)count : 1 << 30;
        do_ftl_run(ftl, &source, now);
        count -= now;
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    pages = strtoull(argv[1], NULL, 10);
    int data = atoi(argv[2]), per_segment = atoi(argv[3]), free_segments = 2;
    uint64_t passes = strtoull(argv[4], NULL, 10), writes = strtoull(argv[5], NULL, 10);
    int segments = data + 1 + free_segments;

    struct ftl *ftl = ftl_new(segments, per_segment);
    ftl->minfree = ftl->maxfree = free_segments;
    ftl->get_input_pool = write_select_first;
    ftl->get_pool_to_clean = clean_select_first;
    struct pool *pool = greedy_pool_new(ftl, per_segment);
    pool->next_pool = pool;
    pool->addseg(pool, segment_new(per_segment));
    for (int i = 1; i < segments; i++)
        do_put_blk(ftl, segment_new(per_segment));

    run(ftl, in_order, pages);
    run(ftl, at_random, passes * pages);
    ftl->int_writes = ftl->ext_writes = 0;
    double start = processor_us();
    run(ftl, at_random, writes);
    double us = processor_us() - start;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%f %f %llu\n", writes / us, (double)ftl->int_writes / ftl->ext_writes,
           usage.ru_maxrss * 1024ull);
    return 0;
}
