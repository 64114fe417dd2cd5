"""What `mechlearn bench distill` is made of: the problem, and the ways to differentiate an unroll."""
