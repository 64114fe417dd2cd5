"""Standard errors of the environments' gradients, in the same pass as the gradients, and the evidence that they make.

The examples of environment e fall into K_e clusters k: single examples, or two random halves. With n_k of the environment's n
examples, a cluster contributes h_k to the gradient g_e = sum_k h_k of the mean loss, and

    s_e^2 = (sum_k (n / n_k) h_k^2 - g_e^2) / (K_e - 1)

is an unbiased estimate of g_e's variance over draws of independent examples: for single examples their variance over n, for
equal halves (h_1 - h_2)^2. Everything streams: what is held does not grow with the number of environments.

t_e = g_e / s_e has Student's t distribution with K_e - 1 degrees of freedom where the true gradient is 0, and z_e is the normal
deviate of the same tail: exactly for one and two degrees, else in the approximation of Wallace 1959 (Annals of Mathematical
Statistics 30:1124),

    z_e^2 = ((8 v + 1) / (8 v + 3))^2 v log(1 + t_e^2 / v),   v = K_e - 1.

Thus few examples are weak evidence, two halves very weak evidence, and both are honest.
"""
