"""All environments' gradients from one backward pass, as running sums; `mechlearn.agreement.agreement` is its door."""
