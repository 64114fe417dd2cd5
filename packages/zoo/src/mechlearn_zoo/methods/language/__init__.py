"""Language: tokens, generators and what they are judged by, one method a file."""
