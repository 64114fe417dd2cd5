/* Evidence on either side of 0 on a CPU, for float32. Built and called by compiled.py.

   n runs over components. */

#include <stdint.h>

/* total[n] += g[n], and where g[n] is above 0 up[n] loses the share s = g^2 / M of itself, where below 0 down[n] does.

   What takes nine passes of torch's operators, operation by operation the same: M at least `tiny`, s at most `top`. A NaN
   stays one. */
void craik_add_sides(const float *restrict g, const float *restrict squares, int64_t components, float tiny, float top,
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
