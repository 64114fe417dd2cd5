/* Evidence on either side of 0 on a CPU, for float32. Built and called by compiled.py.

   n runs over components. */

#include <stdint.h>

/* total[n] += g[n], and where g[n] is above 0 up[n] loses the share s = g^2 / M of itself, where below 0 down[n] does.

   What takes nine passes of torch's operators, operation by operation the same: M at least `tiny`, s at most `top`. A NaN
   stays one. */
void mechlearn_add_sides(const float *restrict g, const float *restrict squares, int64_t components, float tiny, float top,
                     float *restrict total, float *restrict up, float *restrict down)
{
    for (int64_t n = 0; n < components; n++) {
        const float one = g[n], size = one < 0 ? -one : one;
        const float whole = squares[n] < tiny ? tiny : squares[n];
        const float share = size * one / whole;
        const float above = share > top ? top : share < 0 ? 0 : share;
        const float below = share < -top ? -top : share > 0 ? 0 : share;
        total[n] += one;
        up[n] -= up[n] * above;
        down[n] += down[n] * below;
    }
}

/* gradient[e][n] = sum_k x[e][k][n] and squares[e][n] = sum_k x[e][k][n]^2, in one reading; eight k at a time, which leaves an
   eighth of the rounding that one after another would. */
void mechlearn_moments(const float *restrict x, int64_t environments, int64_t clusters, int64_t components,
                   float *restrict gradient, float *restrict squares)
{
    for (int64_t e = 0; e < environments; e++) {
        float *g = gradient + e * components, *s = squares + e * components;
        for (int64_t n = 0; n < components; n++)
            g[n] = s[n] = 0;
        int64_t k = 0;
        for (; k + 8 <= clusters; k += 8) {
            const float *restrict a = x + (e * clusters + k) * components;
            for (int64_t n = 0; n < components; n++) {
                const float *b = a + n;
                const float x0 = b[0], x1 = b[components], x2 = b[2 * components], x3 = b[3 * components];
                const float x4 = b[4 * components], x5 = b[5 * components], x6 = b[6 * components], x7 = b[7 * components];
                g[n] += ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
                s[n] += ((x0 * x0 + x1 * x1) + (x2 * x2 + x3 * x3)) + ((x4 * x4 + x5 * x5) + (x6 * x6 + x7 * x7));
            }
        }
        for (; k < clusters; k++) {
            const float *a = x + (e * clusters + k) * components;
            for (int64_t n = 0; n < components; n++) {
                g[n] += a[n];
                s[n] += a[n] * a[n];
            }
        }
    }
}
