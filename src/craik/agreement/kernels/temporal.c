/* Adam's step with a temporal AND-mask on a CPU, for float32 and float64. Built by compiled.py and called by steps.py;
   loop_step of craik/agreement/temporal.py says what a step is.

   The parameters of a group come in one call: row k of `table` points to theta, g, m, v and a, each of size[k] components. A
   call works on the components [from, to) of all rows laid end to end, so that threads can share a group.

   The file includes itself once for each type. */

#ifndef REAL

#include <math.h>
#include <stdint.h>

enum { THETA, G, M, V, A, COLUMNS };
enum { BETA1, REST1, BETA2, REST2, BETA3, REST3, LR, LEAST, INSIDE, OUTSIDE, KEPT, CORRECTION }; /* of `number` */

#define REAL float
#define SQRT sqrtf
#define ABS fabsf
#define NAME(name) craik_##name##_float32
#include "temporal.c"
#undef REAL
#undef SQRT
#undef ABS
#undef NAME
#define REAL double
#define SQRT sqrt
#define ABS fabs
#define NAME(name) craik_##name##_float64
#include "temporal.c"

#else

/* eps stands inside the root or outside; the other of the two numbers is 0. */
static void NAME(advance)(REAL *restrict theta, const REAL *restrict g, REAL *restrict m, REAL *restrict v, REAL *restrict a,
                          int64_t size, const double *number)
{
    const REAL beta1 = (REAL)number[BETA1], rest1 = (REAL)number[REST1], beta2 = (REAL)number[BETA2];
    const REAL rest2 = (REAL)number[REST2], beta3 = (REAL)number[BETA3], rest3 = (REAL)number[REST3];
    const REAL lr = (REAL)number[LR], least = (REAL)number[LEAST], kept = (REAL)number[KEPT];
    const REAL inside = (REAL)number[INSIDE], outside = (REAL)number[OUTSIDE], correction = (REAL)number[CORRECTION];
    for (int64_t n = 0; n < size; n++) {
        REAL sign = (REAL)((g[n] > 0) - (g[n] < 0));
        REAL m1 = beta1 * m[n] + rest1 * g[n];
        REAL v1 = beta2 * v[n] + rest2 * (g[n] * g[n]);
        REAL a1 = beta3 * a[n] + rest3 * sign;
        REAL root = SQRT(v1 * correction + inside) + outside;
        /* A product, not a selection: what is NaN or infinite stays visible under the mask. */
        REAL moved = lr * m1 * (REAL)(ABS(a1) >= least) / root;
        theta[n] = (theta[n] - moved) * kept;
        m[n] = m1;
        v[n] = v1;
        a[n] = a1;
    }
}

void NAME(temporal_step)(void *const *table, const int64_t *size, int64_t rows, int64_t from, int64_t to,
                         const double *number)
{
    for (int64_t k = 0; k < rows && to > 0; k++) {
        int64_t first = from > 0 ? from : 0, last = to < size[k] ? to : size[k];
        void *const *row = table + COLUMNS * k;
        if (first < last)
            NAME(advance)((REAL *)row[THETA] + first, (const REAL *)row[G] + first, (REAL *)row[M] + first,
                          (REAL *)row[V] + first, (REAL *)row[A] + first, last - first, number);
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
