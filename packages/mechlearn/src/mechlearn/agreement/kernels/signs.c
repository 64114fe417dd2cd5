/* Sums of signs on a CPU, for float32. Built and called by compiled.py.

   e runs over environments, n over components, o and i over a matrix's rows and columns. */

#include <stdint.h>

enum { BLOCK = 4096 }; /* components whose sums stay in the first-level cache while environments stream by */

/* total[n] += sum_e g[e][n] and sign[n] += sum_e sign(g[e][n]): what a sum, a sign and a second sum do in three passes. Sums that
   are `fresh` begin with the first environment, whatever was in their memory.

   Two functions, by the type that holds the sums of signs. Bytes hold those of at most 127 environments. */
#define ADD_SIGNS(name, type)                                                                                              \
    void name(const float *restrict g, int64_t environments, int64_t components, float *restrict total,                    \
              type *restrict sign, int64_t fresh)                                                                          \
    {                                                                                                                      \
        for (int64_t first = 0; first < components; first += BLOCK) {                                                      \
            int64_t last = first + BLOCK < components ? first + BLOCK : components;                                        \
            if (fresh)                                                                                                     \
                for (int64_t n = first; n < last; n++) {                                                                   \
                    total[n] = 0.0f + g[n]; /* not -0 */                                                                   \
                    sign[n] = (type)((g[n] > 0) - (g[n] < 0));                                                             \
                }                                                                                                          \
            for (int64_t e = fresh ? 1 : 0; e < environments; e++) {                                                       \
                const float *one = g + e * components;                                                                     \
                for (int64_t n = first; n < last; n++) {                                                                   \
                    total[n] += one[n];                                                                                    \
                    sign[n] += (type)((one[n] > 0) - (one[n] < 0));                                                        \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

ADD_SIGNS(mechlearn_add_signs, float)
ADD_SIGNS(mechlearn_add_signs_in_bytes, int8_t)

/* Bit e % 64 of word e / 64 says of x[e][n], in one plane, that it is not 0 and, in the other, that it is above 0. */
static void pack(const float *restrict x, int64_t environments, int64_t components, uint64_t *restrict some,
                 uint64_t *restrict above)
{
    int64_t words = (environments + 63) / 64;
    for (int64_t n = 0; n < words * components; n++)
        some[n] = above[n] = 0;
    for (int64_t e = 0; e < environments; e++) {
        const float *one = x + e * components;
        uint64_t *s = some + e / 64 * components, *a = above + e / 64 * components;
        int bit = (int)(e % 64);
        for (int64_t n = 0; n < components; n++) {
            s[n] |= (uint64_t)((one[n] > 0) | (one[n] < 0)) << bit;
            a[n] |= (uint64_t)(one[n] > 0) << bit;
        }
    }
}

/* What one word of environments adds to a sum of signs, of those where neither factor is 0: +1 where their signs are equal and -1
   where they differ. */
static inline int64_t word_sum(uint64_t both, uint64_t unequal)
{
    return (int64_t)__builtin_popcountll(both) - 2 * (int64_t)__builtin_popcountll(both & unequal);
}

/* The same of a word with at most 32 environments, by counting once: in the upper half what does not differ is counted. */
static inline int64_t half_sum(uint64_t both, uint64_t unequal)
{
    return (int64_t)__builtin_popcountll((both & ~unequal) | (~(both & unequal) << 32)) - 32;
}

/* A row of sums: `FIRST` of the first word and, if there are more than 64 environments, `SECOND` of the second. */
#define ROW_OF_ONE(FIRST)                                                                                                  \
    for (int64_t i = 0; i < columns; i++)                                                                                  \
        row[i] = (int8_t)FIRST(some & a_some[i], above ^ a_above[i]);

#define ROW_OF_TWO(SECOND)                                                                                                 \
    for (int64_t i = 0; i < columns; i++)                                                                                  \
        row[i] = (int8_t)(word_sum(some & a_some[i], above ^ a_above[i]) +                                                 \
                          SECOND(some2 & a_some2[i], above2 ^ a_above2[i]));

/* out[o][i] = sum_e sign(d[e][o]) sign(a[e][i]) for at most 127 environments. `work` holds 2 * words * (rows + columns) words. */
void mechlearn_sign_products(const float *restrict d, const float *restrict a, int64_t environments, int64_t rows,
                         int64_t columns, uint64_t *restrict work, int8_t *restrict out)
{
    int64_t words = (environments + 63) / 64;
    uint64_t *d_some = work, *d_above = d_some + words * rows;
    uint64_t *a_some = d_above + words * rows, *a_above = a_some + words * columns;
    uint64_t *a_some2 = a_some + columns, *a_above2 = a_above + columns; /* read if there are two words */
    pack(d, environments, rows, d_some, d_above);
    pack(a, environments, columns, a_some, a_above);
    for (int64_t o = 0; o < rows; o++) {
        const uint64_t some = d_some[o], above = d_above[o];
        const uint64_t some2 = words > 1 ? d_some[rows + o] : 0, above2 = words > 1 ? d_above[rows + o] : 0;
        int8_t *row = out + o * columns;
        if (environments <= 32) {
            ROW_OF_ONE(half_sum)
        } else if (environments <= 64) {
            ROW_OF_ONE(word_sum)
        } else if (environments <= 96) {
            ROW_OF_TWO(half_sum)
        } else {
            ROW_OF_TWO(word_sum)
        }
    }
}

/* The AND-mask of one parameter in place: gradient[n] becomes the masked mean, sign[n] the mask. Returns the number of
   survivors, or -1 where a gradient is NaN or infinite. */
int64_t mechlearn_and_mask(float *restrict gradient, int8_t *restrict sign, int64_t components, int64_t environments,
                       int64_t count)
{
    int64_t survivors = 0;
    int32_t bad = 0;
    const float number = (float)environments;
    const int32_t least = (int32_t)count;
    for (int64_t first = 0; first < components; first += BLOCK) {
        int64_t last = first + BLOCK < components ? first + BLOCK : components;
        int32_t some = 0;
        for (int64_t n = first; n < last; n++) {
            float mean = gradient[n] / number;
            int32_t keeps = (sign[n] < 0 ? -sign[n] : sign[n]) >= least;
            bad |= !(mean - mean == 0);
            some += keeps;
            gradient[n] = mean * (float)keeps;
            sign[n] = (int8_t)keeps;
        }
        survivors += some;
    }
    return bad ? -1 : survivors;
}
