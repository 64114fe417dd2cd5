"""All environments' gradients from one backward pass, as running sums; `craik.agreement.step` is its door."""
