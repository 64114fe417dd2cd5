"""A quarter of the labels is wrong: averaging fits them in the end, the AND-mask leaves them."""
