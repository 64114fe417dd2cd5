"""Points on a plane, signs, units, labels: small worlds without pictures."""
