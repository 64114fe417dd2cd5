"""Pictures with labels or actions: digits, CIFAR-10, the Game of Life, CoinRun."""
