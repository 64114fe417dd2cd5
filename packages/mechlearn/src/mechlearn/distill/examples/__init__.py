"""What is taught from: examples and their batches, which rows train the student and which the teacher, and in which order."""
