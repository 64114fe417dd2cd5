"""Points on a plane, signs, labels: small worlds without pictures."""
