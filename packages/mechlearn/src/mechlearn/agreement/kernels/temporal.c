/* Adam's step with a temporal AND-mask on a CPU, for float32 and float64. Built by compiled.py and called by steps.py;
   loop_step of mechlearn/agreement/temporal.py says what a step is.

   The parameters of a group come in one call: row k of `table` points to theta, g, m, v and a, each of size[k] components. A
   call works on the components [from, to) of all rows laid end to end, so that threads can share a group.

   The file includes itself once for each type. */

#ifndef REAL

#include <math.h>
#include <stdint.h>

enum { THETA, G, M, V, A, COLUMNS };
enum { BETA1, REST1, BETA2, REST2, BETA3, REST3, LR, LEAST, INSIDE, OUTSIDE, KEPT, CORRECTION, NUMBERS };
enum { LINE = 64, AHEAD = 1024 }; /* bytes: of a line of memory, and how far ahead to ask for one */

#define REAL float
#define SQRT sqrtf
#define ABS fabsf
#define NAME(name) mechlearn_##name##_float32
#include "temporal.c"
#undef REAL
#undef SQRT
#undef ABS
#undef NAME
#define REAL double
#define SQRT sqrt
#define ABS fabs
#define NAME(name) mechlearn_##name##_float64
#include "temporal.c"

#else

static inline __attribute__((always_inline)) void NAME(advance)(REAL *restrict theta, const REAL *restrict g,
                                                                REAL *restrict m, REAL *restrict v, REAL *restrict a,
                                                                int64_t size, const REAL *restrict number)
{
    for (int64_t n = 0; n < size; n++) {
        REAL sign = (REAL)((g[n] > 0) - (g[n] < 0));
        REAL m1 = number[BETA1] * m[n] + number[REST1] * g[n];
        REAL v1 = number[BETA2] * v[n] + number[REST2] * (g[n] * g[n]);
        REAL a1 = number[BETA3] * a[n] + number[REST3] * sign;
        /* eps stands inside the root or outside; the other of the two numbers is 0. */
        REAL root = SQRT(v1 * number[CORRECTION] + number[INSIDE]) + number[OUTSIDE];
        /* A product, not a selection: what is NaN or infinite stays visible under the mask. */
        REAL moved = number[LR] * m1 * (REAL)(ABS(a1) >= number[LEAST]) / root;
        theta[n] = (theta[n] - moved) * number[KEPT];
        m[n] = m1;
        v[n] = v1;
        a[n] = a1;
    }
}

/* Asks for each line of memory a little before it is needed: a few per cent faster where the five arrays are larger than the
   caches (measured). A request beyond the end is ignored. */
static void NAME(sweep)(REAL *restrict theta, const REAL *restrict g, REAL *restrict m, REAL *restrict v, REAL *restrict a,
                        int64_t size, const REAL *restrict number)
{
    enum { PIECE = 4 * LINE / sizeof(REAL) };
    int64_t n = 0;
    for (; n + PIECE <= size; n += PIECE) {
        for (int byte = AHEAD; byte < AHEAD + 4 * LINE; byte += LINE) {
            __builtin_prefetch((const char *)(g + n) + byte);
            __builtin_prefetch((const char *)(m + n) + byte);
            __builtin_prefetch((const char *)(v + n) + byte);
            __builtin_prefetch((const char *)(a + n) + byte);
            __builtin_prefetch((const char *)(theta + n) + byte);
        }
        NAME(advance)(theta + n, g + n, m + n, v + n, a + n, PIECE, number);
    }
    NAME(advance)(theta + n, g + n, m + n, v + n, a + n, size - n, number);
}

void NAME(temporal_step)(void *const *table, const int64_t *size, int64_t rows, int64_t from, int64_t to,
                         const double *number)
{
    REAL rounded[NUMBERS];
    for (int k = 0; k < NUMBERS; k++)
        rounded[k] = (REAL)number[k];
    for (int64_t k = 0; k < rows && to > 0; k++) {
        int64_t first = from > 0 ? from : 0, last = to < size[k] ? to : size[k];
        void *const *row = table + COLUMNS * k;
        if (first < last)
            NAME(sweep)((REAL *)row[THETA] + first, (const REAL *)row[G] + first, (REAL *)row[M] + first,
                        (REAL *)row[V] + first, (REAL *)row[A] + first, last - first, rounded);
        from -= size[k];
        to -= size[k];
    }
}

/* The first row whose component in [from, to) is NaN or infinite, or -1. */
int64_t NAME(first_nonfinite)(void *const *table, const int64_t *size, int64_t rows, int64_t from, int64_t to)
{
    for (int64_t k = 0; k < rows && to > 0; k++) {
        int64_t first = from > 0 ? from : 0, last = to < size[k] ? to : size[k];
        const REAL *x = table[k];
        int32_t bad = 0;
        for (int64_t n = first; n < last; n++)
            bad |= !(x[n] - x[n] == 0);
        if (bad)
            return k;
        from -= size[k];
        to -= size[k];
    }
    return -1;
}

#endif
