import torch
from hypothesis import settings

# Two slow cores and a torch start-up make single examples take long now and then; the number of examples is the budget.
settings.register_profile("craik", deadline=None, max_examples=50, derandomize=True)
settings.load_profile("craik")

# On tensors this small threads cost more than they bring, most of all where other work keeps the cores busy.
torch.set_num_threads(1)
